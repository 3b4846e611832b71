"""What a workspace looks like at one moment, to find changes that no approved effect made (PROTOCOL §5.3).

Bounded: so many files, so many bytes kept. A bound that was met is said (`complete`), and nothing beyond it is
reported as changed. Directories that git ignores are not entered; ignored files elsewhere are looked at like any.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pygit2

from cas_tui.effects.errors import Refused
from cas_tui.effects.git import GitRepo
from cas_tui.effects.limits import MAX_FILE
from cas_tui.effects.names import folded, is_below, printable
from cas_tui.effects.paths import RootDir
from cas_tui.effects.preimages import PreImageStore
from cas_tui.effects.replacing import is_temp_name
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.requests import ABSENT, PathImage

MAX_FILES: Final = 20_000
MAX_KEPT_FILE: Final = 1 << 20
MAX_KEPT: Final = 64 << 20
MAX_DEPTH: Final = 128
_RACY_NS: Final = 2_000_000_000
"""A file touched this shortly before it was hashed may change again without its times showing it."""

Entry = tuple[str, int, int, int, int, str, int]
"""type, mode, size, mtime ns, inode, sha256, ctime ns (0: do not trust the times next time)."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """`paths` to entries; `head`, `branch`, `refs`, `index_tree` as in `git`, empty without a repository."""

    paths: Mapping[str, Entry] = field(default_factory=dict)
    head: str = ""
    branch: str = ""
    refs: Mapping[str, str] = field(default_factory=dict)
    index_tree: str = ""
    last: str | None = None
    """The last path looked at when a bound was met; None when all was."""

    @property
    def complete(self) -> bool:
        return self.last is None

    def as_json(self) -> dict[str, Json]:
        """For the ledger; the inverse is `from_json`."""
        return {
            "paths": {path: list(entry) for path, entry in self.paths.items()},
            "head": self.head,
            "branch": self.branch,
            "refs": dict(self.refs),
            "index_tree": self.index_tree,
            "last": self.last,
        }

    @staticmethod
    def from_json(value: Mapping[str, Json]) -> Fingerprint:
        paths = {path: (e[0], e[1], e[2], e[3], e[4], e[5], e[6]) for path, e in value["paths"].items()}
        return Fingerprint(
            paths, value["head"], value["branch"], dict(value["refs"]), value["index_tree"], value["last"]
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A path that is not as it was."""

    path: str
    was: PathImage
    now: PathImage

    def as_json(self) -> dict[str, Json]:
        return {"path": self.path, "was": self.was.as_json(), "now": self.now.as_json()}


@dataclass(frozen=True, slots=True)
class GitChange:
    """A part of git that is not as it was: `git:head`, `git:branch`, `git:index` or `git:refs/…`; empty: absent."""

    path: str
    was: str
    now: str

    def as_json(self) -> dict[str, Json]:
        return {"path": self.path, "was": self.was, "now": self.now}


class _Walk:
    """One pass over the tree in path order, reusing hashes of files whose inode and times stand."""

    def __init__(self, ws: Workspace, previous: Fingerprint | None, store: PreImageStore | None) -> None:
        self.root: RootDir = ws.root_dir
        self.known: Mapping[str, Entry] = previous.paths if previous else {}
        self.store = store
        self.kept = 0
        self.paths: dict[str, Entry] = {}
        self.last: str | None = None
        self.started = time.time_ns()

    def run(self, repo: pygit2.Repository | None) -> None:
        todo: list[tuple[tuple[str, ...], os.stat_result | None]] = [((), None)]
        while todo:
            parts, info = todo.pop()
            if info is None or stat.S_ISDIR(info.st_mode):
                todo.extend(reversed(self._below(parts, repo)))
                continue
            if len(self.paths) >= MAX_FILES:
                self.last = next(reversed(self.paths))
                return
            self._file("/".join(parts), info)

    def _below(
        self, parts: tuple[str, ...], repo: pygit2.Repository | None
    ) -> list[tuple[tuple[str, ...], os.stat_result | None]]:
        rel = "/".join(parts)
        if len(parts) > MAX_DEPTH or (parts and repo is not None and _ignored(repo, rel + "/")):
            return []
        try:
            entries = self.root.scan(rel)
        except Refused:
            return []
        return [((*parts, name), info) for name, info in entries if not self._out((*parts, name))]

    def _out(self, parts: tuple[str, ...]) -> bool:
        if folded(parts[-1]) == ".git" or is_temp_name(parts[-1]):
            return True
        rules = self.root.rules
        return any(is_below(parts, place) for place in (*rules.closed, *rules.no_write))

    def _file(self, rel: str, info: os.stat_result) -> None:
        key = printable(rel)
        mode = stat.S_IMODE(info.st_mode)
        times = (mode, info.st_size, info.st_mtime_ns, info.st_ino)
        known = self.known.get(key)
        if known and known[6] == info.st_ctime_ns and known[1:5] == times:
            self.paths[key] = known
            return
        try:
            kind, digest = self._content(rel, info)
        except Refused:
            return
        trusted = info.st_ctime_ns if self.started - info.st_ctime_ns > _RACY_NS else 0
        self.paths[key] = (kind, *times, digest, trusted)

    def _content(self, rel: str, info: os.stat_result) -> tuple[str, str]:
        if stat.S_ISLNK(info.st_mode):
            return "symlink", sha256(os.fsencode(self.root.readlink(rel)))
        if not stat.S_ISREG(info.st_mode):
            return "other", ""
        if info.st_size > MAX_FILE:
            return "file", f"unhashed:{info.st_size}:{info.st_mtime_ns}"
        data, _ = self.root.read_exact(rel)
        if self.store is not None and len(data) <= MAX_KEPT_FILE and self.kept + len(data) <= MAX_KEPT:
            self.kept += len(data)
            return "file", self.store.save(data, durable=False)
        return "file", sha256(data)


def _ignored(repo: pygit2.Repository, rel: str) -> bool:
    try:
        return repo.path_is_ignored(rel)
    except (pygit2.GitError, ValueError, KeyError):
        return False


def take(ws: Workspace, previous: Fingerprint | None = None, store: PreImageStore | None = None) -> Fingerprint:
    """The workspace as it is now.

    Args:
        previous: an earlier one, whose hashes are reused where inode, size and times stand.
        store: where small contents are kept, so that a change can be put back.

    A repository that cannot be read (a lock, conflicts) leaves the git parts empty rather than failing.
    """
    walk = _Walk(ws, previous, store)
    head = branch = tree = ""
    refs: dict[str, str] = {}
    if ws.git is None:
        walk.run(None)
        return Fingerprint(walk.paths, last=walk.last)
    try:
        with ws.git.session() as repo:
            walk.run(repo)
    except Refused:
        walk = _Walk(ws, previous, store)
        walk.run(None)
    head, branch, tree, refs = _git_parts(ws.git)
    return Fingerprint(walk.paths, head, branch, refs, tree, walk.last)


def _git_parts(git: GitRepo) -> tuple[str, str, str, dict[str, str]]:
    try:
        state = git.state()
        return state.head, state.branch, state.index_tree, git.refs()
    except Refused:
        return "", "", "", {}


def changes(old: Fingerprint, new: Fingerprint) -> tuple[Change | GitChange, ...]:
    """What differs, paths first, each in order. Times alone are no difference."""
    found: list[Change | GitChange] = []
    ends = [tuple(item.last.split("/")) for item in (old, new) if item.last is not None]
    for path in sorted(old.paths.keys() | new.paths.keys()):
        if any(tuple(path.split("/")) > end for end in ends):
            continue
        was, now = _image(old.paths.get(path)), _image(new.paths.get(path))
        if was != now:
            found.append(Change(path, was, now))
    pairs = [("git:head", old.head, new.head), ("git:branch", old.branch, new.branch)]
    pairs.append(("git:index", old.index_tree, new.index_tree))
    pairs += [
        (f"git:{ref}", old.refs.get(ref, ""), new.refs.get(ref, ""))
        for ref in sorted(old.refs.keys() | new.refs.keys())
    ]
    found.extend(GitChange(name, was_oid, now_oid) for name, was_oid, now_oid in pairs if was_oid != now_oid)
    return tuple(found)


def _image(entry: Entry | None) -> PathImage:
    return ABSENT if entry is None else PathImage(entry[0], entry[1], entry[5])
