"""Phase 8 and every other change of STATE.json, shared with an agent that takes no lock (SAFETY D3, D4, §5.2).

A change is a small patch by id, planned in the ledger first, so that it can be applied again over a file the agent
wrote meanwhile. We read, patch, compare what is on disk with what we read, and only then replace. A STATE.json that
does not parse is never overwritten: the patch waits, and the host says so.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from datetime import datetime

from cas_tui.ledger import Ledger
from cas_tui.locations import RootPaths
from cas_tui.loop.files import read_regular, replace_file
from cas_tui.protocol.decode import Json, Malformed
from cas_tui.protocol.encode import encode_pretty, timestamp
from cas_tui.protocol.state import State, decode_state

MAX_STATE_BYTES = 64 << 20
ATTEMPTS = 5

Document = dict[str, Json]
Patch = Mapping[str, Json]


class StateConflict(RuntimeError):
    """STATE.json could not be changed now; the change stays planned. The message says why."""


def empty_state(now: str, run_nonce: str | None = None) -> Document:
    """The smallest STATE.json that is complete (PROTOCOL §1.2)."""
    document: Document = {
        "state_version": "1.0",
        "updated_at": now,
        "active_goals": [],
        "commitments": [],
        "artifacts": [],
        "beliefs": [],
        "uncertainties": [],
        "current_plan": [],
        "policies": [],
        "tool_models": {},
        "last_session_summary": "",
        "pending_citations": [],
    }
    if run_nonce is not None:
        document["run_nonce"] = run_nonce
    return document


def add_item(section: str, item: Mapping[str, Json]) -> Patch:
    """Add an item to a list section unless one with its id is there."""
    return {"do": "add", "section": section, "item": dict(item)}


def remove_item(section: str, item_id: str) -> Patch:
    """Remove the item with this id from a list section."""
    return {"do": "remove", "section": section, "id": item_id}


def queue_citation(kind: str, ref: str, created_at: str, source_action_id: str) -> Patch:
    """Push one pending citation (PROTOCOL §1.4 rule 3)."""
    entry = {"type": kind, "ref": ref, "created_at": created_at, "source_action_id": source_action_id}
    return {"do": "cite", "entry": entry}


def clear_citations(entries: list[Mapping[str, Json]]) -> Patch:
    """Drop exactly these pending citations, after a prediction that cites them is on disk."""
    return {"do": "cited", "entries": [dict(entry) for entry in entries]}


def note_failure(tool: str, mode: str) -> Patch:
    """Add a failure mode to a tool's model, making the model if there is none."""
    return {"do": "tool", "tool": tool, "mode": mode}


def touch(at: str) -> Patch:
    """Say when the world model was last brought up to date: Phase 8 of an act that changed nothing else in it."""
    return {"do": "touch", "at": at}


class StateFile:
    """STATE.json of one root, as this host reads and changes it."""

    def __init__(self, paths: RootPaths, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._paths = paths
        self._ledger = ledger
        self._clock = clock

    def read(self) -> State | Malformed:
        """STATE.json as it is now; a missing one reads as an empty world."""
        data = read_regular(self._paths.state_json, MAX_STATE_BYTES)
        return State() if data is None else decode_state(data)

    def change(self, key: str, *patches: Patch) -> bool:
        """Apply patches once under `key`, durably; False when they have to wait for a STATE.json that can be read.

        What waits is kept in the ledger, and `settle` tries it again; nothing else stops for it.

        Raises:
            LedgerError: the change is not even planned.
        """
        if self._ledger.patches.is_done(key):
            return True
        row = self._ledger.patches.plan(key, {"patches": [dict(patch) for patch in patches]})
        try:
            self._apply(row["patches"])
        except (StateConflict, OSError):
            return False
        self._ledger.patches.done(key)
        return True

    def settle(self) -> list[str]:
        """Apply every planned change that is not yet done; returns why some still are not."""
        faults: list[str] = []
        for key, row in self._ledger.patches.undone():
            try:
                self._apply(row["patches"])
            except (StateConflict, OSError) as error:
                faults.append(str(error))
                continue
            self._ledger.patches.done(key)
        return faults

    def _apply(self, patches: list[Patch]) -> None:
        path = self._paths.state_json
        for _ in range(ATTEMPTS):
            before = read_regular(path, MAX_STATE_BYTES)
            document = self._document(before)
            changed = copy.deepcopy(document)
            for patch in patches:
                apply_patch(changed, patch)
            if changed == document and before is not None:
                return
            changed["updated_at"] = timestamp(self._clock())
            try:
                data = encode_pretty(changed)
            except ValueError as error:
                # A value that JSON cannot carry (NaN, a lone surrogate, a huge number) is the agent's to mend: writing
                # the rest would change its meaning in silence.
                raise StateConflict(f"STATE.json cannot be written back ({error}); the change waits") from None
            if read_regular(path, MAX_STATE_BYTES) == before:
                replace_file(path, data)
                return
        raise StateConflict("STATE.json keeps changing while it is being written; the change waits")

    def _document(self, data: bytes | None) -> Document:
        if data is None:
            return empty_state(timestamp(self._clock()))
        state = decode_state(data)
        if isinstance(state, Malformed):
            raise StateConflict(f"STATE.json cannot be read ({state.reason}); the change waits until it can")
        return dict(state.raw)


def apply_patch(document: Document, patch: Patch) -> None:
    """Apply one patch in place; a section of the wrong type is left alone, since it is the agent's to mend."""
    kind = patch["do"]
    if kind == "add":
        section = document.setdefault(patch["section"], [])
        item = patch["item"]
        if isinstance(section, list) and not any(
            isinstance(old, dict) and old.get("id") == item["id"] for old in section
        ):
            section.append(item)
    elif kind == "remove":
        section = document.get(patch["section"])
        if isinstance(section, list):
            document[patch["section"]] = [
                old for old in section if not (isinstance(old, dict) and old.get("id") == patch["id"])
            ]
    elif kind == "cite":
        queue = document.setdefault("pending_citations", [])
        if isinstance(queue, list) and patch["entry"] not in queue:
            queue.append(patch["entry"])
    elif kind == "cited":
        queue = document.get("pending_citations")
        if isinstance(queue, list):
            document["pending_citations"] = [old for old in queue if old not in patch["entries"]]
    elif kind == "touch":
        document["updated_at"] = max(str(document.get("updated_at", "")), patch["at"])
    elif kind == "tool":
        models = document.setdefault("tool_models", {})
        if isinstance(models, dict):
            model = models.setdefault(patch["tool"], {"failure_modes": []})
            if isinstance(model, dict):
                modes = model.setdefault("failure_modes", [])
                if isinstance(modes, list) and patch["mode"] not in modes:
                    modes.append(patch["mode"])
    else:
        raise ValueError(f"unknown change of STATE: {kind}")
