"""A stage for the console's tests: the picture of SCREENS §2 and §5 as rows, a door that notes calls, a clock.

The rows are those of the drawings. A test replaces them while the console runs, as a change of files would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textual.widget import Widget

from cas_tui.console.app import ConsoleApp
from cas_tui.console.feed import Feed
from cas_tui.console.ink import Cells
from cas_tui.console.messages import Decide, DecisionRefused, DecisionSent
from cas_tui.console.view import DemoInfo
from cas_tui.console.widgets.painted import Painted
from cas_tui.console.wiring import Wiring
from cas_tui.model.shapes import (
    AttentionRow,
    Card,
    ContractRow,
    FleetRow,
    Health,
    Line,
    PayloadRow,
    ReceiptLine,
    StreamRow,
    Truth,
)
from cas_tui.protocol.decisions import Decision, Operator, Verdict
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier

NOON = datetime(2026, 11, 30, 14, 32, 7, tzinfo=UTC)
OPENED = datetime(2026, 11, 30, 9, 12, 0, tzinfo=UTC)
DAY = "2026-11-30T"
M, H = 60.0, 3600.0


def fleet() -> tuple[FleetRow, ...]:
    """Seven runs."""

    def run(name: str, group: str, glyph: str, **more: Any) -> FleetRow:
        return FleetRow(f"/r/{name}", name, group, glyph, host_alive=True, **more)

    return (
        run("api", "Needs you", "needs", waits_s=9 * M, right=21, judged=30, mismatched=1),
        run("docs", "Needs you", "needs", waits_s=3 * M, right=17, judged=18, obligations=1),
        run("deps", "Needs you", "needs", waits_s=M, right=3, judged=4),
        run("lint", "Working", "working", silent_s=2, right=40, judged=44, mismatched=1),
        run("i18n", "Working", "working", silent_s=14, right=12, judged=12),
        run("build", "Quiet, look", "quiet", silent_s=11 * M, right=33, judged=39, obligations=2,
            note="fs_write open 11m, p95 is 40s"),
        run("bench", "Done", "done", silent_s=H, right=18, judged=18),
    )  # fmt: skip


def row(run: str, kind: str, ask: str, tier: str, age: float, left: float | None = None, **more: Any) -> AttentionRow:
    """One row of the queue; the band follows from the kind."""
    band = "needs" if kind in ("effect", "question", "unapproved", "unknown") else "review"
    request = f"q-{run}" if kind != "stuck" else ""
    return AttentionRow(
        f"{run}-{kind}", f"/r/{run}", run, request, kind, band, ask, kind == "question", tier, age, left, **more
    )


def attention(long_ask: bool = False) -> tuple[AttentionRow, ...]:
    """Three that need the operator, four to review."""
    stuck = "fs_write open 11m, p95 for fs_write is 40s" if long_ask else "fs_write open 11m, p95 is 40s"
    return (
        row("api", "question", "Which database do the tests use?", "", 9 * M),
        row("docs", "effect", "Change README.md +3 -1", "T1", 3 * M),
        row("deps", "effect", "Run pip-compile requirements.in", "T3", M, 29 * M, flagged=True),
        row("docs", "due", "O-3 due, no automatic wake", "", 2 * H),
        row("i18n", "issue", "Locale files have no owner", "", 40 * M),
        row("lint", "mismatch", 'said "12 passed", came 11 of 12', "", 14 * M),
        row("build", "stuck", stuck, "", 11 * M),
    )


def stream() -> tuple[StreamRow, ...]:
    """What docs did."""

    def pair(
        at: str, action: str, expected: str, confidence: float, verdict: str, glyph: str, **more: Any
    ) -> StreamRow:
        return StreamRow(
            f"s-{at}", f"{DAY}{at}+00:00", action, expected, confidence, glyph, verdict, detail=f"s-{at}", **more
        )

    wrong = pair("13:50:12", "git_diff", "clean", 0.8, "mismatched", "failed", latency_s=0.2, observed="1 changed file",
                 learned="B-9", lamps=(True, True, True, True))  # fmt: skip
    patch = "README shows Python 3.11 and the new install line"
    return (
        wrong,
        StreamRow("fold", f"{DAY}14:20:00+00:00", "", "", None, "done", "as expected", None, folded=12),
        pair("14:28:31", "git_status", "clean", 0.95, "as expected", "done", latency_s=0.1),
        pair("14:28:40", "fs_list .", "a README and src", 0.95, "as expected", "done", latency_s=0.1),
        pair("14:29:01", "fs_read README.md", "install section names 3.9", 0.92, "as expected", "done", latency_s=0.1),
        pair("14:29:04", "fs_patch README.md", patch, 0.9, "waits for you", "needs", age_s=3 * M),
    )


def request(root: str, request_id: str, title: str, kind: RequestKind = RequestKind.EFFECT) -> Request:
    """A pending request."""
    return Request(
        request_id, kind, RequestState.PENDING, root, "docs", "s1", f"{DAY}14:29:04+00:00", title,
        digest="9c41e07b" + "0" * 56, op_kind="fs_patch", tier=Tier.T1,
    )  # fmt: skip


def card(root: str = "/r/docs", request_id: str = "q-docs", size: str = "medium") -> Card:
    """The card of SCREENS §3, in the words its drawing at this size has."""
    large = size == "large"
    payload = (
        PayloadRow(" ", 10, 10, "## Install"),
        PayloadRow(" ", 11, 11, ""),
        PayloadRow("-", 12, None, "python 3.9 or newer, then: pip install tool"),
        PayloadRow("+", None, 12, "python 3.11 or newer, then:"),
        PayloadRow("+", None, 13, "    python -m venv .venv"),
        PayloadRow("+", None, 14, "    .venv/bin/pip install tool"),
        PayloadRow(" ", 13, 15, "## Use"),
    )
    contract = (
        ContractRow("says", "README shows Python 3.11 and the new install line", quoted=True, right="90 %"),
        ContractRow("reject if", "any other line of README.md changes", quoted=True),
        ContractRow("may fail", "context drift", True, "known for this tool, not listed: none" if large else ""),
        *((ContractRow("", ""),) if not large else ()),
        ContractRow("= earned", "says 90 %; at 85-95 % on fs_patch right 17 of 18 (74-99 %)"),
        ContractRow("= deed", "matches the promise" + (": same file, same kind of act" if large else "")),
        ContractRow("= leans on", f'B-12 "python >= 3.11" 0.9, {"checked " if large else ""}2h ago'),
        ContractRow("= open", "no uncertainty touches README.md"),
        ContractRow("= lessons", "none pending"),
        ContractRow("= before", "not seen before"),
    )
    return Card(
        request(root, request_id, "Change README.md +3 -1"), "docs", 2, 3,
        "Change README.md: 3 lines added, 1 removed, mode stays 0644",
        "reversible, inside the workspace, predicted, 17 of 18 right here", (), False, False,
        "14:29:04", "act-7f3a", contract, "Exact change: README.md", payload, "end of file, newline kept", "p1",
        None, 3 * M, verdicts=("approve", "deny", "edit"), cwd="~/src/docs",
    )  # fmt: skip


def goals() -> tuple[Line, ...]:
    """Goals, plan and promises of docs."""
    return (
        Line("g1", "G-1 high  Docs install on 3.11", detail="g1"),
        Line("s1", "S-1 find every version named", glyph="done", indent=1, detail="s1"),
        Line("s2", "S-2 patch README.md", glyph="needs", indent=1, right="waits", detail="s2"),
        Line("s3", "S-3 commit", indent=2, detail="s3"),
        Line("p", "Promises", heading=True),
        Line("c1", 'to Ana "docs by noon" 2h32 overdue', glyph="quiet", indent=1, detail="c1"),
        Line("c1w", "no wake owns this promise", indent=2, muted=True),
    )


def beliefs() -> tuple[Line, ...]:
    """Two beliefs."""
    return (
        Line("b12", "B-12 python >= 3.11", indent=1, right="0.9", detail="b12"),
        Line("b12e", "from pyproject.toml, 2h ago", indent=2, muted=True),
        Line("b9", "B-9  CI runs make docs", indent=1, right="0.7", detail="b9"),
    )


@dataclass
class Stage:
    """The rows a console draws; a test assigns other ones and calls `app.publish()`."""

    attention_rows: tuple[AttentionRow, ...] = field(default_factory=attention)
    fleet_rows: tuple[FleetRow, ...] = field(default_factory=fleet)
    stream_rows: tuple[StreamRow, ...] = field(default_factory=stream)
    alarm: str = ""
    receipts: dict[str, ReceiptLine] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    asked: int = 0
    counts: tuple[int, int] | None = None
    size: str = "medium"

    def truth(self, picture: Any, now: datetime) -> Truth:
        """Counted from the queue."""
        needs = [r for r in self.attention_rows if r.band == "needs" and not r.settled]
        review = [r for r in self.attention_rows if r.band != "needs"]
        left = [r.left_s for r in needs if r.left_s is not None]
        needs_you, to_review = self.counts or (len(needs), len(review))
        return Truth(needs_you, to_review, min(left, default=None), self.alarm, 41, 6, 2, 0)

    def fleet(self, picture: Any, now: datetime) -> Sequence[FleetRow]:
        """The runs."""
        return self.fleet_rows

    def attention(self, picture: Any, now: datetime) -> Sequence[AttentionRow]:
        """The queue."""
        self.asked += 1
        return self.attention_rows

    def stream(self, picture: Any, root: str, now: datetime) -> Sequence[StreamRow]:
        """Only docs did something."""
        return self.stream_rows if root == "/r/docs" else ()

    def goals(self, picture: Any, root: str, now: datetime) -> Sequence[Line]:
        """Only docs has any."""
        return goals() if root == "/r/docs" else ()

    def beliefs(self, picture: Any, root: str, now: datetime) -> Sequence[Line]:
        """Only docs has any."""
        return beliefs() if root == "/r/docs" else ()

    def uncertainties(self, picture: Any, root: str, now: datetime) -> Sequence[Line]:
        """One."""
        if root != "/r/docs":
            return ()
        return (
            Line("u2", "U-2 is 3.9 still supported?", indent=1, right="low", detail="u2"),
            Line("u2p", "plan: read setup.cfg", indent=2, muted=True),
        )

    def citations(self, picture: Any, root: str, now: datetime) -> Sequence[Line]:
        """One, cited."""
        lamps = "missed v  learned v  saved v  cited v"
        return (Line("b9", f"B-9  {lamps}  41m", muted=True, detail="b9"),) if root == "/r/docs" else ()

    def obligations(self, picture: Any, root: str, now: datetime) -> Sequence[Line]:
        """One."""
        if root != "/r/docs":
            return ()
        return (
            Line("o3", "O-3 when ci.yml changes: wake docs", detail="o3"),
            Line("o3a", "registered, 2 of 5 left, ends in 6d", indent=1, muted=True),
            Line("o3b", "wake: no automatic wake, reconcile by hand", indent=1, muted=True),
            Line("o3c", "last: triggered v  delivered v  acted ?  done -", indent=1, muted=True),
        )

    def issues(self, picture: Any, root: str, now: datetime) -> Sequence[Line]:
        """Two."""
        return (
            Line("i1", "Locale files have no owner", indent=1, right="i18n   40m", detail="i1"),
            Line("i2", "Wheel lacks py.typed", indent=1, right="lint    3h", detail="i2"),
        )

    def card(self, picture: Any, root: str, request_id: str, now: datetime) -> Card | None:
        """Every request has one."""
        if request_id in self.cards:
            return self.cards[request_id]
        found = next((r for r in self.attention_rows if r.request_id == request_id and r.root == root), None)
        if found is None:
            return None
        made = card(root, request_id, self.size)
        return replace(made, run=found.run, request=replace(made.request, title=found.ask), settled=found.settled)

    def health(self, picture: Any, root: str, now: datetime) -> Health:
        """All well."""
        return Health("ok 4127", True, 0.2, "ok", True)

    def receipt(self, picture: Any, root: str, request_id: str) -> ReceiptLine | None:
        """What a test put there."""
        return self.receipts.get(request_id)

    def detail(self, picture: Any, root: str, key: str, now: datetime) -> Sequence[Line]:
        """Two fields."""
        return (Line("a", "fs_read README.md", label="action"), Line("b", "observations.jsonl +8812", label="file"))


class Refusal(Exception):
    """What a door raises."""

    exit_code = 3


@dataclass
class FakeDoor:
    """Notes what it is told; refuses when a test says so."""

    root: Path
    told: list[tuple[str, Any]]
    refuse: str = ""

    def decide(self, request_id: str, verdict: Verdict, **more: Any) -> Any:
        """Note it."""
        if self.refuse:
            raise Refusal(self.refuse)
        self.told.append(("decide", (request_id, verdict, more)))
        operator = Operator("ana", 1000, "here", "tui")
        decision = Decision("d-1", request_id, more.get("digest") or "", verdict, operator, f"{DAY}14:32:07+00:00")

        @dataclass
        class Sent:
            decision: Decision
            request: Request
            host: str = "alive"

        return Sent(decision, request(str(self.root), request_id, "Change README.md +3 -1"))

    def hold(self, reason: str = "") -> None:
        """Note it."""
        self.told.append(("hold", str(self.root)))

    def resume(self) -> None:
        """Note it."""
        self.told.append(("resume", str(self.root)))

    def message(self, words: str) -> str:
        """Note it."""
        self.told.append(("message", words))
        return "m-1"


class CardDouble(Painted, can_focus=True):
    """Stands where the card stands: says which request it shows, and whether it is live."""

    def __init__(self) -> None:
        super().__init__(id="card")
        self.peek = True
        self.locked = False
        self.shown: Card | None = None
        self.answers: list[DecisionSent | DecisionRefused] = []

    def show(self, given: Card | None, receipt: ReceiptLine | None) -> None:
        """Keep it."""
        self.shown = given
        self.repaint()

    def rows(self, width: int, height: int) -> Any:
        """One row."""
        words = self.shown.request.request_id if self.shown else "no card"
        return (Cells(width).put(f"CARD {words} {'PEEK' if self.peek else 'LIVE'}").row(),)

    def key_a(self) -> None:
        """Decide, without any guard: guards are the real card's."""
        assert self.shown is not None
        made = self.shown.request
        self.post_message(Decide(made.root, made.request_id, Verdict.APPROVE, made.digest))

    def on_decision_sent(self, event: DecisionSent) -> None:
        """Keep it."""
        self.answers.append(event)

    def on_decision_refused(self, event: DecisionRefused) -> None:
        """Keep it."""
        self.answers.append(event)


class ManualClock:
    """Stands still until it is set."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        """Now."""
        return self.at


def console(
    stage: Stage | None = None,
    *,
    ascii_mode: bool = True,
    told: list[tuple[str, Any]] | None = None,
    refuse: str = "",
    demo: DemoInfo | None = None,
    theme: str | None = None,
    make_card: Callable[[], Widget] | None = CardDouble,
    watch: Any = None,
) -> ConsoleApp:
    """A console on the stage, at 14:32:07, opened at 09:12."""
    clock = ManualClock(OPENED)
    used: Any = stage or Stage()
    notes = told if told is not None else []
    app = ConsoleApp(
        (),
        environ={},
        clock=clock,
        ids=lambda: "id",
        doors=lambda root: FakeDoor(root, notes, refuse),
        demo=demo,
        ascii_mode=ascii_mode,
        theme=theme,
        wiring=Wiring(Feed(None, lambda picture, event: event, (), watch), used),
        make_card=make_card,
    )
    clock.at = NOON
    return app


def screen_text(app: ConsoleApp) -> list[str]:
    """The rows of the terminal as they stand, without trailing blanks."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(app.size)
    assert len(strips) == height, (len(strips), height, width)
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]
