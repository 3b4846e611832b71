"""The journal of one run: its newest pairs, what was dropped, and the totals, as one immutable value.

Bounded: `MAX_PAIRS` predicted acts, `MAX_LOOSE` records whose prediction was not read, `MAX_BYTES` of lines; older ones
leave, and are counted. Adding records copies a few small parts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cas_tui.model.pairs import NOTHING, Group, Key, Pair, Tally, add, key_of
from cas_tui.model.persistent import Draft, PMap
from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.journal import Record

MAX_PAIRS = 5_000
MAX_LOOSE = 1_000
"""Of their own, so that observations of acts long dropped never push out acts that are complete."""
MAX_BYTES = 64 << 20
MAX_MALFORMED = 500
_CHUNK = 128
_USERS = 8
"""Sessions remembered as users of one id."""
_SESSIONS = 8


@dataclass(frozen=True, slots=True)
class Bad:
    """A malformed line and the epoch of its file."""

    epoch: int
    fault: Malformed


At = tuple[int, int]
"""Epoch of a file and offset in it."""


@dataclass(frozen=True, slots=True)
class Front:
    """How far one session of an agent got in predictions.jsonl: its last prediction, and the last observed one."""

    last: At
    observed: At | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Journal:
    """Compared by identity: two journals with the same content are still two moments."""

    groups: PMap[Key, Group] = field(default_factory=PMap)
    ids: PMap[str, tuple[Key, ...]] = field(default_factory=PMap)
    """action_id → the keys that use it: more than one is shown as a conflict (SAFETY A16)."""
    order: dict[int, tuple[Key, ...]] = field(default_factory=dict)
    """Chunk number → keys of predicted acts in order of arrival; what leaves first."""
    first: int = 0
    next: int = 0
    loose: dict[Key, None] = field(default_factory=dict)
    """Keys without a prediction, in order of arrival."""
    size: int = 0
    dropped: int = 0
    dropped_open: int = 0
    dropped_loose: int = 0
    totals: Tally = NOTHING
    """Over the kept pairs. Operators' acts are in none of the counts."""
    open: PMap[Key, Key] = field(default_factory=PMap)
    malformed: tuple[Bad, ...] = ()
    malformed_dropped: int = 0
    fronts: dict[str, Front] = field(default_factory=dict)
    """Session → how far it got; of the newest `_SESSIONS` sessions. Kept so that no look has to walk all pairs."""
    tails: dict[str, tuple[At, str]] = field(default_factory=dict)
    """File → place and claimed instant of its last record."""


def with_records(
    journal: Journal, records: Sequence[Record], malformed: Sequence[Malformed] = (), epoch: int = 0
) -> Journal:
    """The journal with more records and malformed lines of one file, and without the oldest over its bounds.

    `epoch` is how often that file had been rewritten before. What is already held changes nothing.
    """
    change = _Change(journal)
    for record in records:
        change.add(record, epoch)
    for fault in malformed:
        change.add_malformed(Bad(epoch, fault))
    return change.done() if change.changed else journal


class _Change:
    """One step from a journal to the next; every part is copied at most once."""

    def __init__(self, journal: Journal) -> None:
        self.base = journal
        self.groups, self.ids, self.open = Draft(journal.groups), Draft(journal.ids), Draft(journal.open)
        self.order, self.loose = journal.order, journal.loose
        self.first, self.next, self.size = journal.first, journal.next, journal.size
        self.dropped, self.dropped_open = journal.dropped, journal.dropped_open
        self.dropped_loose = journal.dropped_loose
        self.totals = journal.totals
        self.malformed, self.malformed_dropped = journal.malformed, journal.malformed_dropped
        self.fronts, self.tails = journal.fronts, journal.tails
        self.changed = False

    def add(self, record: Record, epoch: int) -> None:
        key = key_of(record)
        old = self.groups.get(key)
        group = add(old if old is not None else Group(key), record, epoch)
        if group is old:
            return
        self.changed = True
        self.groups.set(key, group)
        if old is None:
            users = self.ids.get(key[2])
            self.ids.set(key[2], (key,) if users is None else (*users[1 - _USERS :], key))
        if group.predictions and (old is None or not old.predictions):
            self._enter(key)
        elif old is None:
            self._own_loose()[key] = None
        self.size += group.size - (old.size if old is not None else 0)
        if group.tally is not (old.tally if old is not None else NOTHING):
            self.totals = self.totals.plus(group.tally).minus(old.tally if old is not None else NOTHING)
        self._note_place(record, epoch)
        if group.predictions:
            self._note_front(group)
        if group.open:
            self.open.set(key, key)
        else:
            self.open.drop(key)
        self._trim()

    def _note_place(self, record: Record, epoch: int) -> None:
        at, file = (epoch, record.place.offset), record.place.file
        known = self.tails.get(file)
        if known is not None and known[0] >= at:
            return
        if self.tails is self.base.tails:
            self.tails = dict(self.tails)
        self.tails[file] = (at, record.timestamp)

    def _note_front(self, group: Group) -> None:
        session = group.key[0]
        front = known = self.fronts.get(session)
        for pair in group.pairs:
            if pair.prediction is None or pair.operator:
                continue
            at = (pair.epochs[0], pair.prediction.place.offset)
            front = Front(at) if front is None else front if front.last >= at else Front(at, front.observed)
            if pair.observation is not None and (front.observed is None or front.observed < at):
                front = Front(front.last, at)
        if front is known or front is None:
            return
        if self.fronts is self.base.fronts:
            self.fronts = dict(self.fronts)
        self.fronts[session] = front
        if len(self.fronts) > _SESSIONS:
            del self.fronts[min(self.fronts, key=lambda name: self.fronts[name].last)]

    def _enter(self, key: Key) -> None:
        """Into the queue of predicted acts, out of the loose ones."""
        if key in self.loose:
            del self._own_loose()[key]
        chunk = self.next // _CHUNK
        if self.order is self.base.order:
            self.order = dict(self.order)
        self.order[chunk] = (*self.order.get(chunk, ()), key)
        self.next += 1

    def _own_loose(self) -> dict[Key, None]:
        if self.loose is self.base.loose:
            self.loose = dict(self.loose)
        return self.loose

    def _trim(self) -> None:
        while self.next - self.first > MAX_PAIRS or (self.size > MAX_BYTES and self.next - self.first > 1):
            chunk, place = divmod(self.first, _CHUNK)
            key = self.order[chunk][place]
            if place == _CHUNK - 1:
                if self.order is self.base.order:
                    self.order = dict(self.order)
                del self.order[chunk]
            self.first += 1
            self.dropped += 1
            self.dropped_open += self.open.get(key) is not None
            self._forget(key)
        while self.loose and (len(self.loose) > MAX_LOOSE or (self.size > MAX_BYTES and len(self.loose) > 1)):
            key = next(iter(self.loose))
            del self._own_loose()[key]
            self.dropped_loose += 1
            self._forget(key)

    def _forget(self, key: Key) -> None:
        group = self.groups.get(key)
        if group is None:
            return
        self.groups.drop(key)
        self.open.drop(key)
        self.size -= group.size
        self.totals = self.totals.minus(group.tally)
        users = tuple(user for user in self.ids.get(key[2]) or () if user != key)
        if users:
            self.ids.set(key[2], users)
        else:
            self.ids.drop(key[2])

    def add_malformed(self, bad: Bad) -> None:
        """One more line that is not a record (SAFETY A14, D9); the newest are kept, the rest counted."""
        if bad in self.malformed:
            return
        # One place has one fault: a line that was read while it grew is told by what it came to.
        here = (bad.epoch, bad.fault.file, bad.fault.offset)
        rest = tuple(old for old in self.malformed if (old.epoch, old.fault.file, old.fault.offset) != here)
        kept = (*rest, bad)
        over = max(0, len(kept) - MAX_MALFORMED)
        self.malformed, self.malformed_dropped = kept[over:], self.malformed_dropped + over
        self.changed = True

    def done(self) -> Journal:
        return Journal(
            self.groups.done(),
            self.ids.done(),
            self.order,
            self.first,
            self.next,
            self.loose,
            self.size,
            self.dropped,
            self.dropped_open,
            self.dropped_loose,
            self.totals,
            self.open.done(),
            self.malformed,
            self.malformed_dropped,
            self.fronts,
            self.tails,
        )


@lru_cache(maxsize=64)
def ordered(journal: Journal) -> tuple[Pair | Bad, ...]:
    """Every kept pair and malformed line, oldest first, by file position and never by claimed time (SAFETY A19).

    Predictions in file order are the spine. What has none stands after the act whose observation (or learning) comes
    before its own in that file, so the answer is the same however the records arrived.
    """
    spine: list[tuple[At, Pair]] = []
    loose: list[Pair] = []
    for group in journal.groups.values():
        for pair in group.pairs:
            if pair.prediction is not None:
                spine.append(((pair.epochs[0], pair.prediction.place.offset), pair))
            else:
                loose.append(pair)
    spine.sort(key=lambda item: item[0])
    if not loose and not journal.malformed:
        return tuple(pair for _, pair in spine)
    return _with_loose(spine, loose, journal.malformed)


def _with_loose(spine: list[tuple[At, Pair]], loose: list[Pair], malformed: tuple[Bad, ...]) -> tuple[Pair | Bad, ...]:
    """The spine with everything else put after what precedes it in its own file."""
    files: dict[str, list[tuple[At, int, Pair | Bad]]] = {}
    for pair in loose:
        file, place = _marks(pair)[0]
        files.setdefault(file, []).append((place, -1, pair))
    for bad in malformed:
        files.setdefault(bad.fault.file, []).append(((bad.epoch, bad.fault.offset), -1, bad))
    # Only the files that hold something without a place need to be walked.
    for rank, (at, pair) in enumerate(spine):
        if "predictions.jsonl" in files:
            files["predictions.jsonl"].append((at, rank, pair))
        for file, place in _marks(pair):
            if file in files:
                files[file].append((place, rank, pair))
    placed: list[tuple[int, str, At, Pair | Bad]] = [(rank, "", at, pair) for rank, (at, pair) in enumerate(spine)]
    for file, items in files.items():
        items.sort(key=lambda item: item[0])
        after = -1
        for at, rank, item in items:
            if rank >= 0:
                after = max(after, rank)
            else:
                placed.append((after, file, at, item))
    placed.sort(key=lambda item: item[:3])
    return tuple(item for *_, item in placed)


def _marks(pair: Pair) -> list[tuple[str, At]]:
    """Where a pair stands in the files of observations and learnings, observation first."""
    found = []
    if pair.observation is not None:
        found.append(("observations.jsonl", (pair.epochs[1], pair.observation.place.offset)))
    found.extend(("learning.jsonl", (pair.epochs[2], item.place.offset)) for item in pair.learnings)
    return found


def pairs(journal: Journal) -> tuple[Pair, ...]:
    """Every kept pair, oldest first."""
    return _pairs_only(journal)


@lru_cache(maxsize=64)
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
