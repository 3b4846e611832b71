"""The ops that only look. They change nothing and start nothing (SAFETY S4); every result has a size limit.

Whether an observe op may run is the loop's question; here it either gives bytes or is refused with a reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cas_tui.effects import git_reading, globbing
from cas_tui.effects.errors import Refused
from cas_tui.effects.limits import MAX_AFTER_IMAGE, Limits
from cas_tui.effects.names import is_self_knowledge, normalise, printable
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.decode import Json
from cas_tui.protocol.ops import Op

_Fields = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Observed:
    """The bytes of a result, cut at the per-op limit when `truncated`; raw, not redacted, not made safe to draw."""

    data: bytes
    truncated: bool = False
    artifact_ext: str = "txt"


def observe(ws: Workspace, op: Op, limits: Limits) -> Observed:
    """Run one observe op of PROTOCOL §2.5.

    Raises:
        Refused: with the reason of its receipt; `status` says denied, error or contract_redirect.
    """
    run = _KINDS.get(op.kind)
    if run is None:
        raise Refused("unknown_op_kind", op.kind)
    return run(ws, op.fields, limits)


def _read(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    path = str(fields["path"])
    resolved = ws.root_dir.check_path(path)
    if is_self_knowledge(tuple(resolved.split("/"))):
        raise Refused("contract_redirect", path, status="contract_redirect")
    offset, wanted = int(fields.get("offset", 0)), fields.get("limit")
    budget = limits.max_artifact_bytes_per_op
    ask = budget if wanted is None else min(int(wanted), budget)
    fd = ws.root_dir.open_read(path)
    with os.fdopen(fd, "rb") as file:
        if offset > os.fstat(fd).st_size:
            return Observed(b"")
        file.seek(offset)
        data = file.read(ask + 1)
    cut = len(data) > ask and (wanted is None or int(wanted) > budget)
    return Observed(data[:ask], cut)


def _list(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    path = str(fields["path"])
    base = _components(ws.root_dir.check_path(path))
    entries = ws.root_dir.list(path)
    shown = (printable(entry.name) for entry in entries if not is_self_knowledge((*base, entry.name)))
    return _lines(shown, limits)


def _glob(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    found = globbing.glob(
        ws.root_dir,
        str(fields.get("base", ".")),
        str(fields["pattern"]),
        max_entries=limits.max_walk_entries,
        max_bytes=limits.max_artifact_bytes_per_op,
        deadline=time.monotonic() + limits.max_walk_seconds,
    )
    result = _lines((printable(path) for path in found.paths), limits)
    return Observed(result.data, result.truncated or not found.complete)


def _git_status(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    return _lines(git_reading.status_lines(ws.repo()), limits)


def _git_diff(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    rev = fields.get("rev")
    limit = limits.max_artifact_bytes_per_op
    data = git_reading.diff_text(ws.repo(), None if rev is None else str(rev), limit)
    return Observed(data[:limit], len(data) > limit)


def _git_log(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    rev = fields.get("rev")
    newest = min(int(fields.get("max", 20)), 1000)
    return _lines(git_reading.log_lines(ws.repo(), None if rev is None else str(rev), newest), limits)


def _git_grep(ws: Workspace, fields: _Fields, limits: Limits) -> Observed:
    """Lines of tracked files that hold `query` literally, as `path:line:text`."""
    below = normalise(str(fields.get("path", "")), write=False)
    query = str(fields["query"]).encode()
    deadline = time.monotonic() + limits.max_walk_seconds
    result = bytearray()
    for path in git_reading.tracked_paths(ws.repo()):
        if below and tuple(path.split("/"))[: len(below)] != below:
            continue
        if len(result) > limits.max_artifact_bytes_per_op or time.monotonic() > deadline:
            return Observed(bytes(result[: limits.max_artifact_bytes_per_op]), True)
        try:
            data = ws.root_dir.read(path, limit=MAX_AFTER_IMAGE)
        except Refused:
            continue
        if query not in data or b"\0" in data:
            continue
        for number, line in enumerate(data.split(b"\n"), 1):
            if query in line:
                result += f"{printable(path)}:{number}:".encode() + line[:1000] + b"\n"
    return Observed(bytes(result[: limits.max_artifact_bytes_per_op]), len(result) > limits.max_artifact_bytes_per_op)


def _lines(lines: Iterable[str], limits: Limits) -> Observed:
    data = b"".join(line.encode() + b"\n" for line in lines)
    return Observed(data[: limits.max_artifact_bytes_per_op], len(data) > limits.max_artifact_bytes_per_op)


def _components(rel: str) -> tuple[str, ...]:
    return () if rel == "." else tuple(rel.split("/"))


_KINDS = {
    "fs_read": _read,
    "fs_list": _list,
    "fs_glob": _glob,
    "git_status": _git_status,
    "git_diff": _git_diff,
    "git_log": _git_log,
    "git_grep": _git_grep,
}
