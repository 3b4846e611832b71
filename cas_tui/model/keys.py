"""Keys of rows: which record a row stands for, as one string that is stable across refreshes and can be read back."""

from __future__ import annotations

import json

from cas_tui.model.pairs import Pair

Part = str | int | None


def key(kind: str, *parts: Part) -> str:
    """A key for a record of `kind`; the parts may hold any text."""
    return json.dumps([kind, *parts], ensure_ascii=True, separators=(",", ":"))


def pair_key(pair: Pair) -> str:
    """The key of one pair."""
    return key("pair", *pair.key, pair.ordinal)


def parts(text: str) -> tuple[Part, ...]:
    """The kind and parts of a key; empty when `text` is not one."""
    try:
        value = json.loads(text)
    except ValueError:
        return ()
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return ()
    if not all(item is None or isinstance(item, str | int) for item in value):
        return ()
    return tuple(value)
