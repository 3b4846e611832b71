"""Opening costs the same for every size: a 50 MB file against a 50 kB one, by the CPU both take in one run."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

from cas_tui.locations import RuntimePaths
from cas_tui.protocol.encode import encode_line
from cas_tui.sources.run import RunSource

ROUNDS = 9
OPENINGS = 5
LARGE, SMALL = 50_000_000, 50_000


def record(number: int) -> bytes:
    return encode_line(
        {
            "action_id": f"act-{number:08d}",
            "agent": "echo",
            "session_id": "sess-1",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "action": "read the file that the last step wrote and compare it",
            "expected_observation": "it has the line that was added, and nothing else has changed in it",
            "confidence": 0.8,
            "expected_failure_modes": ["the file is gone", "the line is there twice"],
            "run_nonce": "6d80b711-e2a6-4f0e-91fe-a2a4896025f0",
        }
    )


def root_of(path: Path, size: int) -> Path:
    path.mkdir()
    length = len(record(0))
    with (path / "predictions.jsonl").open("wb") as file:
        for start in range(0, size // length, 1000):
            file.write(b"".join(record(n) for n in range(start, min(start + 1000, size // length))))
    return path


def cpu_of_opening(root: Path) -> float:
    """Seconds of CPU that a few openings take."""
    began = time.process_time()
    for _ in range(OPENINGS):
        source = RunSource(root, RuntimePaths(root / "zone"), clock=lambda: datetime.now(UTC))
        source.first()
        source.close()
    return time.process_time() - began


def test_a_file_of_50_mb_opens_as_fast_as_one_of_50_kb(tmp_path: Path) -> None:
    large, small = root_of(tmp_path / "large", LARGE), root_of(tmp_path / "small", SMALL)
    cpu_of_opening(large), cpu_of_opening(small)
    ratios = [cpu_of_opening(large) / cpu_of_opening(small) for _ in range(ROUNDS)]
    assert statistics.median(ratios) <= 1.3, ratios
