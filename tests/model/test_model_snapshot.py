"""The picture for other programs: the same facts as JSON, and one line a change."""

from __future__ import annotations

import orjson
import pytest
from hostile import HOSTILE
from picturing import NOW, ROOT, Files, ago, alive, decided, effect, ledger, other, picture, state

from cas_tui.model import rows
from cas_tui.model.fold import fold
from cas_tui.model.picture import empty
from cas_tui.model.snapshot import FIRST_ACTS
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.events import FileStatus, IssueFile, IssuesRead
from cas_tui.protocol.requests import RequestKind, RequestState


def test_the_json_names_the_run_its_host_its_counts_and_each_request() -> None:
    """PROTOCOL §5.6: lists under the noun's name, fields under their PROTOCOL names."""
    files = Files()
    files.act("a")
    files.agent = "operator:ana"
    files.act("b")
    made = picture(files, state(run_nonce="n"), ledger([effect()], held=True, held_by="ana"))
    value = rows.as_json(made, NOW)
    assert set(value) == {"runs", "requests"}
    (run,) = value["runs"]
    assert (run["root"], run["name"], run["agent"], run["held"], run["held_by"]) == (ROOT, "docs", "docs", True, "ana")
    assert run["host"] == {
        "alive": True,
        "role": "run",
        "pid": 4127,
        "hostname": "desk",
        "heartbeat_at": ago(1),
        "phase": "gate",
        "workspace": "/home/ana/src/docs",
    }
    assert (run["confinement"], run["state_age"], run["run_nonce"], run["ledger"]) == ("bubblewrap", 1.0, "n", "ok")
    counts = run["counts"]
    assert (counts["predictions"], counts["observations"], counts["operator_acts"], counts["right"]) == (1, 1, 1, 1)
    assert value["requests"] == [effect().as_json()]


@pytest.mark.parametrize(("name", "text"), HOSTILE, ids=[name for name, _ in HOSTILE])
def test_everything_in_the_json_can_be_written(name: str, text: str) -> None:
    """SAFETY A05: a lone surrogate, wherever it comes from, never reaches an encoder bare."""
    request = other(RequestKind.ISSUE, "i-1", {"title": text, text: [text]}, title=text)
    issues = IssuesRead(ROOT, (IssueFile(text, ((text, text),), text),))
    files = Files()
    files.line("prediction", b'{"action_id":"\\ud800","agent":"a","session_id":"\\udfff"')
    made = picture(files, issues, ledger([request], host=alive(agent=text)), FileStatus(ROOT, text, "unreadable", text))
    assert orjson.loads(orjson.dumps(rows.as_json(made, NOW)))["runs"][0]["root"] == ROOT
    assert rows.changes(empty(), made, NOW)


def test_each_change_is_one_line_and_nothing_is_told_twice() -> None:
    files = Files()
    files.said("a", action="fs_patch README.md", expects="fine")
    made = picture(files, ledger([effect()]), state())
    assert rows.changes(empty(), made, NOW) == (
        'docs prediction a "fs_patch README.md" expects "fine" 90 %',
        "docs STATE.json read",
        "docs request r-1 effect T1 pending: Change README.md +1 -1",
        "docs host 4127 run",
    )
    assert rows.changes(made, made, NOW) == ()
    files.came("a", "1 changed file", match="mismatched")
    files.learned("a", "belief", persistent_ref="B-9", rationale="because")
    bad = files.line("learning", b"[]")
    assert isinstance(bad, Malformed)
    later = made
    for event in files.events():
        later = fold(later, event)
    approved = effect(state=RequestState.APPROVED)
    later = fold(later, ledger([approved], [decided("r-1", Verdict.APPROVE)], held=True, held_by="ana"))
    assert rows.changes(made, later, NOW) == (
        'docs observation a mismatched: "1 changed file"',
        'docs learning a belief B-9: "because"',
        f"docs malformed learning.jsonl +{bad.offset}: {bad.reason}",
        "docs request r-1 effect T1 pending > approved: Change README.md +1 -1",
        "docs decision approve on r-1 by ana",
        "docs held by ana",
    )


def test_a_long_history_is_told_by_its_newest_part_and_a_count() -> None:
    files = Files()
    for number in range(FIRST_ACTS + 30):
        files.said(f"a{number}")
    told = rows.changes(empty(), picture(files), NOW)
    assert told[0] == "docs 30 earlier acts"
    assert len(told) == FIRST_ACTS + 1


def test_a_host_that_goes_and_a_file_that_cannot_be_read_are_changes() -> None:
    made = picture(ledger(), FileStatus(ROOT, "learning.jsonl", "live"))
    later = fold(made, ledger(host=alive(alive=False, heartbeat_at=ago(9))))
    later = fold(later, FileStatus(ROOT, "learning.jsonl", "unreadable", "permission denied"))
    assert rows.changes(made, later, NOW) == (
        'docs file learning.jsonl unreadable: "permission denied"',
        "docs host gone",
    )
