"""Lines and records: what is cut out of a journal does not depend on when it was looked at (A01, A02, C32)."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from sources_kit import Root, bad, detail, ids, line, lines, said

from cas_tui.protocol.decode import MAX_LINE_BYTES
from cas_tui.protocol.events import RecordsRead
from cas_tui.sources.cursor import TOO_LONG
from cas_tui.sources.lines import Line, LineCutter

valid = st.integers(0, 50).map(line)
odd = st.sampled_from(
    [b"\n", b"{}\n", b"not json\n", b'{"a":"\xe2\x80\xa8"}\r\n', b"\x00\x00\n", b"\xff\xfe\n", b"[1\n"]
)
journals = st.lists(valid | odd, min_size=1, max_size=8).map(b"".join)


def everything(events: list[object]) -> list[object]:
    parts = [event for event in events if isinstance(event, RecordsRead)]
    return [(part.records, part.malformed) for part in parts if part.records or part.malformed]


def merged(events: list[object]) -> tuple[list[object], list[object]]:
    parts = [event for event in events if isinstance(event, RecordsRead)]
    return [r for part in parts for r in part.records], [m for part in parts for m in part.malformed]


@given(journal=journals, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_journal_cut_at_any_byte_and_completed_gives_the_same_records(journal: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(journal)))
    with tempfile.TemporaryDirectory() as name:
        whole = Root(Path(name))
        whole.file.write_bytes(journal)
        wanted = merged(whole.open())
        whole.file.unlink()
        torn = Root(Path(name))
        torn.file.write_bytes(journal[:cut])
        events = torn.open()
        torn.append(journal[cut:])
        assert merged(events + torn.look()) == wanted
        torn.tail.close()
        whole.tail.close()


@given(journal=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=5), limit=st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_pieces_do_not_change_what_is_cut(journal: bytes, cuts: list[int], limit: int) -> None:
    at_once = LineCutter(0, limit=limit)
    wanted = at_once.feed(journal)
    in_pieces = LineCutter(0, limit=limit)
    found: list[Line] = []
    places = sorted({0, *(cut for cut in cuts if cut <= len(journal)), len(journal)})
    for start, end in itertools.pairwise(places):
        found += in_pieces.feed(journal[start:end])
    key = [(one.offset, one.oversize, one.raw[:limit]) for one in found]
    assert key == [(one.offset, one.oversize, one.raw[:limit]) for one in wanted]
    assert (in_pieces.position, in_pieces.held) == (at_once.position, at_once.held)


def test_an_unfinished_last_line_is_in_progress_and_not_an_error(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(line(1) + line(2)[:-10])
    events = root.open()
    assert ids(events) == ["a1"] and bad(events) == [] and said(events) == ["live"]
    assert detail(events) == f"an unfinished last line of {len(line(2)) - 10} bytes"
    root.append(line(2)[-10:])
    events = root.look()
    assert ids(events) == ["a2"]
    assert (said(events), detail(events)) == (["live"], "")


def test_a_torn_line_glued_to_the_next_is_set_aside_with_its_offset(tmp_path: Path) -> None:
    """A02, D2: what lies between two newlines is one line; reading goes on at the next newline."""
    root = Root(tmp_path)
    root.file.write_bytes(line(1))
    root.open()
    root.append(line(2)[:20] + line(3) + line(4))
    events = root.look()
    assert ids(events) == ["a4"]
    assert [item.offset for item in bad(events)] == [len(line(1))]


def test_a_hole_of_nul_bytes_is_set_aside(tmp_path: Path) -> None:
    """A03."""
    root = Root(tmp_path)
    root.file.write_bytes(line(1) + b"\x00" * 4096)
    assert ids(root.open()) == ["a1"]
    root.append(line(2) + line(3))
    events = root.look()
    assert ids(events) == ["a3"] and "hole" in bad(events)[0].reason


def test_a_line_of_five_megabytes_is_skipped_with_one_row_and_little_memory(tmp_path: Path) -> None:
    """A09: the row appears as soon as the line is too long, not only at its end."""
    root = Root(tmp_path)
    root.file.write_bytes(line(1))
    root.open()
    root.append(b"y" * (MAX_LINE_BYTES + 1))
    early = root.look()
    assert [(item.offset, item.reason, len(item.excerpt)) for item in bad(early)] == [(len(line(1)), TOO_LONG, 4096)]
    root.append(b"y" * (4 << 20) + b"\n" + line(2))
    events = root.look()
    assert bad(events) == [] and ids(events) == ["a2"]


def test_a_slice_is_bounded(tmp_path: Path) -> None:
    """C16: one look reads at most a slice of new bytes, and says that it is behind."""
    root = Root(tmp_path)
    root.file.write_bytes(b"")
    root.open()
    root.append(lines(0, 4000))
    root.folder.refresh()
    events = list(root.tail.more())
    assert root.tail.behind and 0 < len(ids(events)) < 4000
    assert ids(events) + ids(root.look()) == [f"a{n}" for n in range(4000)]


def test_twenty_thousand_records_come_once_each_and_in_order(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(b"")
    found = ids(root.open())
    for start in range(0, 20_000, 5_000):
        root.append(lines(start, start + 5_000))
        found += ids(root.look())
    assert found == [f"a{n}" for n in range(20_000)]


def test_places_name_file_offset_and_length(tmp_path: Path) -> None:
    """D9: every record can be found again by its place."""
    root = Root(tmp_path)
    root.file.write_bytes(lines(0, 1000))
    events = root.open()
    root.append(lines(1000, 1010))
    whole = root.file.read_bytes()
    records, _ = merged(events + root.look())
    assert len(records) > 100
    for record in records:
        place = record.place
        assert f'"{record.action_id}"'.encode() in whole[place.offset : place.offset + place.length]
        assert whole[place.offset + place.length : place.offset + place.length + 1] == b"\n"


def test_only_the_newest_page_is_read_at_opening(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(lines(0, 20_000))
    events = root.open()
    status, records = events
    assert records.history and records.records[-1].action_id == "a19999"
    assert status.unread_before == records.records[0].place.offset > 0
    assert root.tail.bytes_read < 80_000


def test_a_page_that_begins_exactly_at_a_line_loses_nothing(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(lines(0, 10))
    size = len(line(9))
    root.folder.refresh()
    assert ids(root.tail.newest(limit=3 * size)) == ["a7", "a8", "a9"]


def test_a_newest_record_longer_than_a_page_is_found(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(lines(0, 3) + line(3, pad=300_000))
    assert ids(root.open())[-1] == "a3"


def test_a_newest_record_in_progress_and_longer_than_a_page_is_found_when_it_ends(tmp_path: Path) -> None:
    root = Root(tmp_path)
    long = line(3, pad=300_000)
    root.file.write_bytes(lines(0, 3) + long[:200_000])
    assert ids(root.open()) == ["a0", "a1", "a2"]
    root.append(long[200_000:])
    assert ids(root.look()) == ["a3"]


def test_opening_inside_an_endless_line_says_so_and_reads_on_after_it(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(line(1) + b"z" * (3 << 20))
    events = root.open()
    assert ids(events) == [] and [item.reason for item in bad(events)] == [TOO_LONG]
    root.append(b"\n" + line(2))
    assert ids(root.look()) == ["a2"]


def history(root: Root, before: int, limit: int) -> tuple[list[str], list[int]]:
    """Everything before an offset, paged backwards; the action_ids in file order, and offsets of bad lines."""
    found: list[str] = []
    faults: list[int] = []
    while before > 0:
        page = root.tail.older(before, limit)
        assert page.start < before
        found = [record.action_id for record in page.records] + found
        faults = [item.offset for item in page.malformed] + faults
        before = page.start
    return found, faults


def test_history_pages_backwards_to_the_first_record(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(lines(0, 5000))
    status, records = root.open()
    found, faults = history(root, status.unread_before, 65536)
    assert found + ids([records]) == [f"a{n}" for n in range(5000)] and faults == []


def test_history_steps_over_a_line_that_is_too_long(tmp_path: Path) -> None:
    root = Root(tmp_path)
    root.file.write_bytes(lines(0, 5) + b"q" * (5 << 20) + b"\n" + lines(5, 1000))
    status, records = root.open()
    found, faults = history(root, status.unread_before, 65536)
    assert found + ids([records]) == [f"a{n}" for n in range(1000)]
    assert faults == [len(lines(0, 5))]


@given(journal=journals, limit=st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_newest_and_history_together_are_the_whole_file(journal: bytes, limit: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole = Root(Path(name))
        whole.file.write_bytes(journal)
        wanted = merged(whole.open())
        paged = Root(Path(name))
        paged.folder.refresh()
        events = list(paged.tail.newest(limit=limit))
        records, malformed = merged(events)
        before = events[0].unread_before
        while before > 0:
            page = paged.tail.older(before, limit)
            records, malformed = [*page.records, *records], [*page.malformed, *malformed]
            before = page.start
        assert (records, malformed) == wanted
