"""Hostile text in every field the console shows: nothing reaches the terminal that is not ours, nothing breaks (T1-T4, T6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grammar import violations
from hostile import HOSTILE
from journey_kit import Stage, stage
from run_kit import console

from cas_tui.cli.common import clock, ids
from cas_tui.ledger import Ledger
from cas_tui.locations import resolve_root, runtime_paths
from cas_tui.protocol.encode import writable
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier

TEXTS = [words for _, words in HOSTILE]
PER_ROOT = 14


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def _state(texts: list[str]) -> dict[str, Any]:
    def every(**keys: str) -> list[dict[str, Any]]:
        return [{name: form.replace("*", words) for name, form in keys.items()} for words in texts]

    return {
        "state_version": "1.0",
        "updated_at": texts[0],
        "active_goals": every(id="*", description="*", priority="*", status="active"),
        "current_plan": every(step_id="*", intent="*", predicted_outcome="*", tool_actions="*", status="*"),
        "commitments": every(id="*", to_whom="*", promise="*", due="*", status="pending"),
        "beliefs": [{"id": words, "claim": words, "confidence": 0.5, "evidence_refs": [words]} for words in texts],
        "uncertainties": every(id="*", question="*", impact="*", plan_to_resolve="*"),
        "policies": every(id="*", trigger="*", rule="*"),
        "tool_models": {words: {"failure_modes": [words], "constraints": [words]} for words in texts},
        "last_session_summary": texts[0],
        "pending_citations": every(type="belief", ref="*", created_at="*", source_action_id="*"),
    }


def _records(root: Path, texts: list[str]) -> None:
    for words in texts:
        head = {"action_id": words, "agent": words, "session_id": words, "timestamp": "2026-11-30T10:00:00.000Z"}
        said = {"action": words, "expected_observation": words, "confidence": 0.5, "falsifier": words}
        refs = {"belief_refs": [words], "expected_failure_modes": [words], "citation_mode": words}
        seen = {"success": False, "match": "mismatched", "observation_summary": words, "raw_ref": words}
        learned = {"update_type": "belief", "error_class": words, "persistent_ref": words, "rationale": words}
        for name, record in (("predictions", said | refs), ("observations", seen), ("learning", learned)):
            with (root / f"{name}.jsonl").open("ab") as file:
                file.write(json.dumps(head | record).encode() + b"\n")
        with (root / "learning.jsonl").open("ab") as file:
            file.write(words.encode("utf-8", "surrogatepass").replace(b"\n", b" ") + b"\n")


def _requests(root: Path, texts: list[str]) -> list[Request]:
    made: list[Request] = []
    kinds = (RequestKind.EFFECT, RequestKind.QUESTION, RequestKind.MISMATCH, RequestKind.ISSUE, RequestKind.UNAPPROVED)
    for number, words in enumerate(texts):
        kind = kinds[number % len(kinds)]
        display = {
            "kind": "diff", "path": words, "added": 1, "removed": 1, "foot": "end of file", "summary": f"Change {words}",
            "rows": [["-", 1, None, words], ["+", None, 1, words]],
        }  # fmt: skip
        query = {"text": words, "type": "one", "options": [words, words]}
        fields = {"path": words, "content": words, "text": words, "query": query, "title": words, "description": words}
        fields |= {"file": words, "expected": words, "observed": words, "action": words, "action_id": words}
        fields |= {"changes": [{"path": words, "was": "absent", "now": "absent"}]}
        request = Request(
            f"r-{number}", kind, RequestState.PENDING, str(root), words, words, "2026-11-30T10:00:00.000Z", words,
            digest="sha256:" + "0" * 64, op_kind="fs_write", op_id=words, action_id=words, prediction=words, fields=fields,
            display=display, tier=Tier.T1, reasons=(words,), flags=(words,), trigger_id=words,
        )  # fmt: skip
        made.append(Request.from_json(writable(request.as_json())))
    return made


def plant(here: Stage, texts: list[str]) -> None:
    """Every string of `texts` in every field."""
    _records(here.root, texts)
    (here.root / "STATE.json").write_bytes(json.dumps(_state(texts)).encode())
    issues = here.root / "state" / "mca"
    issues.mkdir(parents=True)
    for number, words in enumerate(texts):
        name = "".join(letter for letter in words if letter not in "/\x00")[:60].encode("utf-8", "ignore").decode()
        body = f"---\nid: {words}\nsurfaced-by: {words}\nstatus: open\n---\n# MCA\n\n{words}\n"
        (issues / f"{number}{name}.md").write_bytes(body.encode("utf-8", "surrogatepass"))
    root = resolve_root(here.root)
    with Ledger.create(runtime_paths(root, here.environ).ledger, clock=clock, ids=ids) as ledger:
        ledger.requests.insert_pass(_requests(root, texts))


WALK = (
    *"123456789", "esc", "n", "enter", "f", "space", "G", "g", "v", "w", "c", "esc", "d", "esc", "esc",
    *(["n", "enter", "space", "esc"] * 5),
    "3", "j", "enter", "space", "esc", "5", "j", "enter", "esc", "2", "enter", "esc", "?", "esc",
    ":", "b", "esc", "/", "e", "enter", "esc", "m", "x", "esc", "\x10", "esc",
)  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
@pytest.mark.parametrize("part", range((len(TEXTS) + PER_ROOT - 1) // PER_ROOT))
def test_hostile_text_stays_text_on_every_screen(here: Stage, size: tuple[int, int], part: int) -> None:
    plant(here, TEXTS[part * PER_ROOT : (part + 1) * PER_ROOT])
    with console(here, size=size) as shown:
        shown.see("cas-tui", "LIVE")
        for key in WALK:
            shown.press(key)
            assert shown.process.poll() is None, (key, shown.text()[:2000])
        found = list(violations(shown.transcript))
        assert not found, found[:3]
