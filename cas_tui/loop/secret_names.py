"""Secrets that are told by the name they stand under: `X_TOKEN=...`, `"api_key": "..."`, `password: ...`.

The name stays, the value goes. Names are judged by their words, so `primary_key`, `tokens` and `monkey` are not
secret; values are judged only as far as it takes to leave program text alone: a call, a type, a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from cas_tui.loop.secret_shapes import Span

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ALWAYS: Final = ("password", "passwd", "passphrase", "secret", "credential")


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


_JOINED_KEYS: Final = frozenset(
    word + "key"
    for word in _words(
        "api access account app auth aws client consumer deploy encryption license master private secret service "
        "session shared signing ssh storage subscription"
    )
)
_HARMLESS_KEYS: Final = _words(
    "primary foreign sort public cache partition group dict row index lookup composite natural unique hot short column "
    "field map json next prev last first this other same object bucket order config any each"
)
_HARMLESS_ENDS: Final = _words(
    "count type usage limit length len budget name names index pos position url uri endpoint path file class kind id "
    "ids size error errors required enabled expiry ttl re regex pattern prefix suffix"
)
_NO_VALUE: Final = _words(
    "none null nil true false str string int bytes bool float any optional undefined required self yes no empty "
    "unset missing invalid redacted"
)

_HIT: Final = re.compile(r"(?i)token|secret|passw|passphrase|pwd|pass(?=[\"'\s:=])|credential|key|_auth")
_NAME_BEFORE: Final = re.compile(r"[\w.-]{0,64}\Z", re.ASCII)
_TYPE: Final = r"(?:str|bytes|string|String|SecretStr|str \| None|Optional\[str\]|Final|Final\[str\])"
_SEPARATOR: Final = (
    rf":[ \t]{{0,4}}{_TYPE}[ \t]{{0,4}}=(?!=)|=>|:=|\?=|=(?![=>~])|:(?!:)|,(?=[ \t]{{0,8}}\\{{0,3}}[\"'])"
)
_AFTER: Final = re.compile(
    r"(?P<rest>[\w.-]{0,64})(?P<close>\\{0,3}[\"'`]?\)?\]?)"
    rf"(?P<sep>[ \t]{{0,8}}(?:{_SEPARATOR})[ \t]{{0,8}}|[ \t]{{1,8}}(?=[^\s-]))",
    re.ASCII,
)
_XML: Final = re.compile(r"(?P<rest>[\w.-]{0,64})>(?P<value>[^<>\r\n]{1,4096})</", re.ASCII)
_QUOTE: Final = re.compile(r"(?:[bfruBFRU]{1,2}(?=[\"']))?(?P<quote>\\{0,3}[\"'`])")
_CLOSE: Final = {mark: re.compile(rf"[^{mark}\\\n]*+(?:\\.[^{mark}\\\n]*+)*+{mark}") for mark in ('"', "'", "`")}
_BLOCK: Final = re.compile(r"[|>][+-]?[0-9]?[ \t]*\r?\n")
_CALL: Final = re.compile(r"(?:[A-Za-z_$][\w$]{0,63}(?:\.|->|::)){0,8}[A-Za-z_$][\w$]{0,63}[(\[]")
_DOTTED: Final = re.compile(r"(?:[A-Za-z_$][\w$]{0,63}(?:\.|->|::)){1,8}[A-Za-z_$][\w$]{0,63}[,;)\]}:]{0,4}\Z")
_VARIABLE: Final = re.compile(r"(?<== )[A-Za-z_]{1,64}(?:[ \t,;)]|$)", re.MULTILINE)
_CHAINED: Final = re.compile(r"[ \t]{1,4}=")
_OBJECT: Final = re.compile(r"(?:self|this|os|config|settings|env|process|args|options)\.")
_PLACEHOLDER: Final = re.compile(r"[$<%*{\[(.…][^\n]{0,200}|x{3,}|X{3,}|\.{3}")
_MOST_MULTILINE: Final = 16_384


def looks_secret(name: str) -> bool:
    """Whether what stands under `name` is to be kept out of records (PROTOCOL §1.4 rule 8, §4 row 11)."""
    lowered = name.lower()
    if lowered.strip("_.-") in ("pwd", "oldpwd"):
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    loud = name.upper() == name
    if not words or (not loud and words[-1] in _HARMLESS_ENDS):
        return False
    if any(word in lowered for word in _ALWAYS) or lowered.endswith("_auth"):
        return True
    if any(word.endswith("token") or word in ("pwd", *_JOINED_KEYS) for word in words):
        return True
    if loud and len(words) > 1:
        return "key" in words or words[-1] == "pass"
    if len(words) < 2 or words[-1] != "key":
        return False
    # `item.key` is an attribute; `item.cache_key` is judged by its own two words, `aws.access.key` by the last two.
    return words[-2] + "key" in _JOINED_KEYS or ("." not in name[-4:] and words[-2] not in _HARMLESS_KEYS)


def named_spans(text: str) -> Iterator[Span]:
    """The value of every assignment, in whatever notation, to a name that looks secret."""
    done = 0
    for hit in _HIT.finditer(text):
        if hit.start() < done:
            continue
        before = _NAME_BEFORE.search(text, max(hit.start() - 64, done), hit.start())
        start = before.start() if before else hit.start()
        after = _AFTER.match(text, hit.end()) or _XML.match(text, hit.end())
        if after is None:
            continue
        name = text[start : after.end("rest")].strip(".-")
        if not looks_secret(name):
            continue
        if "value" in after.groupdict():
            span = after.span("value") if text[start - 1 : start] == "<" else None
        else:
            span = _value(text, start, after, name)
        if span is not None and span[0] < span[1]:
            yield Span(*span, name, start)
            done = span[1]


def _value(text: str, start: int, after: re.Match[str], name: str) -> tuple[int, int] | None:
    at, sep = after.end(), after["sep"].strip()
    if not sep and (after["close"] or text[start] != "-"):
        # Only an option of a command line has its value after a space.
        return None
    weak = not any(word in name.lower() for word in _ALWAYS)
    loud = name.upper() == name
    if quote := _QUOTE.match(text, at):
        if sep == "," and weak and not loud and text[start] != "-":
            return None
        if not after["close"] and text[start - 1 : start] == quote["quote"]:
            # The quote closes a text in which the name stands: a prompt, a label.
            return None
        first, last = _quoted(text, quote)
        inner = text[first:last]
        if not inner.strip() or _PLACEHOLDER.fullmatch(inner) or inner.lower() in _NO_VALUE:
            return None
        if weak and not loud and (len(inner) < 6 or " " in inner):
            return None
        return first, last
    if sep == ",":
        return None
    if block := _BLOCK.match(text, at):
        return _indented(text, start, block.end())
    return _bare(
        text, start, at, name, tight=not after["sep"].startswith((" ", "\t")) and sep == "=", weak=weak, loud=loud
    )


def _quoted(text: str, quote: re.Match[str]) -> tuple[int, int]:
    opening, first = quote["quote"], quote.end()
    mark = opening[-1]
    line_end = text.find("\n", first)
    line_end = len(text) if line_end < 0 else line_end
    if len(opening) > 1:
        end = text.find(opening, first, line_end)
        return first, end if end >= 0 else line_end
    if text.startswith(mark * 2, first):
        end = text.find(mark * 3, first + 2, first + _MOST_MULTILINE)
        return first + 2, end if end >= 0 else line_end
    if closed := _CLOSE[mark].match(text, first):
        return first, closed.end() - 1
    end = text.find(mark, line_end, first + _MOST_MULTILINE)
    return first, end if end >= 0 else line_end


def _indented(text: str, start: int, at: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, start) + 1
    head = text[line_start:start]
    indent = len(head) - len(head.lstrip(" "))
    end = at
    while end < len(text):
        next_end = text.find("\n", end) + 1 or len(text)
        line = text[end:next_end]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
            break
        end = next_end
    return at, max(at, end - 1) if text[end - 1 : end] == "\n" else end


def _bare(text: str, start: int, at: int, name: str, *, tight: bool, weak: bool, loud: bool) -> tuple[int, int] | None:
    stop = r"[^\s&#\"'<>]{1,8192}" if text[start - 1 : start] in ("?", "&") else r"[^\s]{1,8192}"
    found = re.compile(stop).match(text, at)
    if found is None:
        return None
    value = found[0]
    if not (tight and loud):
        value = value.rstrip(",;)]}\"'`>") or value
        if _CALL.match(value) or (_DOTTED.match(value) if weak else _OBJECT.match(value)):
            return None
        if not tight and _VARIABLE.match(text, at) and (weak or _CHAINED.match(text, at + len(value))):
            return None
    plain = value.strip(",;)]}\"'`.").lower()
    if not plain or plain in _NO_VALUE or plain == name.lower() or _PLACEHOLDER.fullmatch(value):
        return None
    if weak and not loud and (len(plain) < 4 or (plain.isdigit() and len(plain) < 8)):
        return None
    end = at + len(value)
    if not weak and _alone(text, start) and (rest := re.compile(r"[^\r\n#]{0,8192}").match(text, at)):
        # A line of a settings file: the value may have spaces.
        end = max(end, at + len(rest[0].rstrip()))
    return at, end


def _alone(text: str, start: int) -> bool:
    head = text[text.rfind("\n", 0, start) + 1 : start][-64:]
    return head.strip(" \t-\"'") in ("", "set", "SET", "export")
