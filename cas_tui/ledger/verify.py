"""An independent look at the chain: its own SQL, its own recomputation, nothing shared with the writers (SAFETY D8)."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """The first thing that is wrong at one row."""

    seq: int
    what: str


def verify(path: Path) -> tuple[Finding, ...]:
    """Recompute the audit chain of the ledger at `path`; returns every row at which it breaks, in order.

    Decisions are also held against the chain: each must be there, unchanged. An unreadable file is one finding.
    """
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            rows = connection.execute(
                "SELECT seq, at, monotonic_ns, boot_id, kind, data, prev_sha256, sha256 FROM audit ORDER BY seq"
            ).fetchall()
            decisions = dict(connection.execute("SELECT decision_id, document FROM decisions").fetchall())
        finally:
            connection.close()
    except sqlite3.Error as error:
        return (Finding(0, f"cannot be read: {error}"),)
    findings: list[Finding] = []
    previous, expected = "0" * 64, 1
    for seq, at, tick, boot, kind, data, prev, digest in rows:
        fields = {"seq": seq, "at": at, "monotonic_ns": tick, "boot_id": boot, "kind": kind, "data": data}
        material = json.dumps(fields | {"prev_sha256": prev}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if seq != expected:
            findings.append(Finding(seq, f"row {expected} is missing or out of order"))
        elif prev != previous:
            findings.append(Finding(seq, "does not continue the row before"))
        elif hashlib.sha256(material.encode("utf-8", "surrogatepass")).hexdigest() != digest:
            findings.append(Finding(seq, "was changed after it was written"))
        elif kind == "decision":
            findings += _decision(seq, data, decisions)
        previous, expected = digest, seq + 1
    findings += [Finding(0, f"decision {name} is not in the chain") for name in sorted(decisions)]
    return tuple(findings)


def _decision(seq: int, data: str, decisions: dict[str, str]) -> list[Finding]:
    try:
        name = json.loads(data)["decision_id"]
    except (ValueError, KeyError, TypeError):
        return [Finding(seq, "holds no decision")]
    kept = decisions.pop(name, None)
    if kept is None:
        return [Finding(seq, f"decision {name} was removed from its table")]
    return [] if kept == data else [Finding(seq, f"decision {name} was changed in its table")]
