"""Which parts of a payload have been on screen, whatever the width was then: a set of intervals (SAFETY E4).

Places count the characters of the payload as it is shown, plus one for the end of each line, so that an empty line has
to be seen too and a new width does not forget what was seen at the old one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Intervals:
    """Half-open intervals of places, merged."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Mark the places from `start` up to `end`."""
        if end <= start:
            return
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def covers(self, start: int, end: int) -> bool:
        """Whether every place from `start` up to `end` is marked."""
        if end <= start:
            return True
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and self._ends[place] >= end

    def clear(self) -> None:
        """Forget everything."""
        self._starts.clear()
        self._ends.clear()

    def gaps(self, total: int) -> list[tuple[int, int]]:
        """What is not marked of the places from 0 up to `total`."""
        found, at = [], 0
        for start, end in zip(self._starts, self._ends, strict=True):
            if start >= total:
                break
            if start > at:
                found.append((at, start))
            at = max(at, end)
        if at < total:
            found.append((at, total))
        return found
