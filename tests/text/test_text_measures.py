"""Cutting, wrapping and filling by cells, quoting, and the few words for ages and counts."""

from __future__ import annotations

import time

import pytest
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui import text

SHOWN = st.one_of(st.text(max_size=60), st.sampled_from([value for _, value in HOSTILE])).map(text.line)


@given(SHOWN, st.integers(-1, 30))
@settings(max_examples=300)
def test_a_clip_fits_and_says_so(shown: str, width: int) -> None:
    """C5: never wider than asked; the same text when it fits, else its beginning and three dots."""
    cut = text.clip(shown, width)
    assert text.cells(cut) <= max(width, 0)
    if text.cells(shown) <= width:
        assert cut == shown
    elif width > 3:
        assert cut.endswith("...") and shown.startswith(cut[:-3])
        assert text.cells(cut) >= width - 2


@given(SHOWN, st.integers(-1, 30))
@settings(max_examples=300)
def test_wrapped_rows_join_to_the_text(shown: str, width: int) -> None:
    """E4: no row is wider than asked (two at least) and nothing is lost between rows."""
    rows = text.wrap(shown, width)
    assert "".join(rows) == shown
    assert all(text.cells(row) <= max(width, 2) for row in rows)
    assert len(rows) == 1 or all(rows)


def test_a_mark_is_not_torn_when_it_fits_a_row() -> None:
    """A mark is read whole: it goes to the next row, in both spellings."""
    assert text.wrap("abcd⟨ESC⟩x", 6) == ("abcd", "⟨ESC⟩x")
    assert text.wrap(r"abcd\<ESC>x", 7) == ("abcd", r"\<ESC>x")


@given(SHOWN, st.integers(0, 40))
@settings(max_examples=200)
def test_padding_is_exact(shown: str, width: int) -> None:
    """T6: a padded cell is exactly as wide as its column, at either side."""
    assert text.cells(text.pad(shown, width)) == width
    assert text.cells(text.pad(shown, width, "right")) == width


@given(st.text(max_size=60), st.integers(0, 30))
@settings(max_examples=200)
def test_a_limit_is_a_clip(value: str, width: int) -> None:
    """A limit gives the same as clipping the whole line."""
    assert text.line(value, limit_cells=width) == text.clip(text.line(value), width)
    raw = value.encode("utf-8", "surrogatepass")
    assert text.line(raw, limit_cells=width) == text.clip(text.line(raw), width)


@pytest.mark.parametrize(
    "value", ["x" * 5_000_000, "\u202e" * 1_000_000, b"\xff" * 5_000_000, "a" + "\u0301" * 2_000_000]
)
def test_a_huge_line_costs_what_is_shown_of_it(value: str | bytes) -> None:
    """C5, E15: the first cells of a line of megabytes are there at once."""
    start = time.process_time()
    shown = text.line(value, limit_cells=80)
    assert time.process_time() - start < 0.1
    assert text.cells(shown) <= 80


@given(st.text('ab"\\ ⟨\x1b', max_size=12), st.text('ab"\\ ⟨\x1b', max_size=12))
@settings(max_examples=300)
def test_quotes_cannot_be_closed_from_inside(one: str, other: str) -> None:
    """T6: what stands between the quotes has no bare quote in it, and different texts are quoted differently."""
    quoted = text.quote(one)
    inner = quoted[1:-1]
    assert quoted[0] == quoted[-1] == '"'
    assert '"' not in inner.replace("\\\\", "").replace('\\"', "")
    if one != other:
        assert quoted != text.quote(other)


@given(st.text('ab"\\', max_size=30), st.integers(2, 20))
@settings(max_examples=200)
def test_a_clipped_quote_stays_closed(value: str, width: int) -> None:
    """T6: cutting between the quotes fits the limit and leaves no escape hanging before the end."""
    quoted = text.quote(value, limit_cells=width)
    assert text.cells(quoted) <= width
    inner = quoted[1:-1]
    if '"' in inner:
        assert '"' not in inner.replace("\\\\", "").replace('\\"', "")


def test_quotes_are_plain_where_they_can_be() -> None:
    """Ordinary text, backslashes and all, stands in quotes as it is."""
    assert text.quote("12 passed") == '"12 passed"'
    assert text.quote("C:\\temp\\x") == '"C:\\temp\\x"'
    assert text.quote('say "hi"') == '"say \\"hi\\""'
    assert text.quote("end\\") == '"end\\\\"'
    assert text.quote(None) == '""'
    assert text.quote("\x1b") == '"⟨ESC⟩"'


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"), (float("nan"), "-"), (float("inf"), "-"), (-5, "0s"), (0, "0s"), (0.9, "0s"), (59.9, "59s"),
        (60, "1m"), (3599, "59m"), (3600, "1h"), (47.9 * 3600, "47h"), (48 * 3600, "2d"), (400 * 86400, "400d"),
    ],
)  # fmt: skip
def test_an_age_has_one_unit(seconds: float | None, shown: str) -> None:
    """SCREENS §7: ages in one unit, rounded down."""
    assert text.age(seconds) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.25, "0.2s"), (9.99, "9.9s"), (10, "10s"), (61, "1m"), (None, "-")])
def test_a_short_span_has_a_tenth(seconds: float | None, shown: str) -> None:
    """Spans below ten seconds are shown to the tenth."""
    assert text.span(seconds) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(None, "-"), (0, "0 %"), (0.001, "1 %"), (0.7, "70 %"), (0.924, "92 %"), (0.999, "99 %"), (1, "100 %")],
)
def test_a_share_is_never_rounded_to_certainty(fraction: float | None, shown: str) -> None:
    """Only what is certain reads 100 %, only what is nothing reads 0 %."""
    assert text.percent(fraction) == shown


def test_counts_and_sizes_have_words() -> None:
    """One and many, bytes and multiples."""
    assert text.plural(1, "file") == "1 file" and text.plural(0, "file") == "0 files"
    assert text.plural(2, "reply", "replies") == "2 replies"
    assert [text.size(n) for n in (0, 1, 1023, 1024, 16384, 4_400_000, 1 << 31)] == [
        "0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "16 KiB", "4.2 MiB", "2.0 GiB",
    ]  # fmt: skip
