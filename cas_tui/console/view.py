"""One moment, as screens are given it: the picture, the instant, and what the application knows of itself.

Screens ask it for rows; they never see the picture's insides (DESIGN rule 3). Every answer is made once a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from cas_tui.model.shapes import (
    AttentionRow,
    Card,
    FleetRow,
    Health,
    Line,
    ReceiptLine,
    StreamRow,
    Truth,
)
from cas_tui.protocol.requests import Request


class Rows(Protocol):
    """The functions of `model.rows`: one a pane."""

    def truth(self, picture: Any, now: datetime) -> Truth: ...
    def fleet(self, picture: Any, now: datetime) -> Sequence[FleetRow]: ...
    def attention(self, picture: Any, now: datetime) -> Sequence[AttentionRow]: ...
    def stream(self, picture: Any, root: str, now: datetime) -> Sequence[StreamRow]: ...
    def card(self, picture: Any, root: str, request_id: str, now: datetime) -> Card | None: ...
    def health(self, picture: Any, root: str, now: datetime) -> Health: ...
    def receipt(self, picture: Any, root: str, request_id: str) -> ReceiptLine | None: ...
    def detail(self, picture: Any, root: str, key: str, now: datetime) -> Sequence[Line]: ...


@dataclass(frozen=True, slots=True)
class DemoInfo:
    """What the demo made: a scratch folder with a memory root and a git repository in it."""

    folder: Path
    root: Path
    workspace: Path


@dataclass(frozen=True)
class View:
    """The picture at one instant. `mode` is the word of row 1; `said` stands in the receipt place while it is fresh."""

    picture: Any
    now: datetime
    rows: Rows
    mode: str = "LIVE"
    since: str = ""
    said: str = ""
    last: tuple[str, str] | None = None
    """Root and request of the last decision made here."""
    sent: bool = False
    fresh: bool = False
    coach: bool = False
    quiet_s: float = 0.0
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def _once(self, name: str, *arguments: str) -> Any:
        key = (name, arguments)
        if key not in self._made:
            function = getattr(self.rows, name)
            self._made[key] = function(self.picture, *arguments, self.now)
        return self._made[key]

    def truth(self) -> Truth:
        """Row 1."""
        return self._once("truth")  # type: ignore[no-any-return]

    def fleet(self) -> Sequence[FleetRow]:
        """Every run."""
        return self._once("fleet")  # type: ignore[no-any-return]

    def attention(self) -> Sequence[AttentionRow]:
        """The queue."""
        return self._once("attention")  # type: ignore[no-any-return]

    def stream(self, root: str) -> Sequence[StreamRow]:
        """The pairs of one run."""
        return self._once("stream", root) if root else ()

    def lines(self, pane: str, root: str) -> Sequence[Line]:
        """The rows of one of the panes goals, beliefs, uncertainties, citations, obligations, issues."""
        return self._once(pane, root) if root else ()

    def detail(self, root: str, key: str) -> Sequence[Line]:
        """One record whole."""
        return self._once("detail", root, key)  # type: ignore[no-any-return]

    def card(self, root: str, request_id: str) -> Card | None:
        """One request as its card shows it."""
        return self._once("card", root, request_id) if request_id else None

    def requests(self, root: str) -> Sequence[Request]:
        """The requests of one run, as the ledger has them."""
        run = getattr(self.picture, "runs", {}).get(root)
        return run.requests if run is not None else ()

    def health(self, root: str) -> Health | None:
        """The last row, for one run."""
        return self._once("health", root) if root else None

    def receipt(self, root: str, request_id: str) -> ReceiptLine | None:
        """How far the last decision on a request got; "sent" at once for one that was made here just now."""
        if not request_id:
            return None
        found = self.rows.receipt(self.picture, root, request_id)
        if found is None and self.sent and self.last == (root, request_id):
            return ReceiptLine(request_id, written=False, picked_up=False, ran=False, observed=False)
        return found

    def last_receipt(self) -> ReceiptLine | None:
        """How far the last decision of this console got."""
        return self.receipt(*self.last) if self.last else None

    def run_name(self, root: str) -> str:
        """The short name of a run."""
        return next((row.name for row in self.fleet() if row.root == root), "")

    def clock(self) -> str:
        """The local time of day."""
        return self.now.astimezone().strftime("%H:%M:%S")
