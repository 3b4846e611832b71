"""What a list shows and where its cursor is, by id and never by place (CRAFT C6, C7). Pure: it draws nothing.

While it is held, rows keep their places: arrivals wait, rows that left the feed stay, marked as gone, until it is
released (SCREENS §1.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Item:
    """One row: an id, what is drawn of it, whether the cursor may stand on it, whether the feed still has it."""

    key: str
    value: object
    selectable: bool = True
    gone: bool = False


Settle = Callable[[Item], object]
"""What to draw in place of a row that left the feed while it was held."""


class KeyedRows:
    """The rows of one list, its cursor, and what waits behind it."""

    def __init__(self) -> None:
        self.items: tuple[Item, ...] = ()
        self.cursor: str | None = None
        self.held = False
        self._feed: tuple[Item, ...] = ()
        self._index: dict[str, int] = {}
        self._last_place = -1

    def feed(self, items: Sequence[Item], settle: Settle = lambda item: item.value) -> None:
        """Take the newest rows. Ids that occur twice are told apart by their occurrence, so none is lost."""
        self._feed = _distinct(items)
        if not self.held:
            self._show(self._feed)
            return
        fresh = {item.key: item for item in self._feed}
        kept = []
        for item in self.items:
            newer = fresh.get(item.key)
            if newer is not None:
                kept.append(newer)
            elif item.gone or not item.selectable:
                kept.append(item)
            else:
                kept.append(replace(item, value=settle(item), gone=True))
        self._show(tuple(kept))

    @property
    def newer(self) -> int:
        """How many selectable rows of the feed wait to be taken in."""
        return sum(1 for item in self._feed if item.selectable and item.key not in self._index)

    def hold(self) -> None:
        """From now on rows keep their places."""
        self.held = True

    def release(self) -> None:
        """Show the feed as it is, and follow it."""
        self.held = False
        self._show(self._feed)

    def take_in(self) -> None:
        """Show the feed as it is, and go on holding if held."""
        self._show(self._feed)

    def place(self, key: str | None) -> int | None:
        """Where a row stands now."""
        return None if key is None else self._index.get(key)

    @property
    def current(self) -> Item | None:
        """The row under the cursor."""
        place = self.place(self.cursor)
        return None if place is None else self.items[place]

    def put_cursor(self, key: str | None) -> bool:
        """Put the cursor on a row by id. False when there is no such selectable row."""
        place = self.place(key)
        if place is None or not self.items[place].selectable:
            return False
        self.cursor, self._last_place = key, place
        return True

    def move(self, step: int) -> bool:
        """Move over `step` selectable rows, stopping at the ends. Without a cursor the first one is entered."""
        places = [place for place, item in enumerate(self.items) if item.selectable]
        if not places:
            return False
        here = self.place(self.cursor)
        if here is None:
            # The row under the cursor left: go on from where it stood.
            after = [place for place in places if place >= self._last_place] if self._last_place >= 0 else places
            target = (after or places[-1:])[0] if step > 0 else places[0]
        else:
            target = places[max(0, min(len(places) - 1, places.index(here) + step))]
        return self.items[target].key != self.cursor and self.put_cursor(self.items[target].key)

    def _show(self, items: tuple[Item, ...]) -> None:
        here = self.place(self.cursor)
        if here is not None:
            self._last_place = here
        self.items = items
        self._index = {item.key: place for place, item in enumerate(items)}
        if self.cursor is not None and self.cursor not in self._index:
            self.cursor = None


def _distinct(items: Sequence[Item]) -> tuple[Item, ...]:
    seen: dict[str, int] = {}
    result = []
    for item in items:
        count = seen.get(item.key, 0)
        seen[item.key] = count + 1
        result.append(replace(item, key=f"{item.key}\x00{count}") if count else item)
    return tuple(result)
