"""The picture: all that is known of every run at one moment, as one immutable value.

Folded from events by `fold`; every pane is a pure function of it and of `now`. There is no other state: a picture made
from the same files and the same ledger shows the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from cas_tui.model.journal import Journal
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.events import FileStatus, HostStatus, IssueFile, LedgerRead, LoopFiles, Progress, StateRead
from cas_tui.protocol.requests import Request
from cas_tui.protocol.state import State


@dataclass(frozen=True, eq=False)
class RunPicture:
    """One run: its journal, the last good STATE, its files, issues and ledger. Compared by identity."""

    root: str
    journal: Journal = field(default_factory=Journal)
    state_read: StateRead | None = None
    files: Mapping[str, FileStatus] = field(default_factory=dict)
    epochs: Mapping[str, int] = field(default_factory=dict)
    """File → how often it was rewritten while we looked (SAFETY D7)."""
    issues: tuple[IssueFile, ...] = ()
    loop: LoopFiles | None = None
    ledger: LedgerRead | None = None

    @property
    def state(self) -> State | None:
        """The last good STATE, if any was read."""
        return self.state_read.state if self.state_read else None

    @property
    def requests(self) -> tuple[Request, ...]:
        """As the ledger last had them."""
        return self.ledger.requests if self.ledger else ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The newest ones."""
        return self.ledger.decisions if self.ledger else ()

    @property
    def progress(self) -> tuple[Progress, ...]:
        """How far decisions got."""
        return self.ledger.progress if self.ledger else ()

    @property
    def host(self) -> HostStatus:
        """As last read; whether it still lives is for `acts.host_alive` to say."""
        return self.ledger.host if self.ledger else HostStatus()

    @property
    def held(self) -> bool:
        """Whether nothing new may start."""
        return self.ledger is not None and self.ledger.held

    @property
    def unconfined(self) -> bool:
        """Whether the agent of this run can act without asking."""
        return self.host.confinement.startswith("unconfined")


@dataclass(frozen=True, eq=False)
class Picture:
    """Every run by its memory root, in the order in which they were first heard of."""

    runs: Mapping[str, RunPicture] = field(default_factory=dict)


def empty() -> Picture:
    """The picture before anything was read."""
    return Picture()


def names(picture: Picture) -> dict[str, str]:
    """A short name for each run: the agent's directory, longer only as far as two runs share one."""
    parts = {root: _parts(root) for root in picture.runs}
    found: dict[str, str] = {}
    for root, mine in parts.items():
        length = 1
        while length < len(mine) and any(
            other != root and theirs[-length:] == mine[-length:] for other, theirs in parts.items()
        ):
            length += 1
        found[root] = "/".join(mine[-length:]) or root
    return found


def name(picture: Picture, root: str) -> str:
    """The short name of one run."""
    return names(picture).get(root) or root


def _parts(root: str) -> tuple[str, ...]:
    # A memory root is often `…/<agent>/memory`; the word memory tells nobody which agent.
    parts = tuple(part for part in PurePath(root).parts if part != "/")
    return parts[:-1] if len(parts) > 1 and parts[-1] in ("memory", ".memory") else parts
