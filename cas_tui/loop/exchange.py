"""input.md and output.md: what the agent is given, what it gave, and the archive of both (PROTOCOL §2.3, §5.3, E7).

The pair is on disk in the archive, synced, before anything that the output asks for is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from cas_tui.locations import RootPaths
from cas_tui.loop.files import WriteFailed, is_regular, names_in, read_regular, remove_file, replace_file
from cas_tui.protocol.decode import Json
from cas_tui.protocol.ops import SAFE_NAME
from cas_tui.protocol.output import Entries, Frontmatter, format_frontmatter, parse_frontmatter

MAX_EXCHANGE_BYTES = 16 << 20
MAX_QUEUE = 10_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a later pass is told, each as the JSON array of its section."""

    receipts: Sequence[Mapping[str, Json]] = ()
    decisions: Sequence[Mapping[str, Json]] = ()
    answers: Sequence[Mapping[str, Json]] = ()


@dataclass(frozen=True, slots=True)
class Inbound:
    """What started a trigger: its id, who it is from, and the message."""

    trigger_id: str
    sender: str
    message: str


def read_input(paths: RootPaths) -> Frontmatter | None:
    """state/input.md as it stands, or None when there is none."""
    data = read_regular(paths.input_md, MAX_EXCHANGE_BYTES)
    return None if data is None else parse_frontmatter(data.decode("utf-8", "replace"))


def read_output(paths: RootPaths) -> bytes | None:
    """The bytes of state/output.md, or None when there is none (an empty file is none)."""
    return read_regular(paths.output_md, MAX_EXCHANGE_BYTES) or None


def compose_input(inbound: Inbound, pass_no: int, entries: Entries, evidence: Evidence | None) -> bytes:
    """The input of one pass. The first pass of a trigger carries only what happened since the last one.

    Args:
        inbound: the trigger.
        pass_no: from 1.
        entries: further frontmatter, for example session_id and run_nonce.
        evidence: receipts of the pass before, decisions and answers; None for a plain first pass.
    """
    sections: list[str] = []
    if evidence is not None:
        if pass_no > 1:
            sections += [f"## Pass {pass_no - 1} Receipts", "", _fenced(evidence.receipts), ""]
        sections += ["## Operator Decisions", "", _fenced(evidence.decisions), ""]
        sections += ["## Answers", "", _fenced(evidence.answers), ""]
    sections += ["## Inbound Message", "", f"**From**: {inbound.sender}", f"**ID**: {inbound.trigger_id}", ""]
    sections += [inbound.message.strip(), ""]
    front = (("id", inbound.trigger_id), ("from", inbound.sender), ("pass", str(pass_no)), *entries)
    return format_frontmatter(front, "\n".join(sections)).encode("utf-8", "replace")


def _fenced(items: Sequence[Mapping[str, Json]]) -> str:
    # One object a line; a backtick fence inside a JSON string cannot close the block, since JSON strings have no
    # line breaks and the fence must stand at the start of a line.
    if not items:
        return "```json\n[]\n```"
    lines = ",\n".join(orjson.dumps(dict(item)).decode("utf-8") for item in items)
    return f"```json\n[\n{lines}\n]\n```"


def parse_file(path: Path) -> Frontmatter:
    """A queue file as read; an unreadable one is an empty message, so that the queue goes on."""
    try:
        data = read_regular(path, MAX_EXCHANGE_BYTES) or b""
    except WriteFailed:
        data = b""
    return parse_frontmatter(data.decode("utf-8", "replace"))


def inbound_of(front: Frontmatter, fallback_id: str) -> Inbound:
    """The trigger of an input somebody else wrote; an id that could not be a file name is replaced."""
    trigger = front.first("id") or fallback_id
    if not SAFE_NAME.match(trigger) or trigger in (".", ".."):
        trigger = fallback_id
    message = front.body or ""
    marker = "## Inbound Message"
    if marker in message:
        message = message.split(marker, 1)[1]
        kept = [line for line in message.splitlines() if not line.startswith(("**From**:", "**ID**:"))]
        message = "\n".join(kept)
    return Inbound(trigger, front.first("from") or "unknown", message.strip())


def write_input(paths: RootPaths, data: bytes) -> None:
    """Put the input of the next pass in place. The output it would be confused with is removed first."""
    remove_file(paths.output_md)
    replace_file(paths.input_md, data)


def clear(paths: RootPaths) -> None:
    """After the last pass: neither file is left (PROTOCOL §2.10)."""
    remove_file(paths.input_md)
    remove_file(paths.output_md)


def archive_pair(paths: RootPaths, trigger_id: str, pass_no: int, output: bytes) -> Mapping[str, str]:
    """Make the pair durable before the first effect of this output (E7); returns where it is, relative to the root.

    `{trigger}.md` is the last pass, `{trigger}.pass-N.md` each one (PROTOCOL §2.12).

    Raises:
        WriteFailed: nothing of this output may run.
    """
    source = read_regular(paths.input_md, MAX_EXCHANGE_BYTES) or b""
    for directory, data in ((paths.input_archive, source), (paths.output_archive, output)):
        replace_file(directory / f"{trigger_id}.pass-{pass_no}.md", data)
        replace_file(directory / f"{trigger_id}.md", data)
    return {
        "input": _relative(paths, paths.input_archive / f"{trigger_id}.pass-{pass_no}.md"),
        "output": _relative(paths, paths.output_archive / f"{trigger_id}.pass-{pass_no}.md"),
    }


def _relative(paths: RootPaths, path: Path) -> str:
    return str(path.relative_to(paths.root))


def next_queued(paths: RootPaths) -> Path | None:
    """The oldest file of the queue, by name (PROTOCOL §2.1)."""
    for name in names_in(paths.queue, ".md", MAX_QUEUE):
        if is_regular(paths.queue / name):
            return paths.queue / name
    return None
