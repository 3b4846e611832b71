"""What a stage, commit or branch op would do, computed the same way when it is shown and when it is done (SAFETY E2).

Computes only; no object, index or reference is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pygit2
from pygit2.enums import FileMode

from cas_tui.effects import names
from cas_tui.effects.errors import Refused
from cas_tui.effects.git import UNBORN, GitState, require_quiet, state_of
from cas_tui.effects.git_reading import Delta, is_hidden, staged_deltas, work_deltas
from cas_tui.effects.images import look
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import ABSENT, PathImage, PreImage

GIT_KINDS = frozenset({"git_stage", "git_commit", "git_branch"})
MAX_BRANCH = 200


@dataclass(frozen=True, slots=True)
class StageItem:
    """One path to put into the index as it is now: letter A, M or D, its image, and whether a filter is named."""

    letter: str
    path: str
    image: PathImage
    filtered: bool = False


@dataclass(frozen=True, slots=True)
class StagePlan:
    """`items` to stage by path; `left_out`: changed paths that may not be staged, for display, with the reason."""

    state: GitState
    items: tuple[StageItem, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    def pre_image(self) -> PreImage:
        return _bound(self.state, {item.path: item.image for item in self.items})


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The index as a commit on `state.branch`: message as it will be stored, changes against HEAD."""

    state: GitState
    message: str
    deltas: tuple[Delta, ...]

    def pre_image(self) -> PreImage:
        return _bound(self.state, {})


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """A new branch `name` at HEAD, to be switched to; files and index stay as they are."""

    state: GitState
    name: str

    def pre_image(self) -> PreImage:
        return _bound(self.state, {})


def _bound(state: GitState, paths: dict[str, PathImage]) -> PreImage:
    return PreImage(paths=paths, head=state.head, branch=state.branch, index_tree=state.index_tree)


def plan_stage(ws: Workspace, fields: Mapping[str, Json]) -> StagePlan:
    """Named paths, or all safe changes when none are named. Raises Refused."""
    with ws.repo().session() as repo:
        require_quiet(repo, on_branch=False)
        state = state_of(repo)
        changed = {delta.raw_path: delta for delta in work_deltas(repo)}
        wanted = fields.get("paths")
        if wanted is None:
            return _stage_all(ws, repo, state, list(changed.values()))
        items = [_named(ws, repo, str(path), changed) for path in dict.fromkeys(wanted)]
    kept = {item.path: item for item in items if item is not None}
    if not kept:
        raise Refused("nothing_to_stage", "the named files do not differ from the index", status="skipped")
    return StagePlan(state, tuple(kept[path] for path in sorted(kept)))


def _named(ws: Workspace, repo: pygit2.Repository, path: str, changed: Mapping[bytes, Delta]) -> StageItem | None:
    resolved = ws.root_dir.check_path(path, write=True)
    if resolved == ".":
        raise Refused("directory_not_allowed: .")
    image, _ = look(ws.root_dir, resolved)
    if image.type == "dir":
        raise Refused(f"directory_not_allowed: {resolved}")
    if image.type not in ("file", "absent"):
        raise Refused("path_denied", f"not a regular file: {resolved}")
    tracked = resolved in repo.index
    if image == ABSENT and not tracked:
        raise Refused("file_not_found", resolved, status="error")
    if resolved.encode() not in changed and tracked:
        return None
    if not tracked and repo.path_is_ignored(resolved):
        raise Refused("path_denied", f"git ignores it: {resolved}")
    letter = "D" if image == ABSENT else "M" if tracked else "A"
    return StageItem(letter, resolved, image, _has_filter(repo, resolved))


def _stage_all(ws: Workspace, repo: pygit2.Repository, state: GitState, deltas: list[Delta]) -> StagePlan:
    items: list[StageItem] = []
    left_out: list[tuple[str, str]] = []
    for delta in sorted(deltas, key=lambda item: item.raw_path):
        if is_hidden(ws.root_dir, delta.raw_path):
            continue
        try:
            item = None if delta.path is None else _named(ws, repo, delta.path, {delta.raw_path: delta})
        except Refused as refusal:
            left_out.append((delta.shown, refusal.reason))
            continue
        if item is None:
            left_out.append((delta.shown, "its name is not UTF-8"))
        else:
            items.append(item)
    if not items:
        words = "nothing that may be staged has changed" if left_out else "nothing has changed"
        raise Refused("nothing_to_stage", words, status="skipped")
    return StagePlan(state, tuple(items), tuple(left_out))


def _has_filter(repo: pygit2.Repository, path: str) -> bool:
    return isinstance(repo.get_attr(path, "filter"), str)


def plan_commit(ws: Workspace, fields: Mapping[str, Json]) -> CommitPlan:
    """The index as it is. Raises Refused: `nothing_staged` (skipped) when it equals HEAD and is not to be empty."""
    message = str(fields["message"])
    with ws.repo().session() as repo:
        require_quiet(repo, on_branch=True)
        state = state_of(repo)
        deltas = staged_deltas(repo)
    if not deltas and not fields.get("allow_empty"):
        raise Refused("nothing_staged", "the index holds nothing that HEAD does not", status="skipped")
    if "\0" in message:
        raise Refused("policy_rejected", "a NUL in the commit message")
    return CommitPlan(state, message if message.endswith("\n") else message + "\n", deltas)


def plan_branch(ws: Workspace, fields: Mapping[str, Json]) -> BranchPlan:
    """A new branch. Raises Refused for a name git or we do not take, or one that exists (SAFETY J11)."""
    name = str(fields["name"])
    _check_branch_name(name)
    with ws.repo().session() as repo:
        require_quiet(repo, on_branch=False)
        state = state_of(repo)
        existing = {str(branch) for branch in repo.branches.local}
    if name in existing or (state.head == UNBORN and name == state.branch):
        raise Refused("policy_rejected", f"the branch exists: {name}")
    if any(one.startswith(name + "/") or name.startswith(one + "/") for one in existing):
        raise Refused("policy_rejected", f"the name collides with a branch that exists: {name}")
    return BranchPlan(state, name)


def _check_branch_name(name: str) -> None:
    odd = (
        not name.isprintable()
        or len(name.encode()) > MAX_BRANCH
        or names.folded(name) in ("head", "@")
        or name.startswith(("-", "refs/", "@"))
        or any(names.folded(part) in names.DENIED_ANYWHERE for part in name.split("/"))
        or not pygit2.reference_is_valid_name(f"refs/heads/{name}")
    )
    if odd:
        raise Refused("policy_rejected", f"not a name for a branch: {names.printable(name)[:80]}")


def file_mode(image: PathImage) -> FileMode:
    """The mode a regular file has in the index."""
    return FileMode.BLOB_EXECUTABLE if image.mode & 0o100 else FileMode.BLOB
