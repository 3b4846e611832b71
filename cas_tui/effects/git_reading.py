"""What a repository shows: status, diff, log, grep, and the blobs behind a change.

Reads only: no object, index or lock is written and no program is started (SAFETY S4). Submodules are not entered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pygit2
from pygit2.enums import DeltaStatus, DiffOption, FileMode

from cas_tui.effects.errors import Refused
from cas_tui.effects.git import UNBORN, GitRepo, subject_of
from cas_tui.effects.names import is_self_knowledge, printable
from cas_tui.effects.paths import RootDir

_WORK_FLAGS: Final = (
    DiffOption.INCLUDE_UNTRACKED
    | DiffOption.RECURSE_UNTRACKED_DIRS
    | DiffOption.INCLUDE_TYPECHANGE
    | DiffOption.IGNORE_SUBMODULES
    | DiffOption.DISABLE_PATHSPEC_MATCH
)
_LETTERS: Final = {
    DeltaStatus.ADDED: "A",
    DeltaStatus.DELETED: "D",
    DeltaStatus.MODIFIED: "M",
    DeltaStatus.RENAMED: "R",
    DeltaStatus.COPIED: "C",
    DeltaStatus.TYPECHANGE: "T",
    DeltaStatus.UNTRACKED: "?",
    DeltaStatus.CONFLICTED: "U",
}


@dataclass(frozen=True, slots=True)
class Delta:
    """One changed path. `letter` is git's; oids and modes are those of either side, zero oid where absent."""

    letter: str
    raw_path: bytes
    old_path: bytes
    old_oid: str
    new_oid: str
    old_mode: int
    new_mode: int

    @property
    def path(self) -> str | None:
        """The path as text, or None when it is not UTF-8."""
        try:
            return self.raw_path.decode("utf-8")
        except UnicodeDecodeError:
            return None

    @property
    def shown(self) -> str:
        """The path for display: always text, never a control character."""
        return printable(self.raw_path)

    @property
    def is_submodule(self) -> bool:
        return FileMode.COMMIT in (self.old_mode, self.new_mode)


def deltas_of(diff: pygit2.Diff) -> Iterator[Delta]:
    """The changes of a libgit2 diff, those of no interest left out."""
    for delta in diff.deltas:
        letter = _LETTERS.get(delta.status)
        if letter is not None:
            yield Delta(
                letter,
                delta.new_file.raw_path,
                delta.old_file.raw_path,
                str(delta.old_file.id),
                str(delta.new_file.id),
                int(delta.old_file.mode),
                int(delta.new_file.mode),
            )


def staged_deltas(repo: pygit2.Repository, *, renames: bool = False) -> tuple[Delta, ...]:
    """What the index changes against HEAD, by path."""
    if repo.head_is_unborn:
        zero = "0" * 40
        return tuple(
            Delta("A", os.fsencode(entry.path), os.fsencode(entry.path), zero, str(entry.id), 0, int(entry.mode))
            for entry in repo.index
        )
    diff = repo.index.diff_to_tree(repo.head.peel(pygit2.Tree), DiffOption.INCLUDE_TYPECHANGE)
    if renames:
        diff.find_similar()
    return tuple(deltas_of(diff))


def work_deltas(repo: pygit2.Repository) -> tuple[Delta, ...]:
    """What the work tree changes against the index, untracked files included, ignored ones not."""
    return tuple(deltas_of(repo.index.diff_to_workdir(_WORK_FLAGS)))


def is_hidden(root: RootDir, raw_path: bytes) -> bool:
    """Whether git results leave this path out: closed places, and what an agent reads about itself elsewhere."""
    parts = tuple(os.fsdecode(raw_path).rstrip("/").split("/"))
    return root.is_closed(parts) or is_self_knowledge(parts)


def status_lines(git: GitRepo) -> list[str]:
    """`XY path`, one changed path a line, sorted by path (PROTOCOL §2.5)."""
    with git.session() as repo:
        found: dict[bytes, list[str]] = {}
        for delta in staged_deltas(repo, renames=True):
            entry = found.setdefault(delta.raw_path, [" ", " ", ""])
            entry[0] = delta.letter
            if delta.letter in "RC":
                entry[2] = printable(delta.old_path)
        for delta in work_deltas(repo):
            entry = found.setdefault(delta.raw_path, [" ", " ", ""])
            if delta.letter == "?":
                entry[0] = entry[1] = "?"
            else:
                entry[1] = delta.letter
        for triple in repo.index.conflicts or ():
            side = next(entry for entry in triple if entry is not None)
            found[os.fsencode(side.path)] = ["U", "U", ""]
    lines = []
    for path in sorted(found):
        if not is_hidden(git.root, path):
            x, y, old = found[path]
            lines.append(f"{x}{y} {old} -> {printable(path)}" if old else f"{x}{y} {printable(path)}")
    return lines


def check_rev(rev: str) -> None:
    """Refuse a revision that could be an option or carries control characters. Raises Refused (`invalid_rev`)."""
    if rev.startswith("-") or len(rev) > 300 or not rev.isprintable():
        raise Refused(f"invalid_rev: {printable(rev)[:80]}")


def _commit(repo: pygit2.Repository, rev: str) -> pygit2.Commit:
    check_rev(rev)
    try:
        return repo.revparse_single(rev).peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.GitError, pygit2.InvalidSpecError):
        raise Refused(f"invalid_rev: {printable(rev)[:80]}", "no such commit", status="error") from None


def diff_text(git: GitRepo, rev: str | None, limit: int) -> bytes:
    """A unified diff: work tree against the index, against `rev`, or `a..b` between two commits.

    Stops after the file that takes it past `limit` bytes.
    """
    with git.session() as repo:
        if rev is None:
            flags = DiffOption.IGNORE_SUBMODULES | DiffOption.DISABLE_PATHSPEC_MATCH
            diff = repo.index.diff_to_workdir(flags)
        elif ".." in rev:
            check_rev(rev)
            first, _, second = rev.partition("..")
            if second.startswith("."):
                raise Refused(f"invalid_rev: {rev[:80]}", "three dots are not supported")
            diff = _commit(repo, first or "HEAD").tree.diff_to_tree(_commit(repo, second or "HEAD").tree)
        else:
            diff = _commit(repo, rev).tree.diff_to_workdir(DiffOption.IGNORE_SUBMODULES)
        result = bytearray()
        for patch in diff:
            delta = patch.delta
            if is_hidden(git.root, delta.new_file.raw_path) or is_hidden(git.root, delta.old_file.raw_path):
                continue
            result += patch.data
            if len(result) > limit:
                break
        return bytes(result)


def log_lines(git: GitRepo, rev: str | None, newest: int) -> list[str]:
    """`oid subject`, one commit a line, newest first; none on an unborn branch."""
    with git.session() as repo:
        if rev is None:
            if state_of_head(repo) == UNBORN:
                return []
            start = repo.head.target
        else:
            start = _commit(repo, rev).id
        lines = []
        for commit in repo.walk(start):
            lines.append(f"{str(commit.id)[:7]} {subject_of(commit)}")
            if len(lines) >= newest:
                break
        return lines


def state_of_head(repo: pygit2.Repository) -> str:
    """The head oid, or `UNBORN`."""
    return UNBORN if repo.head_is_unborn else str(repo.head.target)


def tracked_paths(git: GitRepo) -> list[str]:
    """Every regular file in the index that is not hidden and whose name is text."""
    with git.session() as repo:
        return [
            entry.path
            for entry in repo.index
            if entry.mode in (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)
            and not is_hidden(git.root, os.fsencode(entry.path))
        ]


def blob(repo: pygit2.Repository, oid: str) -> bytes:
    """The content behind an oid, empty for the zero oid or anything that is not a blob."""
    if not oid.strip("0"):
        return b""
    found = repo.get(oid)
    return found.data if isinstance(found, pygit2.Blob) else b""
