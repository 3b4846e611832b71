"""Did it learn? Four lamps from a mismatch to the citation of its lesson (CONSOLE §3.9).

mismatch → a lesson was written → the lesson stands in STATE → a later consequential prediction cites it. A lamp is
True, False, or None while it is not due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from cas_tui.model import journal as journals
from cas_tui.model.journal import Journal
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import RunPicture
from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.journal import CITABLE, Learning, bare_ref
from cas_tui.protocol.state import State

Lamps = tuple[bool | None, bool | None, bool | None, bool | None]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One citable lesson: what taught it, and how far it came."""

    pair: Pair
    learning: Learning
    lamps: Lamps
    cited_by: tuple[str, ...] = ()
    """action_ids of the consequential predictions that cite it, oldest first."""

    @property
    def ref(self) -> str:
        """The bare id or tool name in STATE."""
        return bare_ref(self.learning.persistent_ref)


def lesson_in_state(state: State, update_type: str, ref: str) -> bool | None:
    """Whether STATE holds what the lesson names; None for a type that has no place in STATE."""
    ref = bare_ref(ref)
    places: Mapping[str, tuple[str, ...]] = {
        "belief": tuple(item.id for item in state.beliefs),
        "policy": tuple(item.id for item in state.policies),
        "tool_model": tuple(item.name for item in state.tool_models),
        "uncertainty": tuple(item.id for item in state.uncertainties),
    }
    return ref in places[update_type] if update_type in places else None


@lru_cache(maxsize=64)
def _places(journal: Journal) -> Mapping[int, int]:
    return {id(pair): place for place, pair in enumerate(journals.pairs(journal))}


@lru_cache(maxsize=64)
def _consequential(journal: Journal) -> tuple[tuple[int, Pair], ...]:
    """(place, pair) of every consequential prediction of an agent."""
    return tuple(
        (place, pair) for place, pair in enumerate(journals.pairs(journal)) if pair.consequential and not pair.operator
    )


@lru_cache(maxsize=64)
def _citing(journal: Journal) -> Mapping[tuple[str, str], tuple[tuple[int, Pair], ...]]:
    """(type, bare ref) → (place, pair) of the predictions that cite it."""
    found: dict[tuple[str, str], list[tuple[int, Pair]]] = {}
    for place, pair in _consequential(journal):
        for kind, ref in pair.prediction.refs if pair.prediction else ():
            found.setdefault((kind, bare_ref(ref)), []).append((place, pair))
    return {key: tuple(value) for key, value in found.items()}


def _later(journal: Journal, pair: Pair, learning: Learning, others: tuple[tuple[int, Pair], ...]) -> list[Pair]:
    """Those of `others` that were predicted after the lesson: by place, and by claimed time where both have one.

    The prediction file alone does not tell whether a later line was written before the lesson, as those of one pass
    are written together; so a claimed time that is not later rules one out.
    """
    mine = _places(journal).get(id(pair), -1)
    taught = parse_timestamp(learning.timestamp)
    found = []
    for place, other in others:
        if place <= mine or other.prediction is None:
            continue
        said = parse_timestamp(other.prediction.timestamp)
        if taught is not None and said is not None and said < taught:
            continue
        found.append(other)
    return found


def lamps(run: RunPicture, pair: Pair) -> Lamps:
    """The four lamps of a pair's lesson; all None for a pair that taught nothing and missed nothing."""
    lesson = _teaching(pair)
    missed = pair.mismatched or (pair.observation is not None and pair.observation.outcome == "denied")
    if lesson is None:
        if not missed:
            return (None, None, None, None)
        return (True, False if pair.learnings else None, None, None)
    first = True if missed else None
    kept = lesson_in_state(run.state, lesson.update_type, lesson.persistent_ref) if run.state else None
    if lesson.update_type not in CITABLE:
        return (first, True, kept, None)
    return (first, True, kept, _cited(run.journal, pair, lesson))


def _cited(journal: Journal, pair: Pair, lesson: Learning) -> bool | None:
    wanted = (lesson.update_type, bare_ref(lesson.persistent_ref))
    if _later(journal, pair, lesson, _citing(journal).get(wanted, ())):
        return True
    return False if _later(journal, pair, lesson, _consequential(journal)) else None


def _teaching(pair: Pair) -> Learning | None:
    """The lesson of a pair: its last learning that changes something."""
    for learning in reversed(pair.learnings):
        if learning.update_type not in ("confirmation_no_update", "user_query"):
            return learning
    return None


def lessons(run: RunPicture) -> tuple[Lesson, ...]:
    """Every citable lesson the journal still has, newest first."""
    found = []
    for pair in reversed(journals.pairs(run.journal)):
        lesson = _teaching(pair)
        if lesson is None or lesson.update_type not in CITABLE or not lesson.persistent_ref:
            continue
        wanted = (lesson.update_type, bare_ref(lesson.persistent_ref))
        citing = _later(run.journal, pair, lesson, _citing(run.journal).get(wanted, ()))
        found.append(Lesson(pair, lesson, lamps(run, pair), tuple(item.action_id for item in citing)))
    return tuple(found)
