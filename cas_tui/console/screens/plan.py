"""Where every pane of the home screen stands at every size: one pure function (SCREENS §2 and §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

SMALLEST: Final = (80, 24)
LEFT_MEDIUM, LEFT_LARGE, RIGHT_LARGE, GAP = 34, 44, 52, 3


class Place(NamedTuple):
    """A rectangle of cells."""

    x: int
    y: int
    width: int
    height: int


def shape_of(width: int, height: int) -> str:
    """`large`, `medium`, `small`, or `tiny` when there is no room to decide in."""
    if width >= 200 and height >= 60:
        return "large"
    if width >= 120 and height >= 40:
        return "medium"
    if width >= SMALLEST[0] and height >= SMALLEST[1]:
        return "small"
    return "tiny"


def first_row(width: int) -> dict[str, Place]:
    """Row 1: the truth line and the clock; the clock ends one cell before the edge where there is room."""
    clock = 8 if width < 120 else 9
    return {"truth": Place(0, 0, width - clock, 1), "clock": Place(width - clock, 0, clock, 1)}


def plan(
    width: int, height: int, *, full: str = "", coach: bool = False, wants: Mapping[str, int] | None = None
) -> dict[str, Place]:
    """The place of each widget by id. What is not named is not shown.

    `full` is the pane that has the whole body; `wants` is how many rows each pane of a side column has to show.
    """
    shape = shape_of(width, height)
    places = {
        **first_row(width),
        "keys": Place(0, height - 2, width, 1),
        "health": Place(0, height - 1, width, 1),
    }
    foot = height - 2
    if coach:
        foot -= 1
        places["coach"] = Place(0, foot, width, 1)
    if shape == "small":
        places["fleet-row"] = Place(0, 1, width, 1)
    top = 2 if shape == "small" else 1
    if full:
        places[full] = Place(0, top, width, foot - top)
    elif shape == "small":
        places |= _small(width, foot)
    elif shape == "medium":
        places |= _medium(width, height, foot)
    elif shape == "large":
        places |= _large(width, height, foot, wants or {})
    return places


def _small(width: int, foot: int) -> dict[str, Place]:
    spare = max(0, foot - 22)
    queue = 10 + spare // 3
    stream = 3
    peek = foot - 2 - queue - stream
    return {
        "queue": Place(0, 2, width, queue),
        "peek": Place(0, 2 + queue, width, peek),
        "stream": Place(0, foot - stream, width, stream),
    }


def _medium(width: int, height: int, foot: int) -> dict[str, Place]:
    upper = 13 + max(0, height - 46) // 3
    stream = 5
    # One row of air before the keys; the coach line takes it when there is one.
    floor = height - 3
    return {
        "fleet": Place(0, 1, LEFT_MEDIUM, upper),
        "wall-left": Place(LEFT_MEDIUM, 1, GAP, upper),
        "queue": Place(LEFT_MEDIUM + GAP, 1, width - LEFT_MEDIUM - GAP, upper),
        "card": Place(0, 1 + upper, width, floor - stream - 1 - upper),
        "stream": Place(0, floor - stream, width, stream),
    }


def _large(width: int, height: int, foot: int, wants: Mapping[str, int]) -> dict[str, Place]:
    floor = height - 3
    body = floor - 1
    upper = 14 + max(0, height - 66) // 3
    middle = LEFT_LARGE + GAP
    right = width - RIGHT_LARGE
    places = {
        "fleet": Place(0, 1, LEFT_LARGE, upper),
        "wall-left": Place(LEFT_LARGE, 1, GAP, body),
        "queue": Place(middle, 1, right - GAP - middle, upper),
        "card": Place(middle, 1 + upper, right - GAP - middle, body - upper),
        "wall-right": Place(right - GAP, 1, GAP, body),
    }
    if foot == height - 2:
        places["floor"] = Place(0, floor, width, 1)
    places |= _stack(0, 1 + upper, LEFT_LARGE, body - upper, ("goals", "beliefs", "uncertainties"), wants)
    places |= _stack(right, 1, RIGHT_LARGE, body, ("stream", "citations", "obligations", "issues"), wants)
    return places


def _stack(
    x: int, y: int, width: int, height: int, names: tuple[str, ...], wants: Mapping[str, int]
) -> dict[str, Place]:
    """Panes one above the other, each as high as its rows and one of air; the last has the rest."""
    places = {}
    end = y + height
    for place, name in enumerate(names):
        behind = 3 * (len(names) - place - 1)
        wanted = 2 + max(1, wants.get(name, 1))
        room = max(3, end - y - behind)
        taken = room if place == len(names) - 1 else min(wanted, room)
        places[name] = Place(x, y, width, taken)
        y += taken
    return places
