"""What keeps secrets out of everything that is stored or told: the redactor for output of tools (SAFETY S5).

The order is fixed: decode, redact, cut, store; a secret that lies across the cut is gone before the cut is made. If
the redactor itself fails the text is withheld, never passed on as it was (N10).

A redaction reads `[redacted:NAME]`. The same characters in the text itself become `[redacted\\:`, so a marker that
an agent typed can be told from ours (N09).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cas_tui.loop.secret_names import looks_secret, named_spans
from cas_tui.loop.secret_shapes import Span, shaped_spans

__all__ = ["Redacted", "Redactor", "capture", "looks_secret"]

DEFAULT_LIMIT: Final = 80 * 1024
"""Bytes of raw output kept: the tail (PROTOCOL §1.4 rule 8)."""

LEAST_KNOWN: Final = 8
"""A known value shorter than this is not looked for: it would be found in ordinary words."""

_MARGIN: Final = 64 * 1024
_WITHHELD: Final = "[withheld: the redactor failed on this text]"
_COUNTERFEIT: Final = re.compile(r"\[redacted(\\*):")
_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_GZIPPED: Final = re.compile(r"H4sI[A-Za-z0-9+/_-]{16,}={0,2}")


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets, and how many were taken out."""

    text: str
    count: int


class Redactor:
    """Takes secrets out of text: known values in their usual encodings, named ones, and those with a known shape."""

    def __init__(self, known: Mapping[str, str]) -> None:
        """`known` are environment variables; those whose name looks secret are looked for by value."""
        self._known = {name: value for name, value in known.items() if len(value) >= LEAST_KNOWN and looks_secret(name)}
        self._variants = tuple(
            sorted(
                {(variant, name) for name, value in self._known.items() for variant in _variants(value)},
                key=lambda item: (-len(item[0]), item),
            )
        )

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} known values)"

    def redact(self, text: str) -> Redacted:
        """`text` with every secret replaced by its marker. Never raises; on any failure the text is withheld.

        Not to be applied twice: the markers of the first time would be taken for typed ones.
        """
        return self._redact_from(text, 0)

    def _redact_from(self, text: str, first: int) -> Redacted:
        """As `redact`, but what lies before `first` is only looked at and not part of the result."""
        try:
            spans = _merged((*self._known_spans(text), *shaped_spans(text), *named_spans(text)))
            return _replaced(text, spans, first)
        except Exception:
            # Whatever went wrong, the one wrong answer would be the text as it was (S5).
            return Redacted(_WITHHELD, 1)

    def _known_spans(self, text: str) -> Iterator[Span]:
        for variant, name in self._variants:
            at = text.find(variant)
            while at >= 0:
                yield Span(at, at + len(variant), name)
                at = text.find(variant, at + len(variant))
        if self._known:
            for found in _GZIPPED.finditer(text):
                if packed := self._inside_gzip(found[0]):
                    yield Span(found.start(), found.end(), packed)

    def _inside_gzip(self, packed: str) -> str | None:
        try:
            raw = base64.b64decode(packed.rstrip("=").translate(str.maketrans("-_", "+/")) + "===")
            content = zlib.decompressobj(wbits=31).decompress(raw, 1 << 20)
        except (binascii.Error, ValueError, zlib.error):
            return None
        return next((name for name, value in self._known.items() if value.encode("utf-8", "replace") in content), None)


def _variants(value: str) -> Iterator[str]:
    """A known value and the forms in which it usually travels."""
    raw = value.encode("utf-8", "surrogateescape")
    yield value
    yield raw.hex()
    yield raw.hex().upper()
    for quote in (urllib.parse.quote, urllib.parse.quote_plus):
        yield quote(raw, safe="")
        yield quote(raw)
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    yield value.replace("\n", "\\n")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # Within a longer encoded text the value starts at any of three places; the characters at its edges, which
            # it shares with its neighbours, are left out.
            coded = encode(b"\0" * shift + raw).decode("ascii").rstrip("=")
            first = (0, 2, 3)[shift]
            last = len(coded) if (shift + len(raw)) % 3 == 0 else len(coded) - 1
            if last - first >= LEAST_KNOWN:
                yield coded[first:last]
        yield encode(raw).decode("ascii")
        yield encode(raw).decode("ascii").rstrip("=")


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, overlapping ones made one under the name of the first."""
    result: list[Span] = []
    for span in sorted(spans):
        last = result[-1] if result else Span(0, 0, "")
        if span.start < last.end:
            result[-1] = Span(last.start, max(last.end, span.end), last.name)
        elif 0 <= span.named_at < last.end:
            # Part of the name was a secret itself, so the marker must not repeat the name.
            result.append(Span(span.start, span.end, "SECRET"))
        else:
            result.append(span)
    return result


def _replaced(text: str, spans: list[Span], first: int) -> Redacted:
    parts: list[str] = []
    count, at = 0, first
    for span in spans:
        if span.end <= first:
            continue
        parts.append(_COUNTERFEIT.sub(r"[redacted\1\\:", text[at : span.start]))
        parts.append(f"[redacted:{_NAME.sub('_', span.name)[:64] or 'SECRET'}]")
        count, at = count + 1, span.end
    parts.append(_COUNTERFEIT.sub(r"[redacted\1\\:", text[at:]))
    return Redacted("".join(parts), count)


def capture(data: bytes, redactor: Redactor, limit: int = DEFAULT_LIMIT) -> bytes:
    """The tail of some output as it may be stored: at most `limit` bytes, redacted before it was cut.

    Bytes that are not UTF-8 are kept as they are; UTF-16 with its mark is stored as UTF-8. Only a window somewhat
    larger than the limit is looked at, so the cost is bounded; nothing that touches the edge of the window is kept.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    window = data[-(limit + 2 * _MARGIN) :] if len(data) > limit + 2 * _MARGIN else data
    text = window.decode("utf-8", "surrogateescape")
    first = 0
    if len(window) < len(data):
        line = text.find("\n", _MARGIN // 2, _MARGIN)
        first = line + 1 if line >= 0 else _MARGIN
    return _tail(redactor._redact_from(text, first).text.encode("utf-8", "surrogateescape"), limit)


def _tail(data: bytes, limit: int) -> bytes:
    if len(data) <= limit:
        return data
    tail = data[len(data) - limit :] if limit > 0 else b""
    # Not in the middle of a character.
    for skipped in range(min(4, len(tail))):
        if tail[skipped] & 0xC0 != 0x80:
            return tail[skipped:]
    return tail
