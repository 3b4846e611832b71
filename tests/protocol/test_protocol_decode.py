"""From bytes to values: forgiving where an agent only tells, unforgiving where it asks (SAFETY A03-A13)."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.protocol.decode import (
    MAX_DEPTH,
    MAX_LINE_BYTES,
    LenientObject,
    StrictError,
    brackets_of,
    decode_lenient,
    decode_strict,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXT,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


def read(raw: bytes) -> LenientObject:
    found = decode_lenient(raw)
    assert isinstance(found, LenientObject), found
    return found


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), VALUES, max_size=4))
@settings(max_examples=200)
def test_what_was_written_is_read(value: dict[str, object]) -> None:
    """Both ways of reading give back any ordinary object, without a flag."""
    text = json.dumps(value)
    assert decode_strict(text) == value
    assert read(text.encode()) == LenientObject(value, ())


@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=400)
def test_reading_bytes_never_raises(raw: bytes) -> None:
    """T4: any bytes are an object or a reason."""
    found = decode_lenient(raw)
    assert isinstance(found, LenientObject) or found


@given(st.text(max_size=40))
@settings(max_examples=300)
def test_strict_reading_raises_only_its_own_error(text: str) -> None:
    """E6: any text is a value or an error with a reason."""
    try:
        decode_strict(text)
    except StrictError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b"  \t", "empty"),
        (b"\r", "empty"),
        (b"[]", "expected an object, found a list"),
        (b'"x"', "expected an object, found a string"),
        (b"1", "expected an object, found a number"),
        (b"1.5", "expected an object, found a number"),
        (b"null", "expected an object, found null"),
        (b"true", "expected an object, found true or false"),
        (b'{"a":', "not JSON: Expecting value"),
        (b'{"a":1}{"b":2}', "not JSON: Extra data"),
        (b'{"a":"x\x01"}', "not JSON: Invalid control character at"),
        (b'{"a":1}\x00\x00', "a hole: NUL bytes in the line"),
        (b"\x00" * 4096, "a hole: NUL bytes in the line"),
        ('{"a":1}'.encode("utf-16"), "UTF-16, expected UTF-8"),
        (b"\xfe\xff\x00{", "UTF-16, expected UTF-8"),
        ('{"a":1}'.encode("utf-16-le"), "a hole: NUL bytes in the line"),
        (b'{"a":' + b"1" * 5000 + b"}", "not JSON: a number or nesting out of range"),
        (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", f"nested deeper than {MAX_DEPTH}"),
    ],
)
def test_what_is_no_object_has_its_reason(raw: bytes, reason: str) -> None:
    """A03, A06, A13: the reason is in words, and the same every time."""
    assert decode_lenient(raw) == reason


@pytest.mark.parametrize(
    ("raw", "flags"),
    [
        (b'\xef\xbb\xbf{"a":1}', ("bom",)),
        (b'{"a":1}\r', ("crlf",)),
        (b'{"a":1,"a":2}', ("duplicate_key:a",)),
        (b'{"a"  :1,"a"\t:2}', ("duplicate_key:a",)),
        (b'{"x":{"a":1,"\\u0061":2},"x":3}', ("duplicate_key:a", "duplicate_key:x")),
        (b'{"a":NaN}', ("not_strict_json",)),
        (b'{"a":1e999}', ("not_strict_json",)),
        (b'{"a":"\\ud800"}', ("not_strict_json",)),
        (b'{"a":"caf\xe9"}', ("invalid_utf8", "not_strict_json")),
    ],
)
def test_what_is_odd_is_kept_with_a_flag(raw: bytes, flags: tuple[str, ...]) -> None:
    """A04, A05, A06, A07, A11, A12: readable all the same, and the oddity is named."""
    assert read(raw).flags == flags


def test_the_last_of_a_duplicate_key_is_what_is_kept() -> None:
    """A11: flagged, and read as parsers do; the number of flags is bounded."""
    assert read(b'{"a":1,"a":2}').value == {"a": 2}
    many = b"{" + b",".join(b'"k%d":1,"k%d":2' % (n, n) for n in range(500)) + b"}"
    assert len(read(many).flags) == 8


def test_colons_in_strings_are_no_duplicate_keys() -> None:
    """A text that looks like keys raises no flag."""
    value = {"a": '{"b": 1, "b": 2}', "c": 'x": y', "d": ":"}
    assert read(json.dumps(value).encode()).flags == ()


def test_undecodable_bytes_survive() -> None:
    """A04: each byte can be had back from what was read."""
    value = read(b'{"a":"caf\xe9\xff"}').value["a"]
    assert value.encode("utf-8", "surrogateescape") == b"caf\xe9\xff"


def test_big_integers_are_not_rounded() -> None:
    """A13: 2^53+1, 2^63 and beyond come through to the digit."""
    for number in (2**53 + 1, 2**63, 2**64, 10**30, -(10**30)):
        assert read(b'{"a":%d}' % number).value == {"a": number}
    assert read(b'{"a":-0}').value == {"a": 0}


def test_unicode_line_separators_are_within_one_record() -> None:
    """A08: U+2028, U+0085 and form feed in a string do not end a line."""
    value = {"a": "one\u2028two\u0085three\x0cfour"}
    assert read(json.dumps(value, ensure_ascii=False).replace("\x0c", "\\f").encode()).value == value


def test_depth_is_bounded_before_any_parser() -> None:
    """A10: a hundred thousand levels, of lists or of objects, closed or not, are a reason and never RecursionError."""
    for raw in (b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000):
        assert decode_lenient(raw) == f"nested deeper than {MAX_DEPTH}"
        with pytest.raises(StrictError, match="nested deeper"):
            decode_strict(raw.decode())
    inside = json.dumps({"a": "[" * 1000})
    assert decode_strict(inside) == {"a": "[" * 1000} == read(inside.encode()).value
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert decode_strict(deepest)


@given(st.text('[]{}"\\a', max_size=30))
@settings(max_examples=400)
def test_brackets_are_counted_as_a_simple_scanner_would(text: str) -> None:
    """A10: the fast count agrees with a plain loop over characters."""
    depth = deepest = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            in_string, escaped = not (char == '"' and not escaped), char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    assert brackets_of(text.encode()) == (deepest, depth)


def test_an_overlong_line_is_not_decoded() -> None:
    """A09: over the limit it costs nothing and says its size."""
    raw = b'{"a":"' + b"x" * MAX_LINE_BYTES + b'"}'
    assert decode_lenient(raw) == f"{len(raw)} bytes, over the limit of {MAX_LINE_BYTES}"
    assert isinstance(decode_lenient(raw, limit=len(raw)), LenientObject)


def test_a_large_document_is_quick() -> None:
    """Counting depth does not make reading slow: 4 MB of many small items in well under a second."""
    raw = json.dumps({"items": [{"id": str(n), "claim": 'a "quoted" [thing]'} for n in range(60_000)]}).encode()
    start = time.process_time()
    assert isinstance(decode_lenient(raw, limit=1 << 26), LenientObject)
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":1,"a":2}', "duplicate key 'a'"),
        ('[{"b":{"a":1,"\\u0061":2}}]', "duplicate key 'a'"),
        ("[NaN]", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e999]", "number out of range"),
        ("[-1e999]", "number out of range"),
        (f"[{2**63}]", "integer out of range"),
        (f"[{-(2**63) - 1}]", "integer out of range"),
        ("[" + "9" * 5000 + "]", "integer out of range"),
        ('["\\ud800"]', "lone surrogate"),
        ('{"\\udfff":1}', "lone surrogate"),
        ('["\ud800"]', "lone surrogate"),
        ("[1,]", "Illegal trailing comma before end of array|Expecting value"),
        ("hello", "Expecting value"),
        ("[1] x", "Extra data"),
        ("", "Expecting value"),
        ('["a\tb"]', "Invalid control character at"),
    ],
)
def test_strict_reading_names_the_rule_that_was_broken(text: str, reason: str) -> None:
    """A05, A11, A12, A13: each is an error whose text is the reason."""
    with pytest.raises(StrictError) as caught:
        decode_strict(text)
    assert str(caught.value) in reason.split("|")


def test_strict_reading_takes_the_limits_themselves() -> None:
    """A13: the largest integers, surrogate pairs and minus zero are fine."""
    assert decode_strict(f"[{2**63 - 1}, {-(2**63)}]") == [2**63 - 1, -(2**63)]
    assert decode_strict('["\\ud83d\\ude00"]') == ["\U0001f600"]
    assert math.copysign(1, decode_strict("[-0.0]")[0]) == -1
