"""Strict, canonical writing: one record, one line, one way to say a time.

Everything this project puts on disk as JSON passes through here, so that two writers of the same record write the
same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite

import orjson

from cas_tui.protocol.decode import Json


def encode_line(record: Json) -> bytes:
    """One JSONL line, compact, newline-terminated, keys in the order given.

    Raises:
        ValueError: the record holds NaN, an infinity, a lone surrogate or a type JSON does not have.
    """
    return _dump(record, 0) + b"\n"


def encode_pretty(value: Json) -> bytes:
    """A whole-file JSON document, indented by two spaces, newline-terminated (as STATE.json is in practice)."""
    return _dump(value, orjson.OPT_INDENT_2) + b"\n"


def canonical(value: Json) -> bytes:
    """Compact JSON with sorted keys: the bytes that digests are taken of (PROTOCOL §5.4)."""
    return _dump(value, orjson.OPT_SORT_KEYS)


def writable(value: Json) -> Json:
    """The same value in a form that JSON can carry: what was read leniently may hold more.

    Lone surrogates become escapes; numbers that are not finite or beyond 64 bits become their text.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {writable(str(name)): writable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [writable(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return hex(value)
    return value


def _dump(value: Json, option: int) -> bytes:
    _refuse_non_finite(value)
    try:
        # Dataclasses and instants have to be made JSON by whoever knows what they mean.
        return orjson.dumps(value, option=option | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME)
    except (orjson.JSONEncodeError, TypeError) as error:
        raise ValueError(f"cannot be written as JSON: {error}") from None


def _refuse_non_finite(value: Json) -> None:
    # orjson writes NaN as null: a silent change of meaning, so look first.
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and (item != item or item in (float("inf"), float("-inf"))):
            raise ValueError("cannot be written as JSON: not a finite number")
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def timestamp(moment: datetime) -> str:
    """An instant as this project writes it: UTC, milliseconds, `Z` (PROTOCOL §4 row 12). `moment` knows its zone."""
    if moment.tzinfo is None:
        raise ValueError("an instant without a zone")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_timestamp(text: str) -> datetime | None:
    """The instant a record claims, or None when it is not one we can place (SAFETY A19). Never raises."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        return None
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
