"""Coordination ops: ack, done, fail, reply, surface and the rest (PROTOCOL §2.4, §2.11, §2.12).

ack, surface and reply run in any pass. done and fail end something, so they wait for the last pass of their trigger,
and do not run there when an effect of the trigger failed. What this host does not carry yet is refused in words, in
the receipts, never in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cas_tui.loop.context import Context
from cas_tui.loop.files import WriteFailed, append_line, is_regular, read_regular, remove_file, replace_file
from cas_tui.loop.issues import surface
from cas_tui.protocol.ops import SAFE_NAME
from cas_tui.protocol.output import Coordination, update_frontmatter
from cas_tui.protocol.receipts import Receipt

ALWAYS = frozenset({"ack", "surface", "reply"})
TERMINAL = frozenset({"done", "fail"})
THREAD_PLACES = (
    "in",
    "mail/inbox",
    "mail/outbox",
    "mail/sent",
    "doing",
    "deferred",
    "adhoc",
    "reflections/daily",
    "reflections/weekly",
    "reflections/monthly",
)
MAX_THREAD_BYTES = 16 << 20


def run(
    ctx: Context,
    trigger_id: str,
    pass_no: int,
    ops: Sequence[Coordination],
    body: str | None,
    *,
    last: bool,
    effects_failed: bool,
) -> list[Receipt]:
    """Run the ops that may run in this pass, in frontmatter order; a receipt for each that ran or was refused."""
    receipts: list[Receipt] = []
    for op in ops:
        if op.key in TERMINAL and not last:
            continue
        at = ctx.now()
        try:
            status, reason = _run(ctx, trigger_id, pass_no, op, body, effects_failed)
        except WriteFailed as error:
            status, reason = "error", str(error)
        receipts.append(Receipt(str(pass_no), None, op.key, status, reason, at, ctx.now()))
    return receipts


def _run(
    ctx: Context, trigger_id: str, pass_no: int, op: Coordination, body: str | None, effects_failed: bool
) -> tuple[str, str]:
    if op.key == "ack":
        return "ok", ""
    if op.key == "surface":
        surface(ctx, f"{trigger_id}.{pass_no}", op.ordinal, op.text)
        return "ok", ""
    if op.key == "reply":
        return _reply(ctx, trigger_id, pass_no, op, body)
    if op.key in TERMINAL:
        if effects_failed:
            return "skipped", "effects_failed"
        return _finish(ctx, op)
    return "denied", "not_supported_here"


def find_thread(ctx: Context, thread_id: str) -> Path | None:
    """The file of a thread, by the places of PROTOCOL §2.6; an id that could leave them is no thread."""
    if not SAFE_NAME.match(thread_id) or thread_id in (".", ".."):
        return None
    for place in THREAD_PLACES:
        path = ctx.paths.threads / place / f"{thread_id}.md"
        if is_regular(path):
            return path
    return None


def _reply(ctx: Context, trigger_id: str, pass_no: int, op: Coordination, body: str | None) -> tuple[str, str]:
    path = find_thread(ctx, op.target)
    if path is None and op.target != trigger_id:
        return "error", "unknown_thread"
    key = f"reply:{trigger_id}:{pass_no}:{op.ordinal}"
    if ctx.ledger.cursors.get(key) is not None:
        return "ok", ""
    at = ctx.now()
    text = f"\n## Reply ({at})\n\n{body or op.text}\n"
    if path is None:
        # A reply to the input itself: it has no thread file, the archive of replies is one.
        path = ctx.paths.threads / "adhoc" / f"{trigger_id}.md"
    append_line(path, text.encode("utf-8", "replace"))
    ctx.ledger.cursors.set(key, {"at": at})
    return "ok", ""


def _finish(ctx: Context, op: Coordination) -> tuple[str, str]:
    """done and fail archive the thread they name, if there is one; the id of an input has none."""
    path = find_thread(ctx, op.target)
    if path is None:
        return "ok", ""
    data = read_regular(path, MAX_THREAD_BYTES) or b""
    updates = [("completed", ctx.now()), ("state", "archived")]
    if op.key == "fail":
        updates.append(("failed", " ".join(op.text.split())))
    target = ctx.paths.threads / "archived" / path.name
    replace_file(target, update_frontmatter(data.decode("utf-8", "replace"), tuple(updates)).encode("utf-8", "replace"))
    remove_file(path)
    return "ok", ""
