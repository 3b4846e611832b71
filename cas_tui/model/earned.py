"""Earned confidence: how often an agent was right when it said what it says now (CONSOLE §3.2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cas_tui.model.pairs import Pair

ENOUGH = 10
"""Fewer judged pairs than this are no record."""
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Record:
    """`right` of `judged`, with the 95 % Wilson interval as shares."""

    right: int
    judged: int

    @property
    def enough(self) -> bool:
        """Whether it is a record at all."""
        return self.judged >= ENOUGH

    @property
    def interval(self) -> tuple[float, float]:
        """The share's 95 % interval."""
        return wilson(self.right, self.judged)

    @property
    def words(self) -> str:
        """`right 17 of 18 (74-99 %)`, or `no record`."""
        if not self.enough:
            return "no record"
        low, high = self.interval
        return f"right {self.right} of {self.judged} ({round(low * 100)}-{round(high * 100)} %)"


def wilson(right: int, judged: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share; (0, 1) of nothing."""
    if judged <= 0:
        return (0.0, 1.0)
    share, square = right / judged, _Z * _Z
    middle = (share + square / (2 * judged)) / (1 + square / judged)
    half = _Z / (1 + square / judged) * math.sqrt(share * (1 - share) / judged + square / (4 * judged * judged))
    return (max(0.0, middle - half), min(1.0, middle + half))


def band(confidence: float) -> tuple[float, float]:
    """The band a stated confidence falls into, ten points wide around the next ten: 0.92 → 0.85 to 0.95."""
    middle = math.floor(confidence * 10 + 0.5) / 10
    return (max(0.0, round(middle - 0.05, 2)), min(1.0, round(middle + 0.05, 2)))


def earned(
    pairs: Iterable[Pair],
    agent: str,
    kind: str,
    within: tuple[float, float] | None = None,
    kinds: Mapping[tuple[str, str], str] | None = None,
) -> Record:
    """How often `agent` was right with acts of `kind`, at any confidence or within one band.

    `kinds` gives the op kind of acts known to the ledger, (session, action_id) → kind; of the others it is the first
    word of what they said they would do.
    """
    known = kinds or {}
    right = judged = 0
    for pair in pairs:
        said = pair.prediction
        if said is None or said.agent != agent or not pair.judged:
            continue
        if known.get((pair.session_id, pair.action_id), pair.act_kind) != kind:
            continue
        if within is not None and (said.confidence is None or band(said.confidence) != within):
            continue
        judged += 1
        right += pair.right
    return Record(right, judged)
