"""The three writes into a repository: stage, commit, branch. No hook, filter or helper runs (SAFETY J02-J05).

Whether they may happen was decided elsewhere; each takes a plan that was just made and compared with what was shown.
"""

from __future__ import annotations

import re
from datetime import datetime

import pygit2
from pygit2.enums import FileMode

from cas_tui.effects.errors import Failed, PreImageChanged, Refused
from cas_tui.effects.git import UNBORN, require_own_ref, signature
from cas_tui.effects.git_plan import BranchPlan, CommitPlan, StagePlan, file_mode
from cas_tui.effects.images import look
from cas_tui.effects.names import printable
from cas_tui.effects.workspace import Workspace

_IDENT = re.compile(rb"\$Id:[^$\n]*\$")


def stage(ws: Workspace, plan: StagePlan) -> str:
    """Put the plan's files into the index; the index tree's oid afterwards.

    Contents are read through the confined root and must still be what the plan says: what is staged is what was
    shown, byte for byte but for git's own line-ending and `$Id$` rules.

    Raises:
        PreImageChanged, Refused: nothing was staged. Failed: the index could not be written.
    """
    with ws.repo().session() as repo:
        index = repo.index
        for item in plan.items:
            if item.letter == "D":
                index.remove(item.path)
                continue
            image, data = look(ws.root_dir, item.path)
            if image != item.image or data is None:
                raise PreImageChanged(f"{item.path} changed")
            mode = _mode_in_index(repo, item.path, file_mode(image))
            oid = repo.create_blob(_as_git_keeps(repo, item.path, data))
            index.add(pygit2.IndexEntry(item.path, oid, mode))
        tree = str(index.write_tree())
        try:
            index.write()
        except (pygit2.GitError, OSError) as error:
            raise Failed("git_stage_failed", str(error), partial=False) from None
        return tree


def _mode_in_index(repo: pygit2.Repository, path: str, mode: FileMode) -> FileMode:
    """Where the repository says that permission bits mean nothing, keep the recorded ones."""
    try:
        trusted = repo.config.get_bool("core.filemode")
    except (KeyError, ValueError):
        trusted = True
    if trusted:
        return mode
    return FileMode(repo.index[path].mode) if path in repo.index else FileMode.BLOB


def _as_git_keeps(repo: pygit2.Repository, path: str, data: bytes) -> bytes:
    """git's own harmless conversions: CRLF to LF where the repository asks for it, and `$Id$` collapsed."""
    if b"\r\n" in data and _wants_lf(repo, path, data):
        data = data.replace(b"\r\n", b"\n")
    if b"$Id:" in data and repo.get_attr(path, "ident") is True:
        data = _IDENT.sub(b"$Id$", data)
    return data


def _wants_lf(repo: pygit2.Repository, path: str, data: bytes) -> bool:
    text = repo.get_attr(path, "text")
    if text is True or (text is None and repo.get_attr(path, "eol") is not None):
        return True
    if text is None:
        try:
            auto = (repo.config["core.autocrlf"] or "").lower() in ("true", "input", "yes", "on", "1")
        except KeyError:
            auto = False
    else:
        auto = text == "auto"
    if not auto or b"\0" in data:
        return False
    # git leaves a file alone that is already kept with CRLF.
    known = repo.get(repo.index[path].id) if path in repo.index else None
    return not (isinstance(known, pygit2.Blob) and b"\r\n" in known.data)


def commit(ws: Workspace, plan: CommitPlan, identity: tuple[str, str], when: datetime) -> str:
    """Commit the index onto the plan's branch; the oid. The author is `identity`, whatever the repository says.

    Raises:
        PreImageChanged: the index or the branch moved since the plan; nothing was committed.
    """
    with ws.repo().session() as repo:
        tree = repo.index.write_tree()
        if str(tree) != plan.state.index_tree:
            raise PreImageChanged("the index changed")
        ref = str(repo.lookup_reference("HEAD").target)
        if printable(ref.removeprefix("refs/heads/")) != plan.state.branch:
            raise PreImageChanged("another branch is checked out")
        require_own_ref(repo, ref)
        who = signature(identity, when)
        repo.set_ident(*identity)
        parents = [] if plan.state.head == UNBORN else [pygit2.Oid(hex=plan.state.head)]
        try:
            # libgit2 moves the branch only if it still stands at the parent.
            oid = repo.create_commit(ref, who, who, plan.message, tree, parents)
        except (pygit2.GitError, ValueError) as error:
            if "not the first parent" in str(error):
                raise PreImageChanged("the branch moved") from None
            raise Refused("git_commit_failed", str(error), status="error") from None
        return str(oid)


def branch(ws: Workspace, plan: BranchPlan, identity: tuple[str, str]) -> None:
    """Make the branch at HEAD and switch to it; no file changes.

    Raises:
        Refused: it was not made. Failed: it was made and HEAD could not be switched.
    """
    with ws.repo().session() as repo:
        repo.set_ident(*identity)
        require_own_ref(repo, f"refs/heads/{plan.name}")
        if plan.state.head == UNBORN:
            repo.set_head(f"refs/heads/{plan.name}")
            return
        made = repo.create_branch(plan.name, repo.head.peel(pygit2.Commit))
        try:
            repo.set_head(made.name)
        except (pygit2.GitError, ValueError, OSError) as error:
            raise Failed("git_branch_failed", f"made, but not switched to: {error}", partial=True) from None
