"""Rows: one pure function a pane, from the picture and the instant to what is drawn. No width, no colour, no I/O."""

from __future__ import annotations

from cas_tui.model.attention import attention, settled_words
from cas_tui.model.picture import empty
from cas_tui.model.rows.card import card, receipt
from cas_tui.model.rows.detail import detail
from cas_tui.model.rows.fleet import fleet
from cas_tui.model.rows.lists import citations, issues, obligations
from cas_tui.model.rows.state_panes import beliefs, goals, uncertainties
from cas_tui.model.rows.stream import stream
from cas_tui.model.rows.truth import health, truth
from cas_tui.model.snapshot import as_json, changes

__all__ = [
    "as_json",
    "attention",
    "beliefs",
    "card",
    "changes",
    "citations",
    "detail",
    "empty",
    "fleet",
    "goals",
    "health",
    "issues",
    "obligations",
    "receipt",
    "settled_words",
    "stream",
    "truth",
    "uncertainties",
]
