"""Phase 6: what came, held against what was said, as far as a machine can tell.

Mechanical only: an effect that ended as approved matched its promise unless the promise names a content hash that is
not there. Whatever cannot be judged this way is left to the agent and the operator (dispute).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cas_tui.loop.act import Result
from cas_tui.protocol.requests import RequestState

_HASH = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one action, and why."""

    success: bool
    matched: bool
    summary: str


def evaluate(result: Result, expected: str) -> Judgement:
    """Judge one ended effect against the text of its prediction."""
    success = result.state is RequestState.SUCCEEDED
    if not success:
        return Judgement(False, False, result.summary)
    promised = set(_HASH.findall(expected))
    if promised:
        post = result.facts.get("post") or {}
        found = {image.get("sha256") for image in post.values() if isinstance(image, dict)}
        missing = promised - found
        if missing:
            return Judgement(
                True, False, f"{result.summary}; the content promised as {sorted(missing)[0]} is not there"
            )
    return Judgement(True, True, result.summary)
