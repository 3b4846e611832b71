"""What can happen to a file's name, content and permission while it is followed (D7, B01-B06, B11)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from sources_kit import FILE, Root, bad, detail, ids, line, lines, said, unprivileged_folder

from cas_tui.sources import tail as tail_module


def opened(path: Path, content: bytes) -> Root:
    root = Root(path)
    root.file.write_bytes(content)
    root.open()
    return root


def test_rotation_reads_the_old_file_to_its_end_and_the_new_one_from_its_start(tmp_path: Path) -> None:
    """B02."""
    root = opened(tmp_path, lines(0, 3))
    root.append(lines(3, 5))
    root.file.rename(tmp_path / f"{FILE}.1")
    root.file.write_bytes(lines(5, 8))
    events = root.look()
    assert ids(events) == ["a3", "a4", "a5", "a6", "a7"]
    assert said(events) == ["live"] and "rotated" in detail(events)
    assert not any(getattr(event, "history", False) for event in events)


def test_a_long_file_is_rotated_without_loss(tmp_path: Path) -> None:
    """The rest of the old file may need many slices; the new one waits for it."""
    root = opened(tmp_path, b"")
    root.append(lines(0, 6000))
    root.look()
    root.append(lines(6000, 12_000))
    root.file.rename(tmp_path / "old")
    root.file.write_bytes(lines(12_000, 18_000))
    assert ids(root.look()) == [f"a{n}" for n in range(6000, 18_000)]


def test_a_writer_that_still_holds_the_renamed_file_is_heard(tmp_path: Path) -> None:
    root = opened(tmp_path, line(0))
    with root.file.open("ab") as late:
        root.file.rename(tmp_path / "old")
        root.file.write_bytes(line(10))
        assert ids(root.look()) == ["a10"]
        late.write(line(1))
        late.flush()
        assert ids(root.look()) == ["a1"]
    root.append(line(11))
    assert ids(root.look()) == ["a11"]


def test_a_gap_between_the_two_names_of_a_rotation_loses_nothing(tmp_path: Path) -> None:
    root = opened(tmp_path, line(0))
    with root.file.open("ab") as late:
        root.file.rename(tmp_path / "old")
        assert said(root.look()) == ["missing"]
        late.write(line(1))
        late.flush()
        assert ids(root.look()) == ["a1"]
    root.file.write_bytes(line(2))
    assert ids(root.look()) == ["a2"]


def test_a_line_that_rotation_cut_off_is_set_aside_when_the_old_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A01, D2: never glued to the first line of the new file."""
    monkeypatch.setattr(tail_module, "LINGER_LOOKS", 3)
    root = opened(tmp_path, line(0) + line(1)[:10])
    root.file.rename(tmp_path / "old")
    root.file.write_bytes(line(2))
    events = root.look()
    for _ in range(5):
        events += root.look()
    assert ids(events) == ["a2"]
    assert [item.offset for item in bad(events)] == [len(line(0))]


def test_compressed_rotation_reports_the_replacement_and_loses_nothing(tmp_path: Path) -> None:
    """B02: the old file is gone by the time of the look, but was held open."""
    root = opened(tmp_path, lines(0, 3))
    root.append(line(3))
    root.file.unlink()
    root.file.write_bytes(lines(4, 6))
    events = root.look()
    assert ids(events) == ["a3", "a4", "a5"] and said(events) == ["rewritten"]


def test_copy_and_truncate_reports_it_and_reads_all_that_is_new(tmp_path: Path) -> None:
    """B02."""
    root = opened(tmp_path, lines(0, 500))
    os.truncate(root.file, 0)
    events = root.look()
    assert said(events) == ["rewritten"] and "truncated" in detail(events)
    root.append(lines(500, 503))
    assert ids(root.look()) == ["a500", "a501", "a502"]


def test_truncation_that_grows_past_the_old_end_is_noticed(tmp_path: Path) -> None:
    """B01: the size alone would look like an append."""
    root = opened(tmp_path, lines(0, 3))
    root.file.write_bytes(lines(100, 110))
    events = root.look()
    assert said(events) == ["rewritten"]
    assert ids(events) == [f"a{n}" for n in range(100, 110)]


def test_an_edited_past_record_is_reported_and_the_newest_page_is_read_as_history(tmp_path: Path) -> None:
    """B04, edited in place, with a record appended in the same write."""
    content = lines(0, 10)
    root = opened(tmp_path, content)
    root.file.write_bytes(content.replace(b'"look"', b'"LOOK"', 1) + line(10))
    events = root.look()
    assert said(events) == ["rewritten"]
    assert ids(events) == [f"a{n}" for n in range(11)]
    assert all(getattr(event, "history", True) for event in events)


def test_an_edit_outside_both_windows_is_noticed_too(tmp_path: Path) -> None:
    """D7: only one byte in the middle of the part that was read, and no growth."""
    root = opened(tmp_path, b"")
    root.append(lines(0, 3000))
    root.look()
    with root.file.open("r+b") as file:
        file.seek(root.file.stat().st_size // 2)
        file.write(b"#")
    events = root.look()
    assert said(events) == ["rewritten"]


def test_an_edit_in_the_middle_hidden_by_an_append_is_noticed_in_turn(tmp_path: Path) -> None:
    root = opened(tmp_path, b"")
    root.append(lines(0, 3000))
    root.look()
    with root.file.open("r+b") as file:
        file.seek(root.file.stat().st_size // 2)
        file.write(b"#")
        file.seek(0, os.SEEK_END)
        file.write(line(3000))
    statuses: list[str] = []
    for number in range(3001, 3012):
        statuses += said(root.look())
        root.append(line(number))
    assert "rewritten" in statuses


def test_a_replacement_with_an_edited_past_is_reported_even_when_the_original_is_kept(tmp_path: Path) -> None:
    """B04: an editor renames the original to a backup and writes a new file; that is not a rotation."""
    content = lines(0, 10)
    root = opened(tmp_path, content)
    root.file.rename(tmp_path / f"{FILE}~")
    root.file.write_bytes(content.replace(b'"look"', b'"LOOK"', 1))
    events = root.look()
    assert said(events) == ["rewritten"] and "replaced" in detail(events)


def test_the_same_content_saved_anew_goes_on_without_a_word(tmp_path: Path) -> None:
    """B11: temp file and rename."""
    root = opened(tmp_path, lines(0, 10))
    (tmp_path / "new").write_bytes(lines(0, 12))
    (tmp_path / "new").rename(root.file)
    events = root.look()
    assert said(events) == [] and ids(events) == ["a10", "a11"]


def test_the_inode_is_held_so_a_new_file_cannot_take_its_number(tmp_path: Path) -> None:
    """B03."""
    root = opened(tmp_path, lines(0, 3))
    before = root.file.stat().st_ino
    root.file.unlink()
    root.file.write_bytes(lines(5, 8))
    assert root.file.stat().st_ino != before
    events = root.look()
    assert said(events) == ["rewritten"] and ids(events) == ["a5", "a6", "a7"]


def test_a_reused_inode_is_told_by_its_content(tmp_path: Path) -> None:
    """B03: deleted, seen missing and let go, then the same number for other content."""
    root = opened(tmp_path, lines(0, 3))
    root.file.unlink()
    assert said(root.look()) == ["missing"]
    root.file.write_bytes(lines(5, 9))
    events = root.look()
    assert said(events) == ["rewritten"] and ids(events) == ["a5", "a6", "a7", "a8"]


def test_a_file_deleted_and_put_back_goes_on(tmp_path: Path) -> None:
    root = opened(tmp_path, lines(0, 3))
    root.file.unlink()
    root.look()
    root.file.write_bytes(lines(0, 4))
    events = root.look()
    assert said(events) == ["live"] and ids(events) == ["a3"]


def test_a_file_that_comes_later_is_all_news(tmp_path: Path) -> None:
    root = Root(tmp_path)
    assert said(root.open()) == ["missing"] and root.look() == []
    root.file.write_bytes(lines(0, 2))
    events = root.look()
    assert said(events) == ["live"] and ids(events) == ["a0", "a1"]
    assert not events[-1].history


def test_an_unfinished_line_of_a_rewritten_file_is_set_aside(tmp_path: Path) -> None:
    root = opened(tmp_path, line(0) + b'{"half":')
    os.truncate(root.file, 0)
    root.append(line(7))
    events = root.look()
    assert ids(events) == ["a7"]
    assert [item.excerpt for item in bad(events)] == [b'{"half":']


def test_a_file_without_permission_is_unreadable_and_recovers_by_itself() -> None:
    """B05."""
    with unprivileged_folder() as folder:
        root = opened(folder, line(0))
        root.file.chmod(0)
        events = root.look()
        assert said(events) == ["unreadable"] and detail(events) == "permission denied"
        assert root.look() == []
        root.file.chmod(0o600)
        root.append(line(1))
        events = root.look()
        assert said(events) == ["live"] and ids(events) == ["a1"]


def test_a_file_without_permission_at_the_start_is_read_once_it_may_be() -> None:
    with unprivileged_folder() as folder:
        root = Root(folder)
        root.file.write_bytes(line(0))
        root.file.chmod(0)
        assert said(root.open()) == ["unreadable"]
        root.file.chmod(0o600)
        assert ids(root.look()) == ["a0"]


def test_a_root_without_permission_says_so_and_recovers() -> None:
    with unprivileged_folder() as folder:
        inner = folder / "memory"
        inner.mkdir()
        root = opened(inner, line(0))
        inner.chmod(0)
        assert said(root.look()) == ["unreadable"]
        inner.chmod(0o700)
        root.append(line(1))
        assert ids(root.look()) == ["a1"]


def test_a_link_that_leaves_the_root_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    """S1: decided by where the target lies, at every opening."""
    (tmp_path / "outside.jsonl").write_bytes(line(9))
    root = Root(tmp_path / "memory")
    (root.path / "logs").mkdir(parents=True)
    (root.path / "logs" / "p.jsonl").write_bytes(line(0))
    root.file.symlink_to("logs/p.jsonl")
    assert ids(root.open()) == ["a0"]
    root.file.unlink()
    root.file.symlink_to(tmp_path / "outside.jsonl")
    events = root.look()
    assert ids(events) == [] and said(events) == ["unreadable"]
    assert detail(events) == "a symbolic link out of the memory root, not followed"


def test_a_root_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    """B06."""
    memory = tmp_path / "memory"
    memory.mkdir()
    root = opened(memory, line(0))
    memory.rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / FILE).write_bytes(lines(0, 9))
    memory.symlink_to(tmp_path / "elsewhere")
    events = root.look()
    assert ids(events) == [] and said(events) == ["unreadable"] and "symbolic link" in detail(events)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_regular_file_is_unreadable_and_never_waited_for(tmp_path: Path, make) -> None:
    root = Root(tmp_path)
    make(root.file)
    events = root.open()
    assert said(events) == ["unreadable"] and detail(events) == "not a regular file"
    assert root.look() == []


class Changes(RuleBasedStateMachine):
    """D7: over any mix of appends, rotations, saves, deletions and looks, each record comes once.

    Every record is new, so nothing may come twice; and nothing may be lost, because each change is looked at before
    the next one destroys anything.
    """

    counter = 0

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.root = opened(Path(self.folder.name), b"")
        self.written: list[str] = []
        self.found: list[str] = []
        self.torn = b""

    def fresh(self, count: int) -> bytes:
        start = self.counter
        self.counter += count
        self.written += [f"a{n}" for n in range(start, self.counter)]
        return lines(start, self.counter)

    @rule(count=st.integers(0, 3))
    def append(self, count: int) -> None:
        self.root.append(self.torn)
        self.torn = b""
        self.root.append(self.fresh(count))

    @rule(cut=st.integers(1, 60))
    def append_in_part(self, cut: int) -> None:
        if not self.torn:
            data = self.fresh(1)
            self.root.append(data[:cut])
            self.torn = data[cut:]

    @rule(count=st.integers(0, 3), gap=st.booleans())
    def rotate(self, count: int, gap: bool) -> None:
        self.append(0)
        self.root.file.rename(self.root.path / f"old-{self.counter}")
        if gap:
            self.look()
        self.root.file.write_bytes(self.fresh(count))
        self.look()

    @rule(count=st.integers(0, 3))
    def save_anew(self, count: int) -> None:
        self.append(0)
        new = self.root.path / "new"
        new.write_bytes(self.root.file.read_bytes() + self.fresh(count))
        new.rename(self.root.file)
        self.look()

    @rule(count=st.integers(0, 3))
    def delete_and_recreate(self, count: int) -> None:
        self.append(0)
        self.root.file.unlink()
        self.root.file.write_bytes(self.fresh(count))
        self.look()

    @rule()
    def truncate(self) -> None:
        self.append(0)
        self.look()
        os.truncate(self.root.file, 0)

    @rule()
    def look(self) -> None:
        events = self.root.look()
        assert bad(events) == []
        self.found += ids(events)

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.append(0)
            self.look()
            assert sorted(self.found) == sorted(self.written)
            self.root.tail.close()
            self.root.folder.close()
            self.folder.cleanup()


Changes.TestCase.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
TestChanges = Changes.TestCase
