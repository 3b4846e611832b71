"""The stream: one row an act, matched ones folded away, what is open or came out wrong left standing (CONSOLE §3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from cas_tui.model import acts
from cas_tui.model.citations import lamps
from cas_tui.model.journal import Bad, Journal, ordered
from cas_tui.model.keys import key, pair_key
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import Picture, RunPicture
from cas_tui.model.shapes import StreamRow
from cas_tui.model.words import ident, plural, since, size
from cas_tui.protocol.journal import Learning
from cas_tui.protocol.requests import Request, RequestKind, RequestState

KEEP_NEWEST = 4
"""The newest acts are never folded."""
MOST_ROWS = 500
_HAS_LAMPS = ("mismatched", "denied")


def stream(
    picture: Picture, root: str, now: datetime, *, keep: int = KEEP_NEWEST, folded: bool = True
) -> tuple[StreamRow, ...]:
    """The acts of one run, oldest first.

    Two or more matched acts in a row, older than the newest `keep`, become one row with their count; `folded=False`
    leaves every act its row. At most `MOST_ROWS` rows; a first row says what lies before them.
    """
    run = picture.runs.get(root)
    if run is None:
        return ()
    items = ordered(run.journal)
    claimed = acts.effects_by_action(run)
    disputed = _disputed(run)
    rows: list[StreamRow] = []
    used = len(items)
    # Newest first, so that a long history costs no more than what is shown of it.
    while used > 0 and len(rows) < MOST_ROWS:
        item = items[used - 1]
        length = 1
        if folded and len(items) - used >= keep:
            while length < used + 1 and _plain(run, items[used - length], disputed):
                length += 1
            length = max(1, length - 1)
        if length > 1:
            rows.append(_fold(items[used - length], length, now))
        elif isinstance(item, Bad):
            rows.append(_malformed(item))
        else:
            rows.append(_row(run, item, claimed, disputed, now))
        used -= length
    rows.reverse()
    return (*_before(run, used), *rows)


def _plain(run: RunPicture, item: Pair | Bad, disputed: frozenset[str]) -> bool:
    """Whether an act went as expected and nothing about it is odd."""
    if isinstance(item, Bad) or not item.plain or item.action_id in disputed:
        return False
    if len(run.journal.ids.get(item.action_id) or ()) > 1:
        return False
    nonce = run.state.run_nonce if run.state else None
    if nonce and item.key[1] and item.key[1] != nonce:
        return False
    return not run.epochs or not any(epoch < run.epochs.get(file, 0) for epoch, file in _read_from(item))


def _fold(oldest: Pair | Bad, count: int, now: datetime) -> StreamRow:
    """Matched acts as one row; its key is that of the oldest, so that it keeps while more join."""
    stamp = "" if isinstance(oldest, Bad) else oldest.timestamp
    return StreamRow(
        key=key("folded", "" if isinstance(oldest, Bad) else pair_key(oldest)),
        at=stamp,
        action="",
        expected="",
        confidence=None,
        glyph="done",
        verdict="as expected",
        age_s=since(stamp, now),
        folded=count,
    )


def _before(run: RunPicture, cut: int) -> tuple[StreamRow, ...]:
    """One row of ours about everything that is older than the rows shown; none when that is nothing."""
    journal = run.journal
    notes = []
    if cut:
        notes.append(f"{plural(cut, 'older row')} not drawn")
    if journal.dropped:
        gone = f"{plural(journal.dropped, 'older act')} not kept"
        notes.append(gone + (f", {journal.dropped_open} never observed" if journal.dropped_open else ""))
    if journal.dropped_loose:
        notes.append(f"{plural(journal.dropped_loose, 'older record')} without a prediction not kept")
    if journal.malformed_dropped:
        notes.append(f"{plural(journal.malformed_dropped, 'older malformed line')} not kept")
    for file, status in run.files.items():
        if status.unread_before:
            notes.append(f"{size(status.unread_before)} of {file} not read")
    if not notes:
        return ()
    row = StreamRow(
        key=key("before"),
        at="",
        action="",
        expected="",
        confidence=None,
        glyph="none",
        verdict="not kept",
        observed="; ".join(notes),
    )
    return (row,)


def _disputed(run: RunPicture) -> frozenset[str]:
    return frozenset(
        request.action_id
        for request in run.requests
        if request.kind is RequestKind.MISMATCH and request.state is RequestState.DISPUTED
    )


def _row(
    run: RunPicture,
    pair: Pair,
    claimed: Mapping[tuple[str, str], Request],
    disputed: frozenset[str],
    now: datetime,
) -> StreamRow:
    said, came = pair.prediction, pair.observation
    verdict = acts.verdict(run, pair, claimed.get((pair.session_id, pair.action_id)), now)
    flags = anomalies(run, pair)
    if pair.action_id in disputed:
        flags = (*flags, "disputed by the operator")
    return StreamRow(
        key=pair_key(pair),
        at=pair.timestamp,
        action=said.action if said else pair.action_id,
        expected=said.expected_observation if said else "",
        confidence=said.confidence if said else None,
        glyph=verdict.glyph,
        verdict=verdict.word,
        latency_s=pair.latency_s,
        age_s=since(pair.timestamp, now),
        observed=came.observation_summary if came else "",
        learned=", ".join(learned_words(item) for item in pair.learnings),
        lamps=lamps(run, pair) if verdict.word in _HAS_LAMPS else (),
        operator=pair.operator,
        flags=flags,
        detail=pair_key(pair),
    )


def learned_words(learning: Learning) -> str:
    """What a learning record changed, in our words: `belief B-9`, `asked the operator`, `nothing new`."""
    if learning.update_type == "confirmation_no_update":
        return "nothing new"
    if learning.update_type == "user_query":
        return "asked the operator"
    ref = ident(learning.persistent_ref) if learning.persistent_ref else "without a name"
    return f"{ident(learning.update_type)} {ref}"


def anomalies(run: RunPicture, pair: Pair) -> tuple[str, ...]:
    """What is odd about the records of one pair, in our words (SAFETY A11-A20, D7)."""
    found = [_flag_words(flag) for record in pair.records for flag in record.flags]
    if pair.conflict:
        found.append(pair.conflict)
    users = run.journal.ids.get(pair.action_id) or ()
    if len(users) > 1:
        found.append(f"the same id in {plural(len(users) - 1, 'other session')}")
    if any(epoch < run.epochs.get(file, 0) for epoch, file in _read_from(pair)):
        found.append("from before its file was rewritten")
    nonce = run.state.run_nonce if run.state else None
    if nonce and pair.key[1] and pair.key[1] != nonce:
        found.append("of another run_nonce")
    return tuple(dict.fromkeys(found))


def _read_from(pair: Pair) -> list[tuple[int, str]]:
    found = []
    if pair.prediction is not None:
        found.append((pair.epochs[0], pair.prediction.place.file))
    if pair.observation is not None:
        found.append((pair.epochs[1], pair.observation.place.file))
    return found


def _flag_words(flag: str) -> str:
    name, colon, rest = flag.partition(":")
    words = name.replace("_", " ")
    return f"{words} {ident(rest)}" if colon else words


def _malformed(bad: Bad) -> StreamRow:
    fault = bad.fault
    return StreamRow(
        key=key("malformed", fault.file, fault.offset, bad.epoch),
        at="",
        action=f"{fault.file} +{fault.offset}",
        expected="",
        confidence=None,
        glyph="flagged",
        verdict="malformed",
        observed=fault.reason,
        flags=("malformed",),
        detail=key("malformed", fault.file, fault.offset, bad.epoch),
    )


def trouble(journal: Journal) -> int:
    """Lines that are not records, over everything read."""
    return len(journal.malformed) + journal.malformed_dropped
