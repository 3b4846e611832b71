"""The rows that stand at every size: truth line, key row, health row, coach line, walls. All words here are ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row, Span
from cas_tui.console.widgets.painted import Painted
from cas_tui.model.shapes import Health, ReceiptLine, Truth


@dataclass(frozen=True, slots=True)
class TruthFacts:
    """What row 1 says: the counts, the mode word, since when the counts are."""

    truth: Truth
    mode: str
    since: str


class TruthLine(Painted):
    """Row 1. An alarm replaces its middle; nothing else on the screen looks like it (SCREENS §1.1)."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="truth")
        self._glyphs = glyphs
        self._facts: TruthFacts | None = None

    def show(self, facts: TruthFacts) -> None:
        """Show these facts."""
        if facts != self._facts:
            self._facts = facts
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One row."""
        facts = self._facts
        if facts is None:
            return ()
        truth = facts.truth
        total = self.app.size.width
        cells = Cells(width, ascii_only=self._glyphs.ascii)
        mode_ink = "muted" if facts.mode in ("LIVE", "DEMO") else "mode strong"
        cells.put(" cas-tui", "text strong").put("  ").put(facts.mode, mode_ink).put("   ")
        if truth.alarm:
            return (cells.said(truth.alarm, "danger strong", width - 2 - cells.x).row(),)
        if truth.needs_you:
            noun = "waits" if truth.needs_you == 1 else "wait"
            cells.put(f"{self._glyphs['needs']} {truth.needs_you} {noun} for you", "need strong")
        else:
            cells.put("nothing waits", "muted")
        cells.put("   ").put(f"{truth.review} to review", "muted")
        first = "" if truth.first_expiry_s is None else text.age(truth.first_expiry_s)
        since = self._since(truth, facts.since)
        if total >= 200:
            cells.put(f"   first expires in {first}" if first else "", "muted")
            cells.right(width - 3, since, "muted")
        elif total >= 120:
            cells.put(f"   {since}", "muted", width - 2 - cells.x)
        elif first:
            cells.right(width - 3, f"next expiry {first}", "muted")
        return (cells.row(),)

    @staticmethod
    def _since(truth: Truth, since: str) -> str:
        return (
            f"since {since}: {truth.acts} acts, {truth.by_rule} by rule, "
            f"{truth.mismatched} mismatched, {truth.unapproved} unapproved"
        )


class ClockFace(Painted):
    """The time of day at the end of row 1: a widget of its own, so that a second costs eight cells and not a row."""

    def __init__(self) -> None:
        super().__init__(id="clock")
        self._clock = ""

    def show(self, clock: str) -> None:
        """Show this time."""
        if clock != self._clock:
            self._clock = clock
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One row."""
        return ((Span(self._clock, "muted"),),)


class KeyRow(Painted):
    """The keys of where the operator is, only those that work now; the last ones go first when room is short."""

    def __init__(self) -> None:
        super().__init__(id="keys")
        self._keys: tuple[tuple[str, str], ...] = ()

    def show(self, keys: Sequence[tuple[str, str]]) -> None:
        """Show these keys with their words."""
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One row."""
        keys = list(self._keys)
        while keys and 1 + sum(text.cells(f"{key} {words}".strip()) + 2 for key, words in keys) - 2 > width:
            # Help, go-to and leave stand last and stay; the least needed stand just before them.
            del keys[-4 if len(keys) > 4 else -1]
        cells = Cells(width).put(" ")
        for place, (key, words) in enumerate(keys):
            cells.put("  " if place else "").put(key, "text").put(f" {words}" if words else "", "muted")
        return (cells.row(),)


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """What the last row says: the host and data of the run looked at, the focus, and the receipt place."""

    health: Health | None
    focus: str
    cwd: str = ""
    receipt: ReceiptLine | None = None
    said: str = ""
    idle: str = "-"
    fresh: bool = False
    """Whether a receipt reached observed within the last ten seconds: the one resting place of the ok ink."""


class HealthRow(Painted):
    """The last row: host, age of data, ledger, focus; right, the receipt of the last decision or one line said."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="health")
        self._glyphs = glyphs
        self._facts: HealthFacts | None = None

    def show(self, facts: HealthFacts) -> None:
        """Show these facts."""
        if facts != self._facts:
            self._facts = facts
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One row. The receipt place has the right of way over the left half."""
        facts = self._facts
        if facts is None:
            return ()
        gap = "  " if width < 120 else "   "
        place = self._place(facts, width)
        length = sum(text.cells(span.text) for span in place)
        left = Cells(max(0, width - 1 - length - 2), ascii_only=self._glyphs.ascii).put(" ")
        self._left(left, facts, gap)
        spans = left.row()
        return ((*spans, Span("  "), *place, Span(" ")),)

    def _left(self, cells: Cells, facts: HealthFacts, gap: str) -> None:
        health = facts.health
        if health is not None:
            cells.put(f"host {health.host}", "muted" if health.host_ok else "danger").put(gap)
            cells.put(f"data {text.span(health.data_age_s)}", "muted").put(gap)
            cells.put(f"ledger {health.ledger}", "muted" if health.ledger_ok else "danger")
            if health.held:
                cells.put(gap).put("held", "mode")
        if facts.focus:
            cells.put(gap if health else "").put(f"focus {facts.focus}", "muted")
        if facts.cwd:
            cells.put(gap).put(f"cwd {text.line(facts.cwd, ascii_only=self._glyphs.ascii)}", "muted")

    def _place(self, facts: HealthFacts, width: int) -> Row:
        if facts.said:
            return (Span(text.line(facts.said, limit_cells=width - 12, ascii_only=self._glyphs.ascii), "text strong"),)
        if facts.receipt is None:
            return (Span(f"receipt: {facts.idle}", "muted"),)
        words = receipt_words(facts.receipt, self._glyphs)
        ink = "ok" if facts.fresh and facts.receipt.observed else "text"
        return (Span("receipt: ", "muted"), Span(text.clip(words, max(12, width - 24)), ink))


def receipt_words(receipt: ReceiptLine, glyphs: Glyphs) -> str:
    """How far the last decision got. "Sent" is not "done": what is not reached yet is not named (CONSOLE §4.3.13)."""
    stages = [("written", receipt.written), ("picked up", receipt.picked_up), ("ran", receipt.ran)]
    stages.append(("observed", receipt.observed))
    reached = ["sent", *(name for name, on in stages if on)]
    outcome = f": {text.line(receipt.outcome, ascii_only=glyphs.ascii)}" if receipt.outcome else ""
    return f" {glyphs['then']} ".join(reached) + outcome


class Wall(Painted):
    """The line between two columns."""

    def __init__(self, glyphs: Glyphs, *, id: str) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """The same row all the way down."""
        return ((Span(f" {self._glyphs['wall']} ", "rule"),),) * height


class Floor(Painted):
    """The line under the columns of a large screen."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="floor")
        self._glyphs = glyphs

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One line."""
        return ((Span(self._glyphs["rule"] * width, "rule"),),)
