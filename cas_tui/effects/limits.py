"""Bounds of one op and of one pass, with the defaults of PROTOCOL §2.11. Numbers only; who counts is the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_AFTER_IMAGE: Final = 2 << 20
"""Bytes of a file after the op beyond which it is no longer shown line by line."""

MAX_FILE: Final = 64 << 20
"""Bytes of a file beyond which we neither hash, save nor replace it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    max_passes: int = 5
    max_total_ops: int = 32
    max_observe_ops: int = 10
    max_artifact_bytes_per_op: int = 16_384
    max_artifact_bytes: int = 65_536
    max_total_artifact_bytes: int = 131_072
    max_walk_entries: int = 100_000
    max_walk_seconds: float = 5.0
