"""A patch fits exactly, names one file, and is shown as what it will make (SAFETY group L, E2, E3, E4)."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.effects.difference import difference, foot, lines_of, text_flags
from cas_tui.effects.errors import Refused
from cas_tui.effects.patch import apply_patch, read_patch

BEFORE = b"one\ntwo\nthree\nfour\nfive\n"
HUNK = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
HEAD = "--- a/x\n+++ b/x\n"


def applied(text: str, before: bytes | None = BEFORE, path: str = "x") -> bytes | None:
    return apply_patch(read_patch(text, path), before)


def failure(text: str, before: bytes | None = BEFORE, path: str = "x") -> str:
    with pytest.raises(Refused) as caught:
        applied(text, before, path)
    return caught.value.reason


@pytest.mark.parametrize(
    "head",
    [
        "",
        HEAD,
        "--- x\n+++ x\n",
        "--- a/x\t2026-11-30\n+++ b/x\t2026-11-30\n",
        "diff --git a/x b/x\nindex 0123abc..4567def 100644\n--- a/x\n+++ b/x\n",
        '--- "a/x"\n+++ "b/x"\n',
        "--- a/./x\n+++ b/x\n",
    ],
)
def test_the_usual_headers_and_none_at_all_name_the_ops_file(head: str) -> None:
    assert applied(head + HUNK) == b"one\nTWO\nthree\nfour\nfive\n"


def test_a_path_that_begins_with_a_prefix_letter_is_taken_as_it_is() -> None:
    assert applied("--- a/x\n+++ a/x\n" + HUNK, path="a/x")
    assert applied("--- a/b/x\n+++ b/b/x\n" + HUNK, path="b/x")


def test_a_name_that_git_quotes_is_understood() -> None:
    text = '--- "a/caf\\303\\251 \\"x\\".md"\n+++ "b/caf\\303\\251 \\"x\\".md"\n' + HUNK
    assert applied(text, path='café "x".md')


@pytest.mark.parametrize(
    "head",
    [
        "--- a/x\n+++ b/y\n",
        "--- a/y\n+++ b/x\n",
        "--- a/../x\n+++ b/../x\n",
        "--- /x\n+++ /x\n",
        "--- a/.git/config\n+++ b/.git/config\n",
        "diff --git a/x b/y\n--- a/x\n+++ b/x\n",
        "diff --git a/y b/y\n--- a/x\n+++ b/x\n",
        "--- b/x\n+++ a/x\n",
    ],
)
def test_l01_l02_every_name_in_the_patch_is_the_ops_path(head: str) -> None:
    assert failure(head + HUNK).startswith("patch_failed: it")


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "changes a file mode"),
        ("diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n", "other than an ordinary file"),
        ("diff --git a/x b/x\nnew file mode 160000\n--- /dev/null\n+++ b/x\n", "other than an ordinary file"),
        ("diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n", "other than an ordinary file"),
        ("diff --git a/x b/x\nsimilarity index 100%\nrename from x\nrename to y\n", "renames"),
        ("diff --git a/x b/x\ncopy from x\ncopy to y\n", "copies"),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 0\n", "binary"),
        ("Binary files a/x and b/x differ\n", "binary"),
        ("Index: x\n=====\n" + HEAD, "belongs to no patch"),
        ("Prereq: 1\n" + HEAD, "belongs to no patch"),
        ("1d\n.\nw\nq\n", "belongs to no patch"),
        ("--- /dev/null\n+++ /dev/null\n", "both sides"),
        ("new file mode 100644\n" + HEAD, "contradict"),
        ("--- a/x\n", "needs one --- line"),
        ("", "needs one --- line"),
    ],
)
def test_l03_l06_what_is_not_a_plain_change_of_one_file_is_refused(head: str, words: str) -> None:
    """Mode, rename, copy, symlink, submodule, binary, ed style."""
    text = head + HUNK if head else "nothing"
    reason = failure(text)
    assert reason.startswith("patch_failed: ")
    assert words in reason or (not head and "belongs to no patch" in reason)


def test_l01_two_files_in_one_patch_are_refused() -> None:
    assert "file" in failure(HEAD + HUNK + "--- a/y\n+++ b/y\n" + HUNK)
    assert "file" in failure(HEAD + HUNK + HEAD + HUNK)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@@ -2,3 +2,3 @@\n one\n-two\n+TWO\n three\n", "does not match at line 2"),
        ("@@ -1,3 +1,3 @@\n one\n-two \n+TWO\n three\n", "does not match at line 2"),
        ("@@ -1,3 +1,3 @@\n one\n-two\r\n+TWO\n three\n", "line endings differ"),
        ("@@ -5,2 +5,2 @@\n five\n-six\n+SIX\n", "the file ends before it"),
        ("@@ -9,1 +9,1 @@\n-x\n+y\n", "begins at line 9"),
        ("@@ -1,1 +3,1 @@\n-one\n+ONE\n", "says it begins at new line 3"),
        ("@@ -3,1 +3,1 @@\n-three\n+3\n@@ -1,1 +1,1 @@\n-one\n+1\n", "overlaps"),
        ("@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -2,1 +2,1 @@\n-two\n+22\n", "overlaps"),
    ],
)
def test_l04_no_fuzz_and_no_offset(text: str, words: str) -> None:
    assert words in failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n",
        "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n three\n",
        "@@ -1,1 +1,1 @@\n-one\n+ONE\n+more\n",
        "@@ -1,1 +1,1 @@\n-one\n+ONE\n\n+hidden\n",
        "@@ -1,1 +1,1 @@\n one\n",
        "@@ -0,0 +0,0 @@\n",
        "@@ -1,99999999999999999999 +1,1 @@\n-one\n+ONE\n",
        "@@ ... @@\n-one\n+ONE\n",
    ],
)
def test_l05_wrong_counts_and_lines_that_no_hunk_counts_are_refused(text: str) -> None:
    assert failure(HEAD + text).startswith("patch_failed: ")


def test_l05_crlf_is_kept_and_never_made_up() -> None:
    before = b"one\r\ntwo\r\n"
    assert applied("@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n", before) == b"one\r\nTWO\r\n"
    assert "line endings differ" in failure("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n", before)


def test_l05_the_marker_of_a_missing_newline_is_meant() -> None:
    bare = b"one\ntwo"
    mark = "\\ No newline at end of file\n"
    assert applied(f"@@ -1,2 +1,2 @@\n one\n-two\n{mark}+two\n", bare) == b"one\ntwo\n"
    assert applied(f"@@ -1,2 +1,2 @@\n one\n-two\n{mark}+TWO\n{mark}", bare) == b"one\nTWO"
    assert applied(f"@@ -2,1 +2,1 @@\n-two\n+two\n{mark}", b"one\ntwo\n") == b"one\ntwo"
    assert "line endings differ" in failure("@@ -2,1 +2,1 @@\n-two\n+2\n", bare)
    assert "middle of the file" in failure(f"@@ -1,1 +1,1 @@\n-one\n+ONE\n{mark}", b"one\ntwo\n")


def test_a_patch_text_without_its_own_last_newline_is_read_all_the_same() -> None:
    assert applied(HUNK.rstrip("\n")) == b"one\nTWO\nthree\nfour\nfive\n"


def test_creation_and_deletion_by_dev_null() -> None:
    create = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    delete = "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert applied(create, None) == b"a\nb\n"
    assert applied(delete, b"a\nb\n") is None
    assert "exists" in failure(create, b"")
    assert "not all of its lines" in failure(delete, b"a\nb\nc\n")
    assert failure(delete, None) == "file_not_found"
    assert failure(HUNK, None) == "file_not_found"


def test_a_blank_line_stands_for_an_empty_context_line() -> None:
    assert applied("@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", b"a\n\nb\n") == b"a\n\nB\n"


def test_other_line_breaks_than_newline_break_no_line() -> None:
    before = "a\u2028b\x0bc\x0cd\x85e\rf\n".encode()
    text = "@@ -1,1 +1,1 @@\n-a\u2028b\x0bc\x0cd\x85e\rf\n+x\x0cy\n"
    assert applied(text, before) == b"x\x0cy\n"


SAMPLES = ["a", "b", "", " c", "-d", "+e", "@@ -1 +1 @@", "\\ x", "é", "f\r", "--- a/x"]
LINES = st.lists(st.sampled_from(SAMPLES), max_size=14)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda pair: "\n".join(pair[0]) + ("\n" if pair[1] and pair[0] else ""))


def unified(old: str, new: str, context: int) -> str:
    """What difflib makes of two texts, with the marker that it leaves out."""
    out = []
    sides = [text.split("\n") for text in (old, new)]
    kept = [[line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else []) for lines in sides]
    for line in difflib.unified_diff(*kept, "a/x", "b/x", n=context):
        out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 4))
def test_every_diff_that_difflib_makes_applies_to_exactly_the_new_text(old: str, new: str, context: int) -> None:
    text = unified(old, new, context)
    if text:
        assert applied(text, old.encode()) == new.encode()


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_e3_a_diff_applied_to_another_text_is_refused_or_leaves_the_rest_alone(old: str, new: str, other: str) -> None:
    """With all of the file as context, any difference refuses."""
    text = unified(old, new, 50)
    if not text or not old:
        return
    try:
        result = applied(text, other.encode())
    except Refused:
        return
    # Only what follows the last line of context can differ, and it is kept as it was.
    assert result is not None
    assert other.encode().startswith(old.encode())
    assert result == new.encode() + other.encode()[len(old.encode()) :]


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_e4_the_rows_hold_every_changed_line_and_rebuild_the_new_text(old: str, new: str) -> None:
    shown = difference(old.encode(), new.encode())
    assert shown is not None
    before, after = lines_of(old.encode()), lines_of(new.encode())
    gone = [row for row in shown.rows if row[0] == "-"]
    come = [row for row in shown.rows if row[0] == "+"]
    assert (len(come), len(gone)) == (shown.added, shown.removed)
    assert all(before[row[1] - 1] == row[3] for row in gone)
    assert all(after[row[2] - 1] == row[3] for row in come)
    numbers = {row[1] for row in gone}
    fresh = {row[2] for row in come}
    assert [line for number, line in enumerate(before, 1) if number not in numbers] == [
        line for number, line in enumerate(after, 1) if number not in fresh
    ]


def test_the_rows_of_a_large_hostile_rewrite_come_in_bounded_time() -> None:
    """M06: nothing in common, many lines, many repeats."""
    old = b"".join(b"%d\n" % (number % 97) for number in range(60_000))
    new = b"".join(b"%d\n" % (number * 7 % 89) for number in range(60_000))
    shown = difference(old, new)
    assert shown is not None
    assert shown.added - shown.removed == 0


def test_what_a_reader_could_misread_is_flagged() -> None:
    """L08: bidi, invisible, control, bytes that are not text."""
    assert text_flags(["x\u202ey".encode()]) == ["bidi"]
    assert text_flags(["x\u200by".encode()]) == ["invisible characters"]
    assert text_flags([b"x\x1b[2J"]) == ["control characters"]
    assert text_flags([b"x\x9b"]) == ["not UTF-8"]
    assert text_flags([b"tab\there", b"dos\r"]) == []


def test_the_foot_says_what_becomes_of_the_last_newline() -> None:
    assert foot(b"a\n", b"b\n") == "end of file, newline kept"
    assert foot(b"a\n", b"b") == "end of file, newline removed"
    assert foot(b"a", b"b\n") == "end of file, newline added"
    assert foot(None, b"b") == "end of file, no newline at the end"
