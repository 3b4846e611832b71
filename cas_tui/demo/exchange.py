"""What the agent is given and what it gives back: `state/input.md` and `state/output.md` (PROTOCOL §2.2-2.5, §5.3)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Items = list[dict[str, Any]]


@dataclass
class Given:
    """One input: who it is about, and the three sections of evidence a pass may carry."""

    trigger: str
    pass_no: int
    front: Mapping[str, str]
    receipts: Items
    decisions: Items
    answers: Items

    def receipt(self, op_id: str) -> dict[str, Any] | None:
        """What became of the op of this name, or None when nothing is said about it."""
        return next((item for item in reversed(self.receipts) if item.get("op_id") == op_id), None)

    def comment_on(self, op_id: str) -> str:
        """The operator's words on the op of this name, on one line."""
        found = next((item for item in reversed(self.decisions) if item.get("op_id") == op_id), {})
        return " ".join(str(found.get("comment") or "").split())


@dataclass
class Reply:
    """One output: typed ops, coordination lines and words for people."""

    words: str
    ops: Items = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)


def read(root: Path, environ: Mapping[str, str]) -> Given:
    """The input as it stands. Raises OSError when there is none."""
    text = (root / "state" / "input.md").read_text("utf-8", "replace")
    front, body = _split(text)
    # What was said by whoever sent the message comes last, and may look like anything.
    evidence = body.split("## Inbound Message", 1)[0]
    sections = _sections(evidence)
    receipts = next((value for name, value in sections.items() if name.endswith("Receipts")), [])
    return Given(
        trigger=front.get("id") or environ.get("CAS_TRIGGER", ""),
        pass_no=int(front.get("pass") or environ.get("CAS_PASS") or 1),
        front=front,
        receipts=receipts,
        decisions=sections.get("Operator Decisions", []),
        answers=sections.get("Answers", []),
    )


def _split(text: str) -> tuple[dict[str, str], str]:
    lines = text.split("\n")
    front: dict[str, str] = {}
    if lines[0] != "---":
        return front, text
    for number, line in enumerate(lines[1:], start=1):
        if line == "---":
            return front, "\n".join(lines[number + 1 :])
        key, colon, value = line.partition(":")
        if colon:
            front.setdefault(key.strip(), value.strip())
    return front, ""


def _sections(body: str) -> dict[str, Items]:
    """Each `## Name` that is followed by one fenced JSON array."""
    found: dict[str, Items] = {}
    for part in body.split("\n## "):
        name, _, rest = part.removeprefix("## ").partition("\n")
        _, fence, rest = rest.partition("```json\n")
        if not fence:
            continue
        try:
            value = json.loads(rest.partition("\n```")[0])
        except ValueError:
            continue
        if isinstance(value, list):
            found[name.strip()] = [item for item in value if isinstance(item, dict)]
    return found


def write(root: Path, given: Given, reply: Reply) -> None:
    """Put the output in place, whole or not at all."""
    lines = ["---", f"id: {given.trigger}"]
    lines += [f"{key}: {' '.join(value.split())}" for key, value in reply.lines]
    if reply.ops:
        lines.append(f"ops: {json.dumps(reply.ops, separators=(',', ':'))}")
    lines += ["---", "", reply.words, ""]
    replace(root / "state" / "output.md", "\n".join(lines))


def replace(path: Path, text: str) -> None:
    """Write a whole file so that a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
