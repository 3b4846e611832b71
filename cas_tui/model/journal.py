"""The journal of one run: its newest pairs, what was dropped, and the totals, as one immutable value.

Bounded: `MAX_PAIRS` groups and `MAX_BYTES` of lines; older ones leave, and are counted. Adding a record copies a few
small parts only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from cas_tui.model.pairs import Group, Key, Pair, add, key_of
from cas_tui.model.persistent import PMap
from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.journal import Record

MAX_PAIRS = 5_000
MAX_BYTES = 64 << 20
MAX_MALFORMED = 500
_CHUNK = 128


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over everything read, kept or not; operators' acts are in none of them."""

    acts: int = 0
    judged: int = 0
    right: int = 0
    mismatched: int = 0
    unrated: int = 0
    """Acts left out of `judged` because their confidence is not a number from 0 to 1 (SAFETY A18)."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A malformed line and the epoch of its file."""

    epoch: int
    fault: Malformed


@dataclass(frozen=True, eq=False)
class Journal:
    """Compared by identity: two journals with the same content are still two moments."""

    groups: PMap[Key, Group] = field(default_factory=PMap)
    ids: PMap[str, tuple[Key, ...]] = field(default_factory=PMap)
    """action_id → the keys that use it: more than one is shown as a conflict (SAFETY A16)."""
    order: dict[int, tuple[Key, ...]] = field(default_factory=dict)
    """Chunk number → keys in order of arrival; what leaves first."""
    first: int = 0
    next: int = 0
    size: int = 0
    dropped: int = 0
    dropped_open: int = 0
    totals: Totals = Totals()
    open: PMap[Key, Key] = field(default_factory=PMap)
    malformed: tuple[Bad, ...] = ()
    malformed_dropped: int = 0


def with_record(journal: Journal, record: Record, epoch: int) -> Journal:
    """The journal with one more record, and without the oldest ones if it would grow past its bounds."""
    key = key_of(record)
    old = journal.groups.get(key)
    order, following, ids = journal.order, journal.next, journal.ids
    if old is None:
        group = add(Group(key, following), record, epoch)
        chunk = following // _CHUNK
        order = {**order, chunk: (*order.get(chunk, ()), key)}
        following += 1
        users = ids.get(key[2]) or ()
        ids = ids.set(key[2], (*users[-7:], key))
    else:
        group = add(old, record, epoch)
        if group is old:
            return journal
    grown = Journal(
        groups=journal.groups.set(key, group),
        ids=ids,
        order=order,
        first=journal.first,
        next=following,
        size=journal.size + group.size - (old.size if old else 0),
        dropped=journal.dropped,
        dropped_open=journal.dropped_open,
        totals=_totals(journal.totals, old, group),
        open=_open(journal.open, group),
        malformed=journal.malformed,
        malformed_dropped=journal.malformed_dropped,
    )
    while len(grown.groups) > MAX_PAIRS or (grown.size > MAX_BYTES and len(grown.groups) > 1):
        grown = _without_oldest(grown)
    return grown


def with_malformed(journal: Journal, fault: Malformed, epoch: int) -> Journal:
    """The journal with one more line that is not a record (SAFETY A14, D9). The same one twice changes nothing."""
    new = Bad(epoch, fault)
    if new in journal.malformed:
        return journal
    kept = (*journal.malformed, new)
    over = max(0, len(kept) - MAX_MALFORMED)
    return replace(journal, malformed=kept[over:], malformed_dropped=journal.malformed_dropped + over)


def _totals(totals: Totals, old: Group | None, new: Group) -> Totals:
    acts = judged = right = mismatched = unrated = 0
    for group, sign in ((old, -1), (new, 1)):
        for pair in group.pairs if group else ():
            acts += sign * (pair.executed and not pair.operator)
            judged += sign * pair.judged
            right += sign * pair.right
            mismatched += sign * pair.mismatched
            said = pair.prediction
            unrated += sign * (pair.executed and not pair.operator and said is not None and said.confidence is None)
    if not (acts or judged or right or mismatched or unrated):
        return totals
    return Totals(
        totals.acts + acts,
        totals.judged + judged,
        totals.right + right,
        totals.mismatched + mismatched,
        totals.unrated + unrated,
    )


def _open(known: PMap[Key, Key], group: Group) -> PMap[Key, Key]:
    if any(pair.open and not pair.operator for pair in group.pairs):
        return known if group.key in known else known.set(group.key, group.key)
    return known.drop(group.key)


def _without_oldest(journal: Journal) -> Journal:
    chunk, place = divmod(journal.first, _CHUNK)
    key = journal.order[chunk][place]
    order = journal.order
    if place == _CHUNK - 1:
        order = {number: keys for number, keys in order.items() if number != chunk}
    gone = journal.groups.get(key)
    users = tuple(user for user in journal.ids.get(key[2]) or () if user != key)
    return replace(
        journal,
        groups=journal.groups.drop(key),
        ids=journal.ids.set(key[2], users) if users else journal.ids.drop(key[2]),
        order=order,
        first=journal.first + 1,
        size=journal.size - (gone.size if gone else 0),
        dropped=journal.dropped + 1,
        dropped_open=journal.dropped_open + (key in journal.open),
        open=journal.open.drop(key),
    )


@lru_cache(maxsize=32)
def ordered(journal: Journal) -> tuple[Pair | Bad, ...]:
    """Every kept pair and malformed line, oldest first, by file position and never by claimed time (SAFETY A19).

    Predictions in file order are the spine. What has none stands after the act whose observation (or learning) comes
    before its own in that file, so the answer is the same however the records arrived.
    """
    spine: list[tuple[tuple[int, int], Pair]] = []
    loose: dict[str, list[tuple[tuple[int, int], Pair | Bad, bool]]] = {}
    for group in journal.groups.values():
        for pair in group.pairs:
            if pair.prediction is not None:
                spine.append(((pair.epochs[0], pair.prediction.place.offset), pair))
            if pair.observation is not None:
                at = (pair.epochs[1], pair.observation.place.offset)
                loose.setdefault("observations.jsonl", []).append((at, pair, pair.prediction is not None))
            elif pair.prediction is None:
                at = (0, pair.learnings[0].place.offset)
                loose.setdefault("learning.jsonl", []).append((at, pair, False))
            if pair.observation is not None or pair.prediction is not None:
                for lesson in pair.learnings:
                    joined = pair.prediction is not None
                    if joined:
                        loose.setdefault("learning.jsonl", []).append(((0, lesson.place.offset), pair, True))
    spine.sort(key=lambda item: item[0])
    rank = {id(pair): number for number, (_, pair) in enumerate(spine)}
    for bad in journal.malformed:
        loose.setdefault(bad.fault.file, []).append(((bad.epoch, bad.fault.offset), bad, False))
    placed: list[tuple[int, str, tuple[int, int], Pair | Bad]] = [(rank[id(pair)], "", at, pair) for at, pair in spine]
    for file, items in loose.items():
        if file == "predictions.jsonl":
            items.extend((at, pair, True) for at, pair in spine)
        items.sort(key=lambda item: item[0])
        after = -1
        for at, item, joined in items:
            if joined:
                after = max(after, rank[id(item)])
            else:
                placed.append((after, file, at, item))
    placed.sort(key=lambda item: item[:3])
    return tuple(item for *_, item in placed)


def pairs(journal: Journal) -> tuple[Pair, ...]:
    """Every kept pair, oldest first."""
    return _pairs_only(journal)


@lru_cache(maxsize=32)
def _pairs_only(journal: Journal) -> tuple[Pair, ...]:
    return tuple(item for item in ordered(journal) if isinstance(item, Pair))


def pair_of(journal: Journal, key: Key, ordinal: int = 0) -> Pair | None:
    """One pair by its key and ordinal, if it is still kept."""
    group = journal.groups.get(key)
    if group is None:
        return None
    return next((pair for pair in group.pairs if pair.ordinal == ordinal), None)


def pairs_of_action(journal: Journal, action_id: str) -> tuple[Pair, ...]:
    """Every kept pair that uses this id, in any session."""
    found = (journal.groups.get(key) for key in journal.ids.get(action_id) or ())
    return tuple(pair for group in found if group is not None for pair in group.pairs)
