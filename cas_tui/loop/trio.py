"""The three records of one act, each written once (PROTOCOL §5.5 "Written back through the loop").

An operator's act is itself consequential: it is predicted, done, observed and learned from like the agent's, in the
operator's name. Operator records never touch the agent's pending citations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.loop import commit, records
from cas_tui.loop.context import Context
from cas_tui.loop.learn import Lesson
from cas_tui.loop.records import Actor, Record
from cas_tui.protocol.decode import Json
from cas_tui.protocol.ops import Predict


@dataclass(frozen=True, slots=True)
class Ended:
    """How an act ended, as its observation says it."""

    success: bool
    matched: bool
    summary: str
    outcome: str = "executed"
    raw_ref: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


def said(
    ctx: Context,
    key: str,
    actor: Actor,
    action: str,
    expected: str,
    falsifier: str,
    extra: Mapping[str, Json] | None = None,
) -> str:
    """Write the operator's prediction of step `key` before the act; returns its action_id. Confidence is 1.0."""

    def make() -> Record:
        predict = Predict(expected, 1.0, (), falsifier)
        record = records.prediction(f"op-{ctx.ids()}", actor, ctx.now(), ctx.ids(), action, predict)
        return record | dict(extra or {})

    action_id: str = ctx.journal.write(f"{key}:prediction", "predictions.jsonl", make)["action_id"]
    return action_id


def seen(ctx: Context, key: str, actor: Actor, action_id: str, ended: Ended, lesson: Lesson) -> None:
    """Write the observation and the learning of step `key`, and make the lesson last in STATE."""

    def observation() -> Record:
        return records.observation(
            action_id,
            actor,
            ctx.now(),
            ctx.ids(),
            success=ended.success,
            matched=ended.matched,
            summary=ctx.redactor.redact(ended.summary).text,
            raw_ref=ended.raw_ref,
            outcome=ended.outcome,
            extra=ended.extra,
        )

    def learning() -> Record:
        return records.learning(
            action_id,
            actor,
            ctx.now(),
            ctx.ids(),
            update_type=lesson.update_type,
            error_class=lesson.error_class,
            persistent_ref=lesson.persistent_ref,
            rationale=lesson.rationale,
        )

    ctx.journal.write(f"{key}:observation", "observations.jsonl", observation)
    written = ctx.journal.write(f"{key}:learning", "learning.jsonl", learning)
    # Phase 8: STATE is committed after every act, and at once when the citation queue grows (PROTOCOL §1.4 rule 3).
    patches = lesson.lasting(action_id, written["timestamp"])
    ctx.state.change(f"{key}:lesson", *patches, commit.touch(written["timestamp"]))
