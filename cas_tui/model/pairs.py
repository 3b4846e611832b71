"""Joining predictions, observations and learnings: which record speaks of which act.

Records belong together by (session, run nonce, action id), and within that by their place in their file (ordinal). A
repeated id is a conflict that is shown, never merged (SAFETY A16); an observation that has no prediction yet waits
(A17). Nothing here depends on the order in which the records arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.journal import Learning, Observation, Prediction, Record
from cas_tui.protocol.ops import KINDS, OpClass

Key = tuple[str, str | None, str]
"""(session_id, run_nonce, action_id)."""

KEPT_PER_GROUP = 50
"""Newest records of one kind kept under one key; more of them are a conflict already shown."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A record and the `epoch` of its file: how often that file had been rewritten before this was read."""

    epoch: int
    record: Record

    @property
    def order(self) -> tuple[int, int]:
        """The place in its file, over all of the file's lives."""
        return (self.epoch, self.record.place.offset)


@dataclass(frozen=True, slots=True)
class Pair:
    """One act: what was said, what came, what was learned; any of them may be missing.

    `conflict` says, in our words, why the joining is not certain; such a pair never counts as right.
    """

    key: Key
    ordinal: int
    prediction: Prediction | None = None
    observation: Observation | None = None
    learnings: tuple[Learning, ...] = ()
    conflict: str = ""
    epochs: tuple[int, int, int] = (0, 0, 0)
    """Of the prediction, the observation and the first learning."""
    plain: bool = False
    """An act that went as expected, with nothing odd about any of its records: what a stream may fold away."""

    @property
    def action_id(self) -> str:
        return self.key[2]

    @property
    def session_id(self) -> str:
        return self.key[0]

    @property
    def records(self) -> tuple[Record, ...]:
        """Everything joined here, in the order of the loop."""
        if self.prediction is None:
            return self.learnings if self.observation is None else (self.observation, *self.learnings)
        if self.observation is None:
            return (self.prediction, *self.learnings)
        return (self.prediction, self.observation, *self.learnings)

    @property
    def _first(self) -> Record:
        return self.prediction or self.observation or self.learnings[0]

    @property
    def agent(self) -> str:
        """Who acted, from the first record there is."""
        return self._first.agent

    @property
    def operator(self) -> bool:
        """Whether this is an operator's own act, which counts in nobody's calibration (PROTOCOL §5.5)."""
        return self.agent.startswith("operator:")

    @property
    def timestamp(self) -> str:
        """The claimed instant of the first record there is."""
        return self._first.timestamp

    @property
    def open(self) -> bool:
        """Whether an agent predicted and nothing came yet."""
        return self.prediction is not None and self.observation is None

    @property
    def executed(self) -> bool:
        """Whether the act ran, as far as the records say (an `outcome` other than executed never did)."""
        return self.observation is not None and self.observation.outcome == "executed"

    @property
    def judged(self) -> bool:
        """Whether this counts as right or wrong: predicted, executed, an agent's (SAFETY A16-A18).

        A confidence outside 0..1 keeps a pair out; so does a conflict, unless the verdict is against the agent.
        """
        if self.prediction is None or self.observation is None or not self.executed or self.operator:
            return False
        if self.prediction.confidence is None:
            return False
        return not self.conflict or not self.observation.matched

    @property
    def right(self) -> bool:
        """Whether this counts as right."""
        return self.judged and self.observation is not None and self.observation.matched

    @property
    def mismatched(self) -> bool:
        """Whether an agent's executed act came out differently."""
        return self.observation is not None and self.executed and not self.operator and not self.observation.matched

    @property
    def act_kind(self) -> str:
        """The first word of the action, where op kinds stand; empty when there is none."""
        if self.prediction is None:
            return ""
        words = self.prediction.action.split(maxsplit=1)
        return words[0].rstrip(":,") if words else ""

    @property
    def consequential(self) -> bool:
        """Whether the prediction is of an act that changes something: anything but an op known only to look."""
        spec = KINDS.get(self.act_kind)
        return self.prediction is not None and (spec is None or spec.op_class is not OpClass.OBSERVE)

    @property
    def latency_s(self) -> float | None:
        """From prediction to observation, in seconds, as claimed; None when it cannot be told."""
        if self.prediction is None or self.observation is None:
            return None
        said, came = parse_timestamp(self.prediction.timestamp), parse_timestamp(self.observation.timestamp)
        if said is None or came is None or came < said:
            return None
        return (came - said).total_seconds()


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of acts. Operators' own acts are in none of them."""

    acts: int = 0
    judged: int = 0
    right: int = 0
    mismatched: int = 0
    unrated: int = 0
    """Acts left out of `judged` because their confidence is not a number from 0 to 1 (SAFETY A18)."""

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.acts + other.acts,
            self.judged + other.judged,
            self.right + other.right,
            self.mismatched + other.mismatched,
            self.unrated + other.unrated,
        )

    def minus(self, other: Tally) -> Tally:
        """Without the other's."""
        return Tally(
            self.acts - other.acts,
            self.judged - other.judged,
            self.right - other.right,
            self.mismatched - other.mismatched,
            self.unrated - other.unrated,
        )


NOTHING: Final = Tally()


@dataclass(frozen=True, slots=True)
class Group:
    """Every record under one key, each kind in file order, and what they come to. Made by `add`.

    `size` is in bytes of lines; `open` says whether an agent's prediction here was not observed.
    """

    key: Key
    predictions: tuple[Kept, ...] = ()
    observations: tuple[Kept, ...] = ()
    learnings: tuple[Kept, ...] = ()
    dropped: int = 0
    pairs: tuple[Pair, ...] = ()
    size: int = 0
    tally: Tally = NOTHING
    open: bool = False


def key_of(record: Record) -> Key:
    """What a record is joined by."""
    return (record.session_id, record.run_nonce, record.action_id)


def add(group: Group, record: Record, epoch: int) -> Group:
    """The group with one more record. The same record from the same place changes nothing."""
    predictions, observations, learnings = group.predictions, group.observations, group.learnings
    if isinstance(record, Prediction):
        predictions, dropped = _placed(old := predictions, Kept(epoch, record))
        unchanged = predictions is old
    elif isinstance(record, Observation):
        observations, dropped = _placed(old := observations, Kept(epoch, record))
        unchanged = observations is old
    else:
        learnings, dropped = _placed(old := learnings, Kept(epoch, record))
        unchanged = learnings is old
    if unchanged:
        return group
    pairs = _pairs(group.key, predictions, observations, learnings)
    size = group.size + record.place.length
    if dropped or len(predictions) + len(observations) + len(learnings) > 3:
        size = sum(item.record.place.length for item in (*predictions, *observations, *learnings))
    tally = NOTHING
    open_ = False
    for pair in pairs:
        if not pair.operator:
            tally = _tallied(tally, pair)
            open_ = open_ or pair.open
    return Group(group.key, predictions, observations, learnings, group.dropped + dropped, pairs, size, tally, open_)


def _tallied(tally: Tally, pair: Pair) -> Tally:
    if not pair.executed:
        return tally
    unrated = pair.prediction is not None and pair.prediction.confidence is None
    return tally.plus(Tally(1, int(pair.judged), int(pair.right), int(pair.mismatched), int(unrated)))


def _placed(kept: tuple[Kept, ...], new: Kept) -> tuple[tuple[Kept, ...], int]:
    if not kept:
        return (new,), 0
    rest = []
    for old in kept:
        if old.epoch == new.epoch and old.record == new.record:
            return kept, 0
        if old.epoch != new.epoch and old.record.raw == new.record.raw and new.record.raw:
            # The file was rewritten around an unchanged line: the newer copy stands for both.
            if old.epoch > new.epoch:
                return kept, 0
            continue
        rest.append(old)
    rest.append(new)
    rest.sort(key=lambda item: item.order)
    over = max(0, len(rest) - KEPT_PER_GROUP)
    return tuple(rest[over:]), over


def _pairs(
    key: Key, predictions: tuple[Kept, ...], observations: tuple[Kept, ...], learnings: tuple[Kept, ...]
) -> tuple[Pair, ...]:
    acts = max(len(predictions), len(observations))
    if acts == 0:
        return (_pair(key, 0, None, None, learnings, ""),)
    conflict = _conflict(predictions, observations)
    pairs = []
    for ordinal, (said, came) in enumerate(zip_longest(predictions, observations)):
        # An act may teach more than once: what is left over belongs to the last act under this id.
        last = ordinal == acts - 1
        mine = learnings[ordinal:] if last else learnings[ordinal : ordinal + 1]
        pairs.append(_pair(key, ordinal, said, came, mine, conflict))
    return tuple(pairs)


def _pair(
    key: Key, ordinal: int, said: Kept | None, came: Kept | None, learned: tuple[Kept, ...], conflict: str
) -> Pair:
    prediction = said.record if said is not None and isinstance(said.record, Prediction) else None
    observation = came.record if came is not None and isinstance(came.record, Observation) else None
    learnings = tuple(item.record for item in learned if isinstance(item.record, Learning))
    plain = (
        prediction is not None
        and observation is not None
        and observation.matched
        and observation.outcome == "executed"
        and not (conflict or prediction.flags or observation.flags or any(item.flags for item in learnings))
    )
    epochs = (said.epoch if said else 0, came.epoch if came else 0, learned[0].epoch if learned else 0)
    return Pair(key, ordinal, prediction, observation, learnings, conflict, epochs, plain)


def _conflict(predictions: tuple[Kept, ...], observations: tuple[Kept, ...]) -> str:
    for name, kept in (("predicted", predictions), ("observed", observations)):
        if len(kept) > 1:
            same = all(item.record.raw == kept[0].record.raw for item in kept)
            return f"id {name} {len(kept)} times, {'the same text' if same else 'different texts'}"
    return ""
