"""The list keeps its cursor on an id and its rows in place, whatever the feed does (CRAFT C6, C7; SCREENS §1.3)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.console.widgets.keyed_rows import Item, KeyedRows


def items(*keys: str) -> list[Item]:
    """Selectable rows with these ids."""
    return [Item(key, key.upper()) for key in keys]


feeds = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10), min_size=1, max_size=12)


@given(feeds, st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_the_cursor_stays_on_its_id_until_the_row_is_gone(orders: list[list[str]], start: int) -> None:
    """Not held: rows move as the feed says and the cursor goes with its row (C6)."""
    rows = KeyedRows()
    rows.feed(items(*orders[0]))
    rows.move(start)
    for order in orders[1:]:
        before = rows.cursor
        rows.feed(items(*order))
        assert [item.key for item in rows.items] == order
        assert rows.cursor == (before if before in order else None)


@given(feeds, st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_a_held_list_never_moves_adds_or_drops_a_row(orders: list[list[str]], start: int) -> None:
    """Held: places stay, what left is marked, what arrived is counted and waits (SCREENS §1.3)."""
    rows = KeyedRows()
    rows.feed(items(*orders[0]))
    rows.move(start)
    cursor = rows.cursor
    rows.hold()
    for order in orders[1:]:
        rows.feed(items(*order))
        assert [item.key for item in rows.items] == orders[0]
        assert [item.key for item in rows.items if item.gone] == [key for key in orders[0] if key not in order]
        assert rows.newer == len(set(order) - set(orders[0]))
        assert rows.cursor == cursor
    rows.release()
    assert [item.key for item in rows.items] == orders[-1]
    assert rows.newer == 0


def test_a_row_that_left_while_held_shows_what_became_of_it() -> None:
    """The winner's words take the place of the ask."""
    rows = KeyedRows()
    rows.feed(items("a", "b"))
    rows.move(1)
    rows.hold()
    rows.feed(items("b"), lambda item: f"{item.key} approved by ana")
    assert rows.items[0].value == "a approved by ana"
    assert rows.items[0].gone


def test_taking_in_newer_rows_keeps_holding() -> None:
    """The operator asked once; the next arrival waits again."""
    rows = KeyedRows()
    rows.feed(items("a"))
    rows.move(1)
    rows.hold()
    rows.feed(items("b", "a"))
    rows.take_in()
    assert [item.key for item in rows.items] == ["b", "a"]
    assert rows.cursor == "a"
    rows.feed(items("c", "b", "a"))
    assert rows.newer == 1


def test_the_cursor_passes_over_headings_and_requests_that_wait_for_another() -> None:
    """Only selectable rows are entered."""
    rows = KeyedRows()
    rows.feed([Item("h", 0, selectable=False), Item("a", 1), Item("w", 2, selectable=False), Item("b", 3)])
    rows.move(1)
    assert rows.cursor == "a"
    rows.move(1)
    assert rows.cursor == "b"
    assert not rows.put_cursor("w")


def test_after_its_row_left_the_cursor_goes_on_from_the_same_place() -> None:
    """Deciding the second of three and going on leads to the third, not to the first."""
    rows = KeyedRows()
    rows.feed(items("a", "b", "c"))
    rows.move(1)
    rows.move(1)
    rows.feed(items("a", "c"))
    assert rows.cursor is None
    rows.move(1)
    assert rows.cursor == "c"


def test_equal_ids_are_all_shown() -> None:
    """Ids come from data: a doubled, empty or huge one loses nothing (C18)."""
    rows = KeyedRows()
    rows.feed(items("a", "a", "", "", "x" * 10_000))
    assert len(rows.items) == 5
    assert len({item.key for item in rows.items}) == 5
