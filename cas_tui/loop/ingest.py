"""Phases 1 and 2 as far as the host needs them: what the agent's files ask of an operator (PROTOCOL §5.4).

From a durable cursor per file: questions (user_query learnings), mismatches worth a look, new issue files. A root seen
for the first time starts at its last 64 KiB; what lies before that is history and asks for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from cas_tui.loop import issues, questions
from cas_tui.loop.context import Context
from cas_tui.loop.files import WriteFailed, newest_part, open_regular
from cas_tui.loop.telemetry import recent
from cas_tui.protocol.decode import Json, Malformed, Place
from cas_tui.protocol.encode import parse_timestamp, writable
from cas_tui.protocol.journal import Learning, Observation, Prediction, Record, RecordKind, decode_record
from cas_tui.protocol.requests import Request, RequestKind, RequestState

FIRST_WINDOW = 64 << 10
STEP = 1 << 20
HISTORY_AFTER = timedelta(hours=24)


def ingest(ctx: Context) -> int:
    """Raise a request for everything new that asks for one; returns how many."""
    fresh: list[Request] = []
    cursors: dict[str, Mapping[str, Json]] = {}
    for record in _new_records(ctx, ctx.paths.learning, "learning", cursors):
        if isinstance(record, Learning) and record.update_type == "user_query" and not _operator(record.agent):
            fresh.append(questions.question_request(ctx, record))
    for record in _new_records(ctx, ctx.paths.observations, "observation", cursors):
        if isinstance(record, Observation) and _worth_a_look(record):
            fresh.append(_mismatch(ctx, record))
    found = issues.find_new(ctx)
    if fresh or found:
        ctx.ledger.requests.insert_pass([_recordable(request) for request in (*fresh, *found)])
    for name, cursor in cursors.items():
        ctx.ledger.cursors.set(name, cursor)
    for request in found:
        ctx.ledger.cursors.set(f"issue:{request.fields['file']}", {"request_id": request.request_id})
    return len(fresh) + len(found)


def _recordable(request: Request) -> Request:
    """The request with its agent text in a form that a ledger can hold: a lone surrogate is no reason to stop (T4)."""
    return Request.from_json(writable(request.as_json()))


def _operator(agent: str) -> bool:
    return agent.startswith("operator:")


def _worth_a_look(record: Observation) -> bool:
    return not record.matched and record.outcome == "executed" and not _operator(record.agent)


def _new_records(
    ctx: Context, path: Path, kind: RecordKind, cursors: dict[str, Mapping[str, Json]]
) -> Iterator[Record]:
    """Records past the cursor; the moved cursor is put into `cursors`, to be saved after the requests."""
    name = f"ingest:{path.name}"
    try:
        descriptor = open_regular(path)
    except WriteFailed:
        return
    if descriptor is None:
        return
    try:
        status = os.fstat(descriptor)
        cursor = ctx.ledger.cursors.get(name)
        first_sight = cursor is None
        offset = int(cursor["offset"]) if cursor else max(0, status.st_size - FIRST_WINDOW)
        if cursor and (cursor["inode"] != status.st_ino or status.st_size < offset):
            # Rotated, replaced or truncated: only its newest part can be new.
            offset, first_sight = max(0, status.st_size - FIRST_WINDOW), True
        if status.st_size == offset:
            if cursor is None:
                cursors[name] = {"inode": status.st_ino, "offset": offset}
            return
        data = os.pread(descriptor, STEP, offset)
    finally:
        os.close(descriptor)
    if first_sight and offset:
        cut = data.find(b"\n") + 1
        data, offset = data[cut:], offset + cut
    history = first_sight and offset > 0
    whole = data[: data.rfind(b"\n") + 1]
    if not whole and len(data) == STEP:
        whole = data  # one line longer than a step can be no record: step over it
    cursors[name] = {"inode": status.st_ino, "offset": offset + len(whole)}
    for line in whole.split(b"\n")[:-1]:
        record = decode_record(line, kind, Place(path.name, offset, len(line) + 1))
        offset += len(line) + 1
        if not isinstance(record, Malformed) and not (history and _old(ctx, record)):
            yield record


def _old(ctx: Context, record: Record) -> bool:
    at = parse_timestamp(record.timestamp)
    return at is None or ctx.clock() - at > HISTORY_AFTER


def _mismatch(ctx: Context, record: Observation) -> Request:
    expected = ""
    action = ""
    for item in recent(ctx.paths.predictions, "prediction", window=STEP):
        if isinstance(item, Prediction) and item.action_id == record.action_id and item.session_id == record.session_id:
            expected, action = item.expected_observation, item.action
    return Request(
        request_id=f"m-{ctx.ids()}",
        kind=RequestKind.MISMATCH,
        state=RequestState.PENDING,
        root=str(ctx.root),
        agent=record.agent,
        session_id=record.session_id,
        run_nonce=record.run_nonce,
        created_at=ctx.now(),
        title=f'said "{expected}", came {record.observation_summary}',
        action_id=record.action_id,
        fields={
            "action_id": record.action_id,
            "action": action,
            "expected": expected,
            "observed": record.observation_summary,
        },
        source={"file": record.place.file, "offset": record.place.offset},
        policy_version=ctx.policy.version,
    )


def note_session_start(ctx: Context) -> None:
    """Remember where predictions.jsonl ends now: what the agent writes later is of this session."""
    key = f"session:{ctx.session_id}"
    if ctx.ledger.cursors.get(key) is None:
        start, data = newest_part(ctx.paths.predictions, 0)
        size = start + len(data)
        ctx.ledger.cursors.set(key, {"predictions": size})
