"""What an operator says outside a request: a message to the agent, hold and resume, a revert (PROTOCOL §5.5).

Each is already durable in the ledger when it comes here; this writes it back through the loop and carries it out.
"""

from __future__ import annotations

from collections.abc import Mapping

from cas_tui.loop import unapproved
from cas_tui.loop.context import Context
from cas_tui.loop.files import create_file
from cas_tui.loop.learn import Lesson
from cas_tui.loop.records import Actor
from cas_tui.loop.trio import Ended, said, seen
from cas_tui.protocol.decode import Json
from cas_tui.protocol.output import format_frontmatter

KINDS = ("message", "hold", "resume", "revert")


def undone(ctx: Context) -> list[Mapping[str, Json]]:
    """Messages that this side still has to carry out, oldest first. Answers wait for the next input instead."""
    return [row for row in ctx.ledger.messages.undelivered(str(ctx.root)) if row["kind"] in KINDS]


def carry_out(ctx: Context, row: Mapping[str, Json]) -> None:
    """Carry out one message, once, with its three records."""
    kind, key = str(row["kind"]), f"message:{row['id']}"
    actor = Actor(f"operator:{row['operator']['name']}", ctx.session_id, ctx.run_nonce)
    action, expected = _WORDS[kind]
    action_id = said(ctx, key, actor, action, expected, "the files say otherwise")
    summary = expected
    if kind == "message":
        summary = f"queued as {_queue(ctx, row)}"
    elif kind == "revert":
        request = ctx.ledger.requests.get(str(row["data"]["request_id"]))
        proposed = unapproved.revert_effect(ctx, key, actor.agent, request)
        summary = f"asked for as {', '.join(item.request_id for item in proposed) or 'nothing: it changed no file'}"
    seen(ctx, key, actor, action_id, Ended(True, True, summary), Lesson())
    ctx.ledger.messages.delivered(row["id"], kind)


_WORDS = {
    "message": ("message the agent", "the message waits in the agent's queue"),
    "hold": ("hold the run", "no new effect starts until it is resumed"),
    "resume": ("resume the run", "approved effects may start again"),
    "revert": ("ask to put an effect back", "a new effect request puts the pre-image back"),
}


def _queue(ctx: Context, row: Mapping[str, Json]) -> str:
    """state/queue/{ts}-operator-{id}.md, in the form of PROTOCOL §2.3."""
    at = str(row["at"])
    message_id = f"msg-{row['id']}"
    stamp = at.replace(":", "-").replace(".", "-")
    entries = (("id", message_id), ("from", f"operator:{row['operator']['name']}"), ("queued", at))
    data = format_frontmatter(entries, str(row["text"])).encode("utf-8", "replace")
    return create_file(ctx.paths.queue / f"{stamp}-operator-{message_id}.md", data).name
