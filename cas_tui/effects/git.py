"""The repository of a workspace, through pygit2 only, pinned when the workspace was opened.

libgit2 starts no program: no hook, filter, textconv, fsmonitor, pager, editor or signing helper (SAFETY S4, J01-J06).
Everything in the repository is hostile data all the same: it is looked up only at the workspace root, its work tree
must be the workspace, and its objects must be its own. Reading is in `git_reading`, writing in `git_writing`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pygit2
from pygit2.enums import FileMode, RepositoryOpenFlag, RepositoryState

from cas_tui.effects.errors import PreImageChanged, Refused
from cas_tui.effects.names import printable
from cas_tui.effects.paths import RootDir

if TYPE_CHECKING:
    from cas_tui.effects.workspace import Workspace
    from cas_tui.protocol.decode import Json

UNBORN: Final = "unborn"
"""The head of a branch that has no commit yet."""
DETACHED: Final = "HEAD"
"""The branch name when HEAD points at a commit and not at a branch."""

_OWN_PLACES: Final = (
    "HEAD", "index", "config", "packed-refs", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "logs",
    "logs/HEAD", "logs/refs", "logs/refs/heads", "info",
)  # fmt: skip
"""Parts of a git directory that libgit2 writes or trusts, so none may lead elsewhere (SAFETY S1)."""

# An acknowledged commit has to survive a power cut (SAFETY D1).
pygit2.settings.enable_fsync_gitdir(True)


@dataclass(frozen=True, slots=True)
class GitState:
    """Where HEAD and the index are: head oid or `UNBORN`, branch name or `DETACHED`, tree oid of the index."""

    head: str
    branch: str
    index_tree: str


@dataclass(frozen=True, slots=True)
class GitRepo:
    """One pinned repository. `identity` is device and inode of its git directory, checked at every use."""

    root: RootDir
    git_dir: str
    identity: tuple[int, int]

    @staticmethod
    def open(root: RootDir) -> GitRepo | None:
        """The repository whose work tree is exactly `root`; None when there is none.

        Raises:
            Refused: there is one, and it is not one we use; `detail` says why.
        """
        info = root.stat(".git")
        if info is None:
            return None
        if stat.S_ISLNK(info.st_mode):
            raise Refused("git_not_ready", ".git is a symlink")
        with git_errors():
            repo = pygit2.Repository(str(root.path), RepositoryOpenFlag.NO_SEARCH)
        _check(repo, root, linked=not stat.S_ISDIR(info.st_mode))
        found = Path(repo.path).stat()
        return GitRepo(root, repo.path, (found.st_dev, found.st_ino))

    @contextmanager
    def session(self) -> Iterator[pygit2.Repository]:
        """A fresh view of the pinned repository; every libgit2 error inside becomes a `Refused`."""
        with git_errors():
            repo = pygit2.Repository(str(self.root.path), RepositoryOpenFlag.NO_SEARCH)
            found = Path(repo.path).stat()
            if (found.st_dev, found.st_ino) != self.identity or repo.path != self.git_dir:
                raise PreImageChanged("the git directory was exchanged since the run began")
            info = self.root.stat(".git")
            _check(repo, self.root, linked=info is not None and not stat.S_ISDIR(info.st_mode))
            try:
                yield repo
            finally:
                repo.free()

    def state(self) -> GitState:
        """Head, branch and index tree as they are now; writes nothing (SAFETY S4). Raises Refused."""
        with self.session() as repo:
            return state_of(repo)

    def refs(self) -> dict[str, str]:
        """Every reference and where it points. Raises Refused."""
        with self.session() as repo:
            return {printable(ref.name): str(ref.target) for ref in repo.references.iterator()}


@contextmanager
def git_errors() -> Iterator[None]:
    """Turn what libgit2 raises into a refusal in words."""
    try:
        yield
    except (pygit2.GitError, KeyError, ValueError, OSError, UnicodeDecodeError) as error:
        words = printable(str(error).strip("'\"")) or type(error).__name__
        raise Refused("git_error", words, status="error") from None


def _check(repo: pygit2.Repository, root: RootDir, *, linked: bool) -> None:
    if repo.is_bare or repo.workdir is None:
        raise Refused("git_not_ready", "the repository is bare")
    if os.path.realpath(repo.workdir) != str(root.path):
        raise Refused("git_not_ready", "the repository names another directory as its work tree")
    if linked and not _points_back(repo, root):
        raise Refused("git_not_ready", "the .git file names a repository that does not know this directory")
    if not linked and Path(repo.path).parent != root.path:
        raise Refused("git_not_ready", "the git directory is not the workspace's own")
    for name in _OWN_PLACES:
        if os.path.islink(os.path.join(repo.path, name)):  # noqa: PTH114, PTH118 - cheap, at every use
            raise Refused("git_not_ready", f"{name} of the git directory is a symlink")
    common = _common_dir(repo.path)
    with os.scandir(os.path.join(common, "objects")) as entries:  # noqa: PTH118
        if any(entry.is_symlink() for entry in entries):
            raise Refused("git_not_ready", "a directory of git objects is a symlink")
    for directory in (Path(repo.path), Path(common)):
        if os.path.lexists(directory / "objects" / "info" / "alternates"):
            raise Refused("git_not_ready", "the repository takes objects from elsewhere (alternates)")


def _points_back(repo: pygit2.Repository, root: RootDir) -> bool:
    """A linked worktree says where its .git file is; a submodule names its work tree."""
    try:
        back = (Path(repo.path) / "gitdir").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return "core.worktree" in repo.config
    return os.path.realpath(back) == str(root.path / ".git")


def _common_dir(git_dir: str) -> str:
    try:
        return os.path.realpath(Path(git_dir, Path(git_dir, "commondir").read_text().strip()))
    except (OSError, UnicodeDecodeError):
        return git_dir


def state_of(repo: pygit2.Repository) -> GitState:
    """As `GitRepo.state`, of an open session."""
    head = UNBORN if repo.head_is_unborn else str(repo.head.target)
    if repo.head_is_detached:
        branch = DETACHED
    else:
        target = repo.lookup_reference("HEAD").target
        branch = printable(str(target).removeprefix("refs/heads/"))
    return GitState(head, branch, index_tree(repo))


def index_tree(repo: pygit2.Repository) -> str:
    """The oid of the tree that a commit of the index would have, computed without writing an object.

    Raises:
        Refused: `git_not_ready`, the index holds unresolved conflicts.
    """
    index = repo.index
    if index.conflicts is not None:
        raise Refused("git_not_ready", "the index holds unresolved conflicts")
    entries = ((os.fsencode(entry.path), int(entry.mode), bytes(entry.id.raw)) for entry in index)
    return tree_oid(entries)


def tree_oid(entries: Iterator[tuple[bytes, int, bytes]]) -> str:
    """The git tree oid (SHA-1, hex) of paths with modes and raw blob oids."""
    tree: dict[bytes, object] = {}
    for path, mode, oid in entries:
        *parents, leaf = path.split(b"/")
        here = tree
        for name in parents:
            below = here.setdefault(name, {})
            if not isinstance(below, dict):
                raise Refused("git_not_ready", "the index holds a path below a file")
            here = below
        here[leaf] = (mode, oid)
    return _hash_tree(tree).hex()


def _hash_tree(root: dict[bytes, object]) -> bytes:
    # Depth first without recursion: a hostile index may nest deeper than Python's stack.
    order: list[tuple[dict[bytes, object], bytes, dict[bytes, object]]] = []
    todo = [root]
    while todo:
        tree = todo.pop()
        for name, item in tree.items():
            if isinstance(item, dict):
                order.append((tree, name, item))
                todo.append(item)
    for parent, name, tree in reversed(order):
        parent[name] = (int(FileMode.TREE), _hash_one(tree))
    return _hash_one(root)


def _hash_one(tree: dict[bytes, object]) -> bytes:
    def key(pair: tuple[bytes, object]) -> bytes:
        mode = pair[1][0] if isinstance(pair[1], tuple) else 0
        return pair[0] + b"/" if mode == FileMode.TREE else pair[0]

    body = b"".join(
        b"%o %s\0%s" % (item[0], name, item[1])
        for name, item in sorted(tree.items(), key=key)
        if isinstance(item, tuple)
    )
    return hashlib.sha1(b"tree %d\0%s" % (len(body), body), usedforsecurity=False).digest()


def require_quiet(repo: pygit2.Repository, *, on_branch: bool) -> None:
    """Refuse in words when git is in the middle of something (SAFETY J13).

    Raises:
        Refused: `git_not_ready`: a lock, a merge or rebase under way, or a detached HEAD where `on_branch` is asked.
    """
    if os.path.lexists(Path(repo.path) / "index.lock"):
        raise Refused("git_not_ready", "index.lock exists: another git is at work, or one died")
    state = repo.state()
    if state != RepositoryState.NONE:
        words = RepositoryState(state).name.lower().replace("_", " ")
        raise Refused("git_not_ready", f"a {words} is in progress")
    if on_branch and repo.head_is_detached:
        raise Refused("git_not_ready", "HEAD is detached: there is no branch to commit on")


def require_own_ref(repo: pygit2.Repository, ref: str) -> None:
    """Refuse to write a reference through a directory that is a symlink (SAFETY S1). Raises Refused."""
    for base in (repo.path, _common_dir(repo.path)):
        here = Path(base)
        for part in ref.split("/")[:-1]:
            here = here / part
            if here.is_symlink():
                raise Refused("git_not_ready", f"a directory of {printable(ref)} is a symlink")


def subject_of(commit: pygit2.Commit) -> str:
    """The first line of a commit's message, as one line of text."""
    lines = commit.raw_message.strip().split(b"\n", 1)
    return printable(lines[0].rstrip())


def describe(ws: Workspace, *, newest: int = 20) -> dict[str, Json]:
    """{head, branch, subjects}: where the repository is, and its newest commits' subjects, newest first."""
    with ws.repo().session() as repo:
        state = state_of(repo)
        subjects: list[Json] = []
        if state.head != UNBORN:
            for commit in repo.walk(repo.head.target):
                subjects.append(subject_of(commit))
                if len(subjects) >= newest:
                    break
        return {"head": state.head, "branch": state.branch, "subjects": subjects}


def init_repository(
    path: Path,
    files: Mapping[str, bytes],
    *,
    message: str,
    identity: tuple[str, str],
    when: datetime,
    staged: Mapping[str, bytes] | None = None,
) -> str:
    """Make a real repository at `path` (branch main) with one commit of `files`; the commit's oid.

    `staged` is written and staged on top, and not committed. No template, so no hook, enters the repository.
    Raises FileExistsError when `path` already holds one.
    """
    if os.path.lexists(path / ".git"):
        raise FileExistsError(str(path / ".git"))
    path.mkdir(parents=True, exist_ok=True)
    repo = pygit2.init_repository(str(path), initial_head="main")
    who = signature(identity, when)
    _write_and_add(repo, path, files)
    oid = repo.create_commit("refs/heads/main", who, who, message, repo.index.write_tree(), [])
    _write_and_add(repo, path, staged or {})
    repo.free()
    return str(oid)


def _write_and_add(repo: pygit2.Repository, path: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        repo.index.add(name)
    repo.index.write()


def signature(identity: tuple[str, str], when: datetime) -> pygit2.Signature:
    """Name and email as git keeps them; `when` knows its zone and is written as UTC."""
    if when.tzinfo is None:
        raise ValueError("an instant without a zone")
    return pygit2.Signature(identity[0], identity[1], int(when.timestamp()), 0)
