"""From bytes to JSON values, in the two ways this project reads them.

*Lenient*, for telemetry an agent wrote: a bad line becomes a visible `Malformed`, never an exception, and an unusual
but readable one is kept with a flag naming what is odd. *Strict*, for anything that asks to be acted on: duplicate
keys, NaN, Infinity, lone surrogates and deep nesting are errors with a reason (SAFETY A10-A13, E6).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict with string keys."""

MAX_LINE_BYTES: Final = 1 << 20
"""A telemetry line longer than this is not decoded; it is shown as malformed with its size (SAFETY A09)."""

MAX_DEPTH: Final = 64
"""Nesting deeper than this is refused before any parser sees it (SAFETY A10)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where bytes were read: file name relative to the memory root, byte offset, length in bytes (SAFETY D9)."""

    file: str
    offset: int
    length: int = 0


@dataclass(frozen=True, slots=True)
class Malformed:
    """A stretch of a file that is not a record: kept, counted and shown, never repaired (SAFETY D2, D5)."""

    file: str
    offset: int
    reason: str
    excerpt: bytes = b""


class StrictError(ValueError):
    """Input that asks to be acted on breaks a rule; `str(error)` is the reason, in words."""


_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_KEY: Final = re.compile(rb'"[ \t\r\n]*:')
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")
_JSON_WORDS: Final = {"list": "a list", "str": "a string", "NoneType": "null", "bool": "true or false"}
_MOST_FLAGS: Final = 8


def brackets_of(raw: bytes) -> tuple[int, int]:
    """The deepest nesting of brackets outside strings, and how many are open at the end; without recursion."""
    depth = deepest = 0
    for byte in _STRING.sub(b"", raw).translate(None, _NOT_BRACKETS):
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest, depth


def _too_deep(raw: bytes) -> bool:
    # A cheap upper bound first: the exact scan is a Python loop over the brackets.
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    return brackets_of(raw)[0] > MAX_DEPTH


def _pairs_no_duplicates(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result:
            raise StrictError(f"duplicate key {key!r}")
        result[key] = value
    return result


def _refuse_constant(name: str) -> Json:
    raise StrictError(f"{name} is not JSON")


def _refuse_huge_int(text: str) -> int:
    if len(text.lstrip("-")) > 19:
        raise StrictError("integer out of range")
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise StrictError("integer out of range")
    return value


def _refuse_inf_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise StrictError("number out of range")
    return value


def decode_strict(text: str) -> Json:
    """Decode JSON that will be acted on.

    Raises:
        StrictError: not JSON, a key twice in one object, NaN or Infinity, a number that is out of range, a lone
            surrogate, or nesting deeper than `MAX_DEPTH`.
    """
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        raise StrictError("lone surrogate") from None
    if _too_deep(raw):
        raise StrictError(f"nested deeper than {MAX_DEPTH}")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_pairs_no_duplicates,
            parse_constant=_refuse_constant,
            parse_int=_refuse_huge_int,
            parse_float=_refuse_inf_float,
        )
    except StrictError:
        raise
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "not JSON"
        raise StrictError(reason) from None
    _refuse_surrogates(value)
    return value


def _refuse_surrogates(value: Json) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            try:
                item.encode("utf-8")
            except UnicodeEncodeError:
                raise StrictError("lone surrogate") from None
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


@dataclass(frozen=True, slots=True)
class LenientObject:
    """An object as read, and what was odd about it (`duplicate_key:x`, `bom`, `crlf`, `invalid_utf8`)."""

    value: dict[str, Json]
    flags: tuple[str, ...] = ()


def decode_lenient(raw: bytes, *, limit: int = MAX_LINE_BYTES) -> LenientObject | str:
    """Decode one telemetry object as forgivingly as its meaning allows; `limit` is in bytes.

    Returns the object with its flags, or the reason, in words, why it is not one.
    """
    flags: list[str] = []
    if len(raw) > limit:
        return f"{len(raw)} bytes, over the limit of {limit}"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16, expected UTF-8"
    if raw.startswith(b"\xef\xbb\xbf"):
        flags.append("bom")
        raw = raw[3:]
    if raw.endswith(b"\r"):
        flags.append("crlf")
        raw = raw[:-1]
    if b"\x00" in raw:
        return "a hole: NUL bytes in the line"
    if not raw.strip():
        return "empty"
    if _too_deep(raw):
        return f"nested deeper than {MAX_DEPTH}"
    value: Json
    try:
        value = orjson.loads(raw)
        if _LONG_NUMBER.search(raw):
            # orjson makes a rounded float of an integer beyond 64 bits (SAFETY A13).
            value = json.loads(raw)
    except (ValueError, RecursionError):
        # orjson also refuses lone surrogates, invalid UTF-8, NaN and huge numbers; the slow path tells them apart.
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            flags.append("invalid_utf8")
            text = raw.decode("utf-8", "surrogateescape")
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            return f"not JSON: {error.msg}"
        except (ValueError, RecursionError):
            return "not JSON: a number or nesting out of range"
        flags.append("not_strict_json")
    if not isinstance(value, dict):
        return f"expected an object, found {_JSON_WORDS.get(type(value).__name__, 'a number')}"
    return LenientObject(value, tuple(flags) + _duplicate_keys(raw, value))


def _duplicate_keys(raw: bytes, value: dict[str, Json]) -> tuple[str, ...]:
    # More keys in the bytes than in the decoded object is the cheap sign of a duplicate; only then look closely.
    if len(_KEY.findall(raw)) <= _count_keys(value):
        return ()
    found: list[str] = []

    def note(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found.append(f"duplicate_key:{key}")
            seen.add(key)
        return dict(pairs)

    try:
        json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return ()
    return tuple(dict.fromkeys(found))[:_MOST_FLAGS]


def _count_keys(value: Json) -> int:
    total = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            total += len(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return total
