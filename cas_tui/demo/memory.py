"""The agent's memory: its three journals, its world model and its own note of where the story stands.

Journals are only ever appended to; STATE.json is replaced as a whole. A record that is already there is not written
twice, so that a call that was cut off can simply be made again.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from cas_tui.demo.exchange import replace

State = dict[str, Any]
CITED = ("policy", "belief", "tool_model")
RAW_TAIL_BYTES = 80 * 1024


class Memory:
    """The memory root of one agent in one session."""

    def __init__(
        self, root: Path, *, agent: str, session_id: str, nonce: str | None, clock: Callable[[], datetime]
    ) -> None:
        self.root = root
        self.agent = agent
        self.session_id = session_id
        self.nonce = nonce
        self._clock = clock

    def now(self) -> str:
        """This instant as the journals write it: UTC, milliseconds, Z."""
        moment = self._clock()
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"

    def today(self) -> str:
        """The UTC day."""
        return f"{self._clock():%Y-%m-%d}"

    # Journals

    def predict(
        self,
        action_id: str,
        action: str,
        expected: str,
        confidence: float,
        falsifier: str,
        failure_modes: tuple[str, ...] = (),
        citing: list[dict[str, Any]] | None = None,
    ) -> None:
        """Say what will happen, before it is done. `citing` is the queue of lessons this act answers to."""
        record: dict[str, Any] = {
            "action": action,
            "expected_observation": expected,
            "confidence": confidence,
            "expected_failure_modes": list(failure_modes),
            "falsifier": falsifier,
        }
        for kind in CITED:
            refs = list(dict.fromkeys(entry["ref"] for entry in citing or [] if entry.get("type") == kind))
            if refs:
                record[f"{kind}_refs"] = refs
        if citing:
            record["citation_mode"] = "auto_pending_queue"
        self._append("predictions.jsonl", action_id, record)

    def observe(
        self, action_id: str, *, matched: bool, summary: str, success: bool = True, raw: bytes | None = None
    ) -> None:
        """Say what came. `success` is whether the tool worked; `matched` whether the prediction held."""
        record: dict[str, Any] = {
            "success": success,
            "match": "matched" if matched else "mismatched",
            "observation_summary": summary,
        }
        if raw is not None:
            name = f"raw/{self.session_id}/{action_id}.txt"
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(raw[-RAW_TAIL_BYTES:])
            record["raw_ref"] = name
        self._append("observations.jsonl", action_id, record)

    def learn(
        self,
        action_id: str,
        update_type: str = "confirmation_no_update",
        error_class: str | None = None,
        ref: str | None = None,
        rationale: str = "",
        query: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what was made of it."""
        record: dict[str, Any] = {"update_type": update_type, "error_class": error_class}
        if ref is not None:
            record["persistent_ref"] = ref
        if rationale:
            record["rationale"] = rationale
        if query is not None:
            record["query"] = dict(query)
        self._append("learning.jsonl", action_id, record)

    def _append(self, name: str, action_id: str, record: dict[str, Any]) -> None:
        path = self.root / name
        if self._has(path, action_id):
            return
        head = {
            "action_id": action_id,
            "agent": self.agent,
            "session_id": self.session_id,
            "timestamp": self.now(),
            "entry_id": str(uuid.uuid4()),
        }
        if self.nonce:
            head["run_nonce"] = self.nonce
        line = json.dumps({**head, **record}, ensure_ascii=False, separators=(",", ":")) + "\n"
        with path.open("ab") as file:
            file.write(line.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())

    def _has(self, path: Path, action_id: str) -> bool:
        if not path.exists():
            return False
        for line in path.read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("action_id") == action_id and record.get("agent") == self.agent:
                return True
        return False

    # The world model

    def state(self) -> State:
        """STATE.json as it stands."""
        loaded: State = json.loads((self.root / "STATE.json").read_text("utf-8"))
        return loaded

    def save(self, state: State) -> None:
        """Replace STATE.json."""
        state["updated_at"] = self.now()
        replace(self.root / "STATE.json", json.dumps(state, indent=2, ensure_ascii=False) + "\n")

    def keep_belief(self, action_id: str, belief: dict[str, Any]) -> None:
        """Add a belief and queue its citation: the next consequential act has to answer to it."""
        state = self.state()
        beliefs = state.setdefault("beliefs", [])
        if not any(item.get("id") == belief["id"] for item in beliefs):
            beliefs.append(belief)
        self._cite_next(state, "belief", belief["id"], action_id)
        self.save(state)

    def keep_failure(self, action_id: str, tool: str, mode: str) -> None:
        """Add a failure mode to a tool's model and queue its citation."""
        state = self.state()
        model = state.setdefault("tool_models", {}).setdefault(tool, {"reliability": 0.5})
        modes = model.setdefault("failure_modes", [])
        if mode not in modes:
            modes.append(mode)
        self._cite_next(state, "tool_model", tool, action_id)
        self.save(state)

    def _cite_next(self, state: State, kind: str, ref: str, action_id: str) -> None:
        queue = state.setdefault("pending_citations", [])
        if not any(item.get("source_action_id") == action_id and item.get("ref") == ref for item in queue):
            entry = {"type": kind, "ref": ref, "created_at": self.now(), "source_action_id": action_id}
            queue.append(entry)

    def plan(self, **status: str) -> None:
        """Set the status of plan steps, by step id with `_` for `-`."""
        state = self.state()
        for step in state.get("current_plan", []):
            wanted = status.get(str(step.get("step_id", "")).replace("-", "_"))
            step["status"] = wanted or step.get("status", "pending")
        self.save(state)

    def step(self, step_id: str) -> dict[str, Any]:
        """One step of the plan."""
        found = (step for step in self.state().get("current_plan", []) if step.get("step_id") == step_id)
        return dict(next(found, {}))

    # Its own note of where the story stands

    def note(self) -> dict[str, Any]:
        """demo.json, or an empty note."""
        try:
            loaded: dict[str, Any] = json.loads((self.root / "demo.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return loaded

    def save_note(self, note: dict[str, Any]) -> None:
        """Replace demo.json."""
        replace(self.root / "demo.json", json.dumps(note, indent=2, ensure_ascii=False) + "\n")

    def evidence(self, receipt: Mapping[str, Any] | None) -> bytes | None:
        """The bytes a receipt's first artifact names, or None when it has none that can be read."""
        artifacts = (receipt or {}).get("artifacts") or []
        if not artifacts or (receipt or {}).get("status") != "ok":
            return None
        try:
            return (self.root / str(artifacts[0]["path"])).read_bytes()
        except (OSError, KeyError, TypeError):
            return None
