"""Doing one approved op, once. Whether it may be done was decided before; whether it still fits is looked at here.

The state is taken again and compared with what was shown (SAFETY E3) before anything is written, and for a file once
more when the new content is on disk and about to take the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cas_tui.effects import git_writing
from cas_tui.effects.errors import PreImageChanged, Refused
from cas_tui.effects.file_plan import FILE_KINDS, FilePlan, Saved, plan_file
from cas_tui.effects.git import UNBORN
from cas_tui.effects.git_plan import plan_branch, plan_commit, plan_stage
from cas_tui.effects.images import look
from cas_tui.effects.names import printable
from cas_tui.effects.prepare import refused_kind
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import PreImage

Save = Callable[[bytes], str]
"""Keeps a content durably and returns its `sha256:…`."""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done: one line of ours, the raw output, the state afterwards, and countable facts."""

    summary: str
    output: bytes
    post: dict[str, Json] = field(default_factory=dict)
    facts: dict[str, Json] = field(default_factory=dict)


def _nothing_saved(_: str) -> bytes | None:
    return None


def perform(
    ws: Workspace,
    op_kind: str,
    op_fields: Mapping[str, Json],
    pre_image: PreImage,
    *,
    save: Save,
    identity: tuple[str, str],
    when: datetime,
    saved: Saved = _nothing_saved,
) -> Done:
    """Do the op, if the state is still `pre_image`.

    Args:
        save: called with the present content before it is replaced; an error of it stops the op.
        identity: name and email of a commit. when: its time, with a zone.
        saved: finds a saved version, for fs_restore.

    Raises:
        PreImageChanged: the state is another one; nothing was done. Refused: nothing was done.
        Failed: it went wrong on the way; `partial` says whether something may be in place.
    """
    if op_kind in FILE_KINDS:
        return _file(ws, op_kind, op_fields, pre_image, save, saved)
    if op_kind == "git_stage":
        return _stage(ws, op_fields, pre_image)
    if op_kind == "git_commit":
        return _commit(ws, op_fields, pre_image, identity, when)
    if op_kind == "git_branch":
        return _branch(ws, op_fields, pre_image, identity)
    raise refused_kind(op_kind)


def changed_since(shown: PreImage, now: PreImage) -> str:
    """In words, how the state differs from the one shown; empty when it does not."""
    words = [f"{path} changed" for path in sorted(shown.paths) if now.paths.get(path) != shown.paths[path]]
    words += [f"{path} is new among the changes" for path in sorted(now.paths) if path not in shown.paths]
    for name, was, is_now in (
        ("the branch", shown.branch, now.branch),
        ("HEAD", shown.head, now.head),
        ("the index", shown.index_tree, now.index_tree),
    ):
        if was != is_now:
            words.append(f"{name} moved")
    return ", ".join(words)


def _require_same(shown: PreImage, now: PreImage) -> None:
    if words := changed_since(shown, now):
        raise PreImageChanged(words)


def _require_as_shown(ws: Workspace, shown: PreImage) -> None:
    """The paths of a pre-image, looked at before the plan is made: a plan may fail for the very reason of a change."""
    for path, image in shown.paths.items():
        if look(ws.root_dir, path)[0] != image:
            raise PreImageChanged(f"{path} changed")
    if shown.index_tree is not None:
        state = ws.repo().state()
        _require_same(
            PreImage(head=shown.head, branch=shown.branch, index_tree=shown.index_tree),
            PreImage(head=state.head, branch=state.branch, index_tree=state.index_tree),
        )


def _file(ws: Workspace, kind: str, op_fields: Mapping[str, Json], shown: PreImage, save: Save, saved: Saved) -> Done:
    _require_as_shown(ws, shown)
    plan = plan_file(ws.root_dir, kind, op_fields, saved)
    _require_same(shown, PreImage(paths={plan.path: plan.was}))
    if plan.before is not None:
        try:
            save(plan.before)
        except OSError as error:
            raise Refused(
                "storage_failure", f"the present version could not be saved: {error}", status="error"
            ) from None
    made = _make_directory(ws, plan)

    def last_look() -> None:
        if look(ws.root_dir, plan.path)[0] != plan.was:
            raise PreImageChanged(f"{plan.path} changed")

    try:
        if plan.after is None:
            ws.root_dir.unlink(plan.path, last_look=last_look)
        else:
            ws.root_dir.replace_atomically(plan.path, plan.after, plan.mode, last_look=last_look)
    except Refused:
        ws.root_dir.remove_empty(made)
        raise
    return _file_done(plan, made)


def _make_directory(ws: Workspace, plan: FilePlan) -> tuple[str, ...]:
    parent = plan.path.rpartition("/")[0]
    return ws.root_dir.mkdirs(parent) if parent and plan.after is not None else ()


def _file_done(plan: FilePlan, made: tuple[str, ...]) -> Done:
    if plan.after is None:
        summary = f"removed {plan.path}"
        output = f"{summary}\nwas: {len(plan.before or b'')} bytes {plan.was.sha256}\n"
    else:
        summary = f"wrote {plan.path}, {len(plan.after)} bytes"
        output = f"{summary}\nis: {plan.will.sha256} mode {plan.mode:04o}\nwas: {plan.was.sha256 or plan.was.type}\n"
    output += "".join(f"made directory {path}\n" for path in made)
    facts: dict[str, Json] = {"path": plan.path, "bytes": len(plan.after or b""), "made_directories": list(made)}
    return Done(summary, output.encode(), {plan.path: plan.will.as_json()}, facts)


def _stage(ws: Workspace, op_fields: Mapping[str, Json], shown: PreImage) -> Done:
    _require_as_shown(ws, shown)
    plan = plan_stage(ws, op_fields)
    _require_same(shown, plan.pre_image())
    tree = git_writing.stage(ws, plan)
    post: dict[str, Json] = {item.path: item.image.as_json() for item in plan.items}
    post["git:index"] = tree
    lines = "".join(f"{item.letter}  {item.path}\n" for item in plan.items)
    count = len(plan.items)
    summary = f"staged {count} file" + ("" if count == 1 else "s")
    return Done(summary, f"{summary}\n{lines}".encode(), post, {"files": count, "index_tree": tree})


def _commit(
    ws: Workspace, op_fields: Mapping[str, Json], shown: PreImage, identity: tuple[str, str], when: datetime
) -> Done:
    _require_as_shown(ws, shown)
    plan = plan_commit(ws, op_fields)
    _require_same(shown, plan.pre_image())
    oid = git_writing.commit(ws, plan, identity, when)
    subject = printable(plan.message.strip().split("\n", 1)[0])
    summary = f"committed {oid[:7]} on {plan.state.branch}"
    lines = "".join(f"{delta.letter}  {delta.shown}\n" for delta in plan.deltas)
    output = f"[{plan.state.branch} {oid[:7]}] {subject}\ncommit {oid}\n{lines}"
    post: dict[str, Json] = {"git:head": oid, "git:index": plan.state.index_tree}
    parent = "" if plan.state.head == UNBORN else plan.state.head
    facts: dict[str, Json] = {"commit": oid, "parent": parent, "branch": plan.state.branch, "files": len(plan.deltas)}
    return Done(summary, output.encode(), post, facts)


def _branch(ws: Workspace, op_fields: Mapping[str, Json], shown: PreImage, identity: tuple[str, str]) -> Done:
    _require_as_shown(ws, shown)
    plan = plan_branch(ws, op_fields)
    _require_same(shown, plan.pre_image())
    git_writing.branch(ws, plan, identity)
    summary = f"on new branch {plan.name}"
    post: dict[str, Json] = {"git:head": plan.state.head, "git:branch": plan.name}
    return Done(summary, f"{summary}\nat {plan.state.head}\n".encode(), post, {"branch": plan.name})


def tidy(ws: Workspace, op_kind: str, op_fields: Mapping[str, Json]) -> tuple[str, ...]:
    """After a crash in the middle of a file op: remove the temporary file it may have left; the names removed.

    Never touches a file of anyone else: only our own random names, owned by us, beside the op's own path.
    """
    if op_kind not in FILE_KINDS:
        return ()
    try:
        path = ws.root_dir.check_path(str(op_fields["path"]), write=True, ours=True)
    except Refused:
        return ()
    return ws.root_dir.sweep_temps(path.rpartition("/")[0])
