"""Secrets that can be told by their shape alone: issued keys, tokens, private key blocks, credentials in URLs.

Every pattern is linear in the text: fixed prefixes, single character classes, bounded repeats. There is no rule by
entropy, so that digests, object ids and UUIDs, which the evidence needs, are left alone (SAFETY N08).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Span(NamedTuple):
    """A stretch of text to be replaced, the name it stands under, and where that name begins (-1: nowhere)."""

    start: int
    end: int
    name: str
    named_at: int = -1


_PREFIXED: Final[tuple[tuple[str, str], ...]] = (
    ("AWS_KEY_ID", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ("GOOGLE_KEY", r"AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"),
    ("GITHUB_TOKEN", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"),
    ("GITLAB_TOKEN", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas|ffct)-[\w-]{16,}"),
    ("SLACK_TOKEN", r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-\d-[\w-]{10,}"),
    ("SLACK_HOOK", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}"),
    ("STRIPE_KEY", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}"),
    ("ANTHROPIC_KEY", r"sk-ant-[\w-]{16,}"),
    ("OPENAI_KEY", r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[\w-]{20,}"),
    ("NPM_TOKEN", r"npm_[A-Za-z0-9]{30,}"),
    ("PYPI_TOKEN", r"pypi-Ag[\w-]{40,}"),
    ("HUGGINGFACE_TOKEN", r"hf_[A-Za-z0-9]{30,}"),
    ("SENDGRID_KEY", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("TWILIO_KEY", r"SK[0-9a-f]{32}(?![0-9a-f])"),
    ("DIGITALOCEAN_TOKEN", r"do[opr]_v1_[0-9a-f]{40,}"),
    ("SHOPIFY_TOKEN", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("TELEGRAM_TOKEN", r"[0-9]{8,10}:AA[\w-]{32,}"),
    ("VAULT_TOKEN", r"hv[sbr]\.[\w-]{20,}"),
    ("GRAFANA_TOKEN", r"glsa_\w{20,}|glc_[\w+/=-]{20,}"),
    ("SERVICE_TOKEN", r"(?:gsk|lin_api|ntn|r8|sntrys|dapi|dckr_pat|rubygems|figd)_?[A-Za-z0-9_]{32,}"),
    ("AGE_KEY", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("JWT", r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
)
_PREFIX: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _PREFIXED) + ")", re.ASCII
)

_KEY_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{16,}\r?")

_BEARER: Final = re.compile(r"(?i)(?<![A-Za-z0-9])bearer(?:[ \t]{1,8}|%20|\+)(?:\\?[\"'])?([\w.~+/=:|-]{4,})", re.ASCII)
_BEARER_PROSE: Final = re.compile(
    r"(?i)(?:tokens?|auth|authenti\w+|authori\w+|headers?|scheme|realm|format|type|value|with)[.:]?"
)
_BASIC: Final = re.compile(r"(?i)(?<![A-Za-z0-9])basic[ \t]{1,8}([A-Za-z0-9+/_-]{6,}={0,2})", re.ASCII)
_HEADER: Final = re.compile(
    r"(?i)(?<![A-Za-z0-9])(?:proxy-authorization|authorization|set-cookie|cookie)"
    r"\\?[\"']?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}(\\?[\"'])?([^\r\n]{1,8192})"
)
_HEADER_PROSE: Final = re.compile(r"(?i)(?:str|string|none|null|true|false|optional\b.*|bearer|basic|\W*)[,;)]?\s*")
_URL_PASSWORD: Final = re.compile(r"://[^\s/:@\"'<>]{0,128}:([^\s/\"'<>]{1,256})@")
_URL_TOKEN: Final = re.compile(r"://(?=[^\s/:@\"'<>]{0,255}[0-9])([^\s/:@\"'<>]{20,256})@")
_CURL_USER: Final = re.compile(
    r"(?<!\S)(?:-u|--user|--proxy-user)(?:[ \t]{1,4}|=)?[\"']?[^\s:\"']{1,128}:([^\s\"']{1,256})"
)


def shaped_spans(text: str) -> Iterator[Span]:
    """Every stretch of `text` that is a secret by its shape. They may overlap."""
    for found in _PREFIX.finditer(text):
        yield Span(found.start(), found.end(), found.lastgroup or "KEY")
    yield from _private_keys(text)
    for found in _BEARER.finditer(text):
        if not _BEARER_PROSE.fullmatch(found[1]):
            yield Span(found.start(1), found.end(1), "BEARER")
    for found in _BASIC.finditer(text):
        if _is_basic(found[1]):
            yield Span(found.start(1), found.end(1), "BASIC")
    for found in _HEADER.finditer(text):
        yield from _header(found)
    for pattern, name in ((_URL_PASSWORD, "URL_PASSWORD"), (_URL_TOKEN, "URL_TOKEN"), (_CURL_USER, "USER_PASSWORD")):
        for found in pattern.finditer(text):
            if not (pattern is _CURL_USER and found[1].isdigit()):
                yield Span(found.start(1), found.end(1), name)


def _header(found: re.Match[str]) -> Iterator[Span]:
    value, quote = found[2], found[1]
    end = value.find(quote) if quote else -1
    if end < 0 and not quote and (inner := re.search(r"[\"']", value)):
        # An unquoted value within a quoted argument: curl -H "Authorization: ..."
        end = inner.start()
    value = value[:end] if end >= 0 else value
    if not _HEADER_PROSE.fullmatch(value):
        yield Span(
            found.start(2), found.start(2) + len(value), found[0].split(":")[0].split("=")[0].strip("\"'\\ ").upper()
        )


def _is_basic(word: str) -> bool:
    try:
        return b":" in base64.b64decode(
            word + "=" * (-len(word) % 4), altchars=b"-_" if set("-_") & set(word) else None
        )
    except (binascii.Error, ValueError):
        return False


def _private_keys(text: str) -> Iterator[Span]:
    marks = sorted(
        [(found.start(), found.end(), True) for found in _KEY_BEGIN.finditer(text)]
        + [(found.start(), found.end(), False) for found in _KEY_END.finditer(text)]
    )
    at, begun = 0, -1
    for start, end, begins in marks:
        if begins:
            begun = start if begun < 0 else begun
            continue
        # An end without a beginning: that lies before this text, so take the lines which can only be its body.
        yield Span(begun if begun >= 0 else _body_before(text, start, at), end, "PRIVATE_KEY")
        at, begun = end, -1
    if begun >= 0:
        yield Span(begun, len(text), "PRIVATE_KEY")


def _body_before(text: str, end: int, floor: int) -> int:
    start = end
    while start > floor:
        line = text.rfind("\n", floor, start - 1) + 1 if start - 1 > floor else floor
        line = max(line, floor)
        if not _KEY_LINE.fullmatch(text[line:start].rstrip("\n")):
            break
        start = line
    return start
