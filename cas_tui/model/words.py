"""Words of ours for ages, shares, names and quotes, where a row's text is composed by us.

Agent text that stands inside a sentence of ours is quoted so that it cannot end the quote and go on in our voice
(SAFETY T6). Making characters visible is the drawing side's work, not done here.
"""

from __future__ import annotations

import re
from datetime import datetime

from cas_tui.protocol.encode import parse_timestamp
from cas_tui.text import age, percent, plural, size

__all__ = ["age", "clock", "ident", "percent", "plural", "quote", "said", "since", "size", "until"]

_NAME = re.compile(r"[A-Za-z0-9._:/@+-]{1,128}\Z")


def since(text: str | None, now: datetime) -> float | None:
    """Seconds from the claimed instant `text` to `now`; never negative; None when it cannot be placed."""
    moment = parse_timestamp(text) if text else None
    if moment is None:
        return None
    return max(0.0, (now - moment).total_seconds())


def until(text: str | None, now: datetime) -> float | None:
    """Seconds from `now` to the instant `text`; negative when it is past; None when there is none."""
    moment = parse_timestamp(text) if text else None
    return None if moment is None else (moment - now).total_seconds()


def clock(text: str | None, now: datetime, *, seconds: bool = False) -> str:
    """The wall time of `text` in the zone of `now`, 14:30 or 14:29:04; the claimed text itself if it is not one."""
    moment = parse_timestamp(text) if text else None
    if moment is None:
        return text or "-"
    try:
        local = moment.astimezone(now.tzinfo)
    except (OverflowError, ValueError):
        return text or "-"
    return f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"


def quote(text: str) -> str:
    """Agent text in quotes it cannot close, by the rule of `text.quote`, but still raw: nothing is made visible yet."""
    if '"' in text or text.endswith("\\"):
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def ident(text: str) -> str:
    """An id of the agent's as it may stand bare in our sentence; anything that is not plainly an id is quoted."""
    return text if _NAME.match(text) else quote(text)


def said(confidence: float | None) -> str:
    """`90 %`, or `no number` when the record had none that is one."""
    return "no number" if confidence is None else percent(confidence)
