"""STATE.json is shared with an agent that takes no lock (D3, D4, SAFETY D01-D03)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cas_tui.ledger import Ledger
from cas_tui.locations import RootPaths
from cas_tui.loop import commit
from cas_tui.loop.commit import StateFile


@pytest.fixture
def file(tmp_path: Path) -> Iterator[StateFile]:
    clock = lambda: datetime(2026, 11, 30, tzinfo=UTC)  # noqa: E731
    with Ledger.create(tmp_path / "zone" / "ledger.db", clock=clock, ids=lambda: "x") as ledger:
        yield StateFile(RootPaths(tmp_path / "root"), ledger, clock)


def path_of(file: StateFile) -> Path:
    return file._paths.state_json


BELIEF = commit.add_item("beliefs", {"id": "b1", "claim": "it rains"})


def test_a_missing_state_is_made_whole_with_the_change_in_it(file: StateFile) -> None:
    file.change("k", BELIEF)
    document = json.loads(path_of(file).read_text())
    assert document["beliefs"][0]["id"] == "b1" and document["state_version"] == "1.0"


def test_unknown_keys_their_order_and_the_agents_items_stay_as_they_are(file: StateFile) -> None:
    path = path_of(file)
    path.parent.mkdir()
    path.write_text('{"zeta": {"deep": [1, null]}, "beliefs": [{"id": "a0", "claim": "mine", "mood": 3}], "alpha": 1}')
    file.change("k", BELIEF)
    document = json.loads(path.read_text())
    assert list(document)[:3] == ["zeta", "beliefs", "alpha"]
    assert document["beliefs"][0] == {"id": "a0", "claim": "mine", "mood": 3} and document["zeta"] == {
        "deep": [1, None]
    }


def test_the_same_change_is_made_once(file: StateFile) -> None:
    file.change("k", BELIEF)
    path_of(file).write_text("{}")
    file.change("k", BELIEF)
    assert path_of(file).read_text() == "{}"


@pytest.mark.parametrize(
    "content", ['{"beliefs": [', "[]", '{"n": NaN}', '{"s": "\\ud800"}', '{"n": 123456789012345678901234567890}']
)
def test_a_state_that_cannot_be_carried_is_left_alone_and_the_change_waits(file: StateFile, content: str) -> None:
    """D5: nothing of the agent's is rewritten to repair it."""
    path = path_of(file)
    path.parent.mkdir()
    path.write_text(content)
    assert file.change("k", BELIEF) is False
    assert path.read_text() == content
    assert len(file.settle()) == 1
    path.write_text("{}")
    assert file.settle() == []
    assert json.loads(path.read_text())["beliefs"][0]["id"] == "b1"


def test_a_citation_is_queued_once_and_cleared_by_exactly_what_was_cited(file: StateFile) -> None:
    cite = commit.queue_citation("belief", "b1", "2026-11-30T00:00:00.000Z", "a1")
    other = commit.queue_citation("policy", "p1", "2026-11-30T00:00:00.000Z", "a2")
    file.change("one", cite, other)
    file.change("two", cite)
    queue = json.loads(path_of(file).read_text())["pending_citations"]
    assert [entry["ref"] for entry in queue] == ["b1", "p1"]
    file.change("three", commit.clear_citations([queue[0]]))
    assert [entry["ref"] for entry in json.loads(path_of(file).read_text())["pending_citations"]] == ["p1"]


def test_a_section_of_the_wrong_type_is_left_to_the_agent(file: StateFile) -> None:
    path = path_of(file)
    path.parent.mkdir()
    path.write_text('{"beliefs": "none", "pending_citations": 3, "tool_models": []}')
    cite = commit.queue_citation("belief", "b1", "t", "a1")
    file.change("k", BELIEF, cite, commit.note_failure("tool", "mode"))
    assert json.loads(path.read_text())["beliefs"] == "none"
