"""What an operator is shown about one op, computed from bytes and never from an agent's words (SAFETY E2, E4, T6).

Reads only. The same plans are made again by `perform`, and its result is compared with the pre-image taken here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.effects import flags, names
from cas_tui.effects.difference import counts
from cas_tui.effects.errors import Refused
from cas_tui.effects.file_display import show_file
from cas_tui.effects.file_plan import FILE_KINDS, Saved, plan_file
from cas_tui.effects.git import UNBORN
from cas_tui.effects.git_plan import (
    BranchPlan,
    CommitPlan,
    StagePlan,
    plan_branch,
    plan_commit,
    plan_stage,
)
from cas_tui.effects.git_reading import blob
from cas_tui.effects.limits import MAX_AFTER_IMAGE
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import PreImage

INDEX = "git:index"
HEAD = "git:head"
EVERYTHING = "*"
"""What a stage of all changes touches besides the index: any path."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One op as it is to be asked about.

    Attributes:
        pre_image: the state the approval is bound to (E3).
        touches: normalised paths, `INDEX`, `HEAD`, `EVERYTHING`; compare two sets with `overlap`.
        title: one line, ours. summary: one sentence, ours. Paths in them are raw text, still to be made safe to draw.
        display: the payload, JSON; see `PROTOCOL §5.4` for the digest it stands beside.
        flags: words of `flags`, sorted.
        reversible: whether the pre-image is enough to undo it.
        after: for each path, the `sha256:…` it will have, or `absent`.
    """

    pre_image: PreImage
    touches: frozenset[str]
    title: str
    summary: str
    display: dict[str, Json]
    flags: tuple[str, ...] = ()
    reversible: bool = False
    after: dict[str, str] = field(default_factory=dict)


def _nothing_saved(_: str) -> bytes | None:
    return None


def prepare(
    ws: Workspace,
    op_kind: str,
    op_fields: Mapping[str, Json],
    *,
    saved: Saved = _nothing_saved,
    identity: tuple[str, str] | None = None,
) -> Prepared:
    """Everything an approval needs about an effect op, from the state as it is now.

    Args:
        saved: finds a saved version, for fs_restore.
        identity: name and email that a commit would carry, for display.

    Raises:
        Refused: the op could not be done; the reason is the receipt's.
    """
    if op_kind in FILE_KINDS:
        return _file(ws, op_kind, op_fields, saved)
    if op_kind == "git_stage":
        return _stage(plan_stage(ws, op_fields))
    if op_kind == "git_commit":
        return _commit(ws, plan_commit(ws, op_fields), identity)
    if op_kind == "git_branch":
        return _branch(plan_branch(ws, op_fields))
    raise refused_kind(op_kind)


def refused_kind(op_kind: str) -> Refused:
    """Why an op of this kind is not done at all."""
    if op_kind == "exec":
        return Refused("policy_rejected", "exec is disabled")
    if op_kind == "obligation_register":
        return Refused("policy_rejected", "obligation_register is disabled")
    return Refused("unknown_op_kind", op_kind)


def touches(ws: Workspace, op_kind: str, op_fields: Mapping[str, Json]) -> frozenset[str]:
    """What an op will touch, as far as its own words say, without looking at the state it needs.

    For ordering ops of one pass (PROTOCOL §5.4 `after`): an op whose file does not exist yet has its touches too.
    Raises Refused only for a path that no state of the workspace could make acceptable.
    """
    if op_kind in FILE_KINDS:
        return frozenset({ws.root_dir.check_path(str(op_fields["path"]), write=True, ours=op_kind == "fs_restore")})
    if op_kind == "git_stage":
        paths = op_fields.get("paths")
        if paths is None:
            return frozenset({INDEX, EVERYTHING})
        return frozenset({INDEX, *(ws.root_dir.check_path(str(path), write=True) for path in paths)})
    if op_kind == "git_commit":
        return frozenset({INDEX, HEAD})
    if op_kind == "git_branch":
        return frozenset({HEAD})
    raise refused_kind(op_kind)


def overlap(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether two sets of touches meet: the same thing, a path below another, or everything and any path."""
    if one & two:
        return True
    paths = [{item for item in side if item not in (INDEX, HEAD, EVERYTHING)} for side in (one, two)]
    if (EVERYTHING in one and paths[1]) or (EVERYTHING in two and paths[0]):
        return True
    return any(a.startswith(b + "/") or b.startswith(a + "/") for a in paths[0] for b in paths[1])


def _file(ws: Workspace, kind: str, op_fields: Mapping[str, Json], saved: Saved) -> Prepared:
    plan = plan_file(ws.root_dir, kind, op_fields, saved)
    shown = show_file(plan, restore=kind == "fs_restore")
    return Prepared(
        pre_image=PreImage(paths={plan.path: plan.was}),
        touches=frozenset({plan.path}),
        title=shown.title,
        summary=shown.summary,
        display=shown.display,
        flags=tuple(sorted(shown.flags)),
        reversible=plan.was.type in ("file", "absent"),
        after={plan.path: plan.will.sha256 or "absent"},
    )


def _path_flags(paths: list[str]) -> set[str]:
    found: set[str] = set()
    if any(names.runs_later(tuple(path.split("/"))) for path in paths):
        found.add(flags.PROTECTED)
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _stage(plan: StagePlan) -> Prepared:
    paths = [item.path for item in plan.items]
    found = _path_flags(paths)
    if any(item.filtered for item in plan.items):
        found.add(flags.FILTER_NOT_RUN)
    if any(item.letter == "D" for item in plan.items):
        found.add(flags.REMOVES_FILES)
    if plan.left_out:
        found.add(flags.SKIPPED)
    what = paths[0] if len(paths) == 1 else _count(len(paths), "file")
    kinds = [
        f"{sum(1 for item in plan.items if item.letter == letter)} {word}"
        for letter, word in (("M", "changed"), ("A", "new"), ("D", "removed"))
        if any(item.letter == letter for item in plan.items)
    ]
    display: dict[str, Json] = {"kind": "stage", "files": [[item.letter, item.path] for item in plan.items]}
    if plan.left_out:
        display["left_out"] = [[path, reason] for path, reason in plan.left_out]
    return Prepared(
        pre_image=plan.pre_image(),
        touches=frozenset({INDEX, *paths}),
        title=f"Stage {what}",
        summary=f"Stage {_count(len(paths), 'file')} for the next commit on {plan.state.branch}: {', '.join(kinds)}",
        display=display,
        flags=tuple(sorted(found)),
        reversible=True,
        after={item.path: item.image.sha256 or "absent" for item in plan.items},
    )


def _commit(ws: Workspace, plan: CommitPlan, identity: tuple[str, str] | None) -> Prepared:
    files: list[Json] = []
    paths: list[str] = []
    found: set[str] = set()
    with ws.repo().session() as repo:
        for delta in plan.deltas:
            added = removed = 0
            if delta.is_submodule:
                found.add(flags.SUBMODULE)
            else:
                old, new = blob(repo, delta.old_oid), blob(repo, delta.new_oid)
                if max(len(old), len(new)) <= MAX_AFTER_IMAGE:
                    added, removed = counts(old, new)
                else:
                    found.add(flags.OVERSIZE)
                if b"\0" in new:
                    found.add(flags.BINARY)
            files.append([delta.letter, delta.shown, added, removed])
            paths.append(delta.shown)
            if delta.letter == "D":
                found.add(flags.REMOVES_FILES)
    found |= _path_flags(paths)
    if not files:
        found.add(flags.EMPTY_COMMIT)
    subject = names.printable(plan.message.strip().split("\n", 1)[0])
    added = sum(item[2] for item in files)
    removed = sum(item[3] for item in files)
    return Prepared(
        pre_image=plan.pre_image(),
        touches=frozenset({INDEX, HEAD}),
        title=f'Commit {_count(len(files), "file")} on {plan.state.branch}: "{subject}"',
        summary=f"Commit {_count(len(files), 'file')} on {plan.state.branch}: "
        f"{_count(added, 'line')} added, {removed} removed; hooks do not run",
        display={
            "kind": "commit",
            "message": plan.message,
            "author": f"{identity[0]} <{identity[1]}>" if identity else "",
            "parent": "" if plan.state.head == UNBORN else plan.state.head,
            "branch": plan.state.branch,
            "files": files,
        },
        flags=tuple(sorted(found)),
    )


def _branch(plan: BranchPlan) -> Prepared:
    at = "no commit yet" if plan.state.head == UNBORN else plan.state.head
    return Prepared(
        pre_image=plan.pre_image(),
        touches=frozenset({HEAD}),
        title=f"New branch {plan.name}",
        summary=f"Make branch {plan.name} at {at[:12]} and switch to it from {plan.state.branch}; no file changes",
        display={"kind": "branch", "name": plan.name, "at": plan.state.head, "from": plan.state.branch},
    )
