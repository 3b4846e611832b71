"""How far a decision got, as one line: a pure function for the card and for the last row of the screen."""

from __future__ import annotations

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.model.shapes import ReceiptLine


def receipt_line(receipt: ReceiptLine, glyphs: Glyphs) -> str:
    """`sent > written > picked up > ran > observed`, as far as it got, and how it ended.

    What is not reached yet is not named: sent is not done (CONSOLE §4.3.13).
    """
    stages = (
        ("written", receipt.written),
        ("picked up", receipt.picked_up),
        ("ran", receipt.ran),
        ("observed", receipt.observed),
    )
    reached = ["sent", *(name for name, on in stages if on)]
    outcome = f": {text.line(receipt.outcome, ascii_only=glyphs.ascii)}" if receipt.outcome else ""
    return f" {glyphs['then']} ".join(reached) + outcome
