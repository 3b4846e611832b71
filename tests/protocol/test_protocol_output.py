"""output.md and its frontmatter: the poor grammar of PROTOCOL §2.2 and the coordination ops of §2.4."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.protocol.output import (
    Coordination,
    Diagnostic,
    Frontmatter,
    Output,
    format_frontmatter,
    parse_frontmatter,
    parse_output,
    update_frontmatter,
)


def codes(output: Output) -> tuple[str, ...]:
    return tuple(item.code for item in output.diagnostics)


def output(*lines: str, body: str = "") -> Output:
    return parse_output("\n".join(["---", "id: t-1", *lines, "---", body]).encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Frontmatter((), None, False)),
        ("just a body\n", Frontmatter((), "just a body", False)),
        ("---\n---\n", Frontmatter((), None, True)),
        ("---\nid: a\n---\n\nbody\n\n", Frontmatter((("id", "a"),), "body", True)),
        ("---\nid: a\n---\n  \n", Frontmatter((("id", "a"),), None, True)),
        ("---\nurl: http://x:80/a\n---", Frontmatter((("url", "http://x:80/a"),), None, True)),
        ("---\n  key  :  value  \n---", Frontmatter((("key", "value"),), None, True)),
        ("---\n: no key\nno colon\nempty:\n---", Frontmatter((("empty", ""),), None, True)),
        ("---\nsend: a | x\nsend: b | y\n---", Frontmatter((("send", "a | x"), ("send", "b | y")), None, True)),
        ('---\nquoted: "a"\n---', Frontmatter((("quoted", '"a"'),), None, True)),
        ("---\nid: a\nbody that is swallowed\n", Frontmatter((("id", "a"),), None, True, closed=False)),
        ("---", Frontmatter((), None, True, closed=False)),
        ("--- \nid: a\n---\n", Frontmatter((), "--- \nid: a\n---", False)),
        (" ---\nid: a\n---", Frontmatter((), "---\nid: a\n---", False)),
        ("\n---\nid: a\n---", Frontmatter((), "---\nid: a\n---", False)),
        ("---\r\nid: a\r\n---\r\nx", Frontmatter((), "---\r\nid: a\r\n---\r\nx", False)),
        ("\ufeff---\nid: a\n---", Frontmatter((), "\ufeff---\nid: a\n---", False)),
        ("---\nid: a\n---\n---\nid: b\n---\nx", Frontmatter((("id", "a"),), "---\nid: b\n---\nx", True)),
        ("---\nid: a\n----\n---\n", Frontmatter((("id", "a"),), None, True)),
        ("---\nkey: a\u2028b\u0085c\n---", Frontmatter((("key", "a\u2028b\u0085c"),), None, True)),
    ],
)
def test_the_grammar(text: str, expected: Frontmatter) -> None:
    """PROTOCOL §2.2: exact fences, first colon, trimmed, repeats kept, and what defeats it."""
    assert parse_frontmatter(text) == expected


def test_a_lookup_takes_the_first() -> None:
    """PROTOCOL §2.2: a repeated key is looked up by its first value."""
    front = parse_frontmatter("---\na: 1\na: 2\n---")
    assert front.first("a") == "1" and front.first("b") is None


KEYS = st.text("abc_-.", min_size=1, max_size=4)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=10).map(str.strip)
ENTRIES = st.lists(st.tuples(KEYS, LINES), max_size=5).map(tuple)


@given(ENTRIES, st.text("ab \n-:", max_size=20))
@settings(max_examples=300)
def test_what_is_formatted_is_read_back(entries: tuple[tuple[str, str], ...], body: str) -> None:
    """A document we write is read as we meant it."""
    front = parse_frontmatter(format_frontmatter(entries, body))
    assert (front.entries, front.closed, front.body) == (entries, True, body.strip() or None)


@pytest.mark.parametrize("entry", [("a", "x\ny"), ("a\nb", "x"), ("a", "x\r"), ("a:b", "x"), ("", "x"), (" ", "x")])
def test_what_could_not_be_read_back_is_refused(entry: tuple[str, str]) -> None:
    """T2: a value cannot smuggle in a second key, in writing or in updating."""
    with pytest.raises(ValueError):
        format_frontmatter((entry,), "")
    with pytest.raises(ValueError):
        update_frontmatter("---\n---\n", (entry,))


def test_an_update_puts_new_keys_first_in_reverse() -> None:
    """PROTOCOL §2.2: new keys first, in reverse order of update, old values dropped, the rest where it was."""
    text = "---\na: 1\nb: 2\na: 3\n---\n\nbody\n"
    assert update_frontmatter(text, (("b", "9"), ("c", "8"))) == "---\nc: 8\nb: 9\na: 1\na: 3\n---\n\nbody\n"
    assert update_frontmatter(text, (("x", "1"), ("x", "2"))).startswith("---\nx: 2\na: 1\n")
    assert update_frontmatter(text, ()) == text


@given(st.text("ab:- \n", max_size=40), ENTRIES)
@settings(max_examples=300)
def test_an_update_loses_nothing(text: str, updates: tuple[tuple[str, str], ...]) -> None:
    """D5: lines without a key, an unclosed fence, odd spacing: every line of the document is still there."""
    new = update_frontmatter(text, updates)
    front = parse_frontmatter(new)
    assert front.closed and dict(reversed(front.entries)).items() >= dict(updates).items()
    names = dict(updates)
    kept = new.split("\n")
    for line in text.split("\n"):
        assert line in kept or line.partition(":")[0].strip() in names


def test_an_update_of_a_document_without_frontmatter_makes_it_the_body() -> None:
    """D5: also of one that never closes."""
    assert update_frontmatter("hello\n", (("a", "1"),)) == "---\na: 1\n---\n\nhello\n"
    assert update_frontmatter("---\nb: 2\nlost?\n", (("a", "1"),)) == "---\na: 1\n---\n\n---\nb: 2\nlost?\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ack: t-1", Coordination("ack", "t-1")),
        ("done: t-1", Coordination("done", "t-1")),
        ("fail: t-1 | no such file", Coordination("fail", "t-1", "no such file")),
        ("fail: t-1", Coordination("fail", "t-1", "unspecified")),
        ("fail: t-1 |", Coordination("fail", "t-1", "unspecified")),
        ("reply: thread | hello | there", Coordination("reply", "thread", "hello | there")),
        ("send: pi | hello", Coordination("send", "pi", "hello")),
        ("send: pi | hello | body | more", Coordination("send", "pi", "hello", "body | more")),
        ("delegate: thread | pi", Coordination("delegate", "thread", "pi")),
        ("defer: t-1", Coordination("defer", "t-1", "unspecified")),
        ("defer: t-1 | tomorrow", Coordination("defer", "t-1", "tomorrow")),
        ("delete: t-1", Coordination("delete", "t-1")),
        ("surface: the build | is slow", Coordination("surface", "", "the build | is slow")),
        ("surface: | odd", Coordination("surface", "", "| odd")),
        ("mca: the build is slow", Coordination("surface", "", "the build is slow")),
    ],
)
def test_each_coordination_op(line: str, expected: Coordination) -> None:
    """PROTOCOL §2.4: key, target, text and payload, with the defaults of the edge cases."""
    found = output(line)
    assert found.coordination == (expected,)
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    "line", ["reply: sigma", "send: pi", "delegate: thread", "reply: | text", "ack:", "done:", "surface:", "fail: | x"]
)
def test_a_malformed_coordination_op_is_a_diagnostic(line: str) -> None:
    """PROTOCOL §4 row 17: never dropped in silence, never guessed at."""
    found = output(line)
    assert found.coordination == () and codes(found) == ("coordination_malformed",)
    assert line.partition(":")[0] in found.diagnostics[0].detail


def test_ops_keep_their_order_and_ordinals() -> None:
    """PROTOCOL §2.4: executed in frontmatter order; repeats are ops of their own; other keys are no ops."""
    found = output("send: a | 1", "tldr: x", "ack: t-1", "status: 200", "send: b | 2", "gtd: delete")
    assert [(op.key, op.target, op.ordinal) for op in found.coordination] == [
        ("send", "a", 0),
        ("ack", "t-1", 1),
        ("send", "b", 2),
    ]
    assert found.entries[2] == ("tldr", "x")


def test_the_ops_line_is_handed_on_as_text() -> None:
    """PROTOCOL §2.5: the value of `ops:` is for the strict decoder; a second one is named."""
    assert output('ops: [{"kind":"git_status"}]').ops == '[{"kind":"git_status"}]'
    assert output("ops:").ops == "" and output().ops is None
    twice = output("ops: []", "ops: [1]")
    assert twice.ops == "[]" and codes(twice) == ("ops_repeated",)


@pytest.mark.parametrize(
    "line", ["send: a | b", "  ack: x", "done: x", "ops: [", 'ops: [{"kind":"fs_read"}]', "surface: x"]
)
def test_ops_in_the_body_are_named_and_never_run(line: str) -> None:
    """PROTOCOL §2.4, A22: misplaced ops are a diagnostic."""
    found = output(body=f"text\n{line}\nmore")
    assert codes(found) == ("ops_in_body",)
    assert found.coordination == () and found.ops is None


def test_a_body_that_only_speaks_of_ops_is_left_alone() -> None:
    """Prose, rules and XML are no ops."""
    assert output(body="I will send: nothing\n---\n<ops>[]</ops>\nacked: yes").diagnostics == ()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", ("no_frontmatter",)),
        (b"hello", ("no_frontmatter",)),
        (b"---\r\nid: t-1\r\nack: t-1\r\n---\r\n", ("no_frontmatter", "ops_in_body")),
        (b"\xef\xbb\xbf---\nid: t-1\nack: t-1\n---\n", ("bom", "no_frontmatter", "ops_in_body")),
        ("---\nid: t-1\n---\n".encode("utf-16"), ("invalid_utf8", "no_frontmatter")),
        (b"---\nid: t-1\nack: t-1\nops: []\n", ("frontmatter_unclosed",)),
    ],
)
def test_an_output_that_cannot_be_used_says_why_and_does_nothing(raw: bytes, expected: tuple[str, ...]) -> None:
    """A06, A07, A22: denied by rule, not guessed; half of a file is never acted on."""
    found = parse_output(raw)
    assert codes(found) == expected
    assert found.coordination == () and found.ops is None


def test_an_unclosed_output_still_tells_what_it_answers() -> None:
    """The id of half an output is read, so that the reason shown is the real one."""
    assert parse_output(b"---\nid: t-1\nack: t-1").id == "t-1"


def test_undecodable_bytes_are_never_acted_on() -> None:
    """A04, E2: a coordination op with such bytes is malformed; the ops line keeps them, to be denied."""
    found = parse_output(b'---\nid: t-1\nreply: a | caf\xe9\nack: t-1\nops: ["\xff"]\n---\nbody \xff')
    assert codes(found) == ("invalid_utf8", "coordination_malformed")
    assert found.coordination == (Coordination("ack", "t-1", ordinal=0),)
    assert found.ops == '["\udcff"]'
    assert found.body == "body \ufffd"
    assert found.diagnostics[0] == Diagnostic("invalid_utf8", "byte 26 is not UTF-8")


@given(st.binary(max_size=80) | st.text("---\n: |ackopsid[]{}", max_size=80).map(str.encode))
@settings(max_examples=400)
def test_no_output_raises_and_all_of_it_can_be_written_again(raw: bytes) -> None:
    """T4: any bytes are an output; its texts, the ops line apart, are encodable."""
    found = parse_output(raw)
    for text in (found.id, found.body, *(part for entry in found.entries for part in entry)):
        (text or "").encode("utf-8")
    for op in found.coordination:
        (op.target + op.text + (op.payload or "")).encode("utf-8")
    for item in found.diagnostics:
        assert item.code and item.detail
