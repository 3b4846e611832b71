"""What every phase needs to do its work, in one place: the root, the ledger, the clock, who the agent is.

One value per host, handed from phase to phase; it decides nothing. Nothing here reaches for the environment or the
time by itself, so a test can hold all of it still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cas_tui.effects.preimages import PreImageStore
from cas_tui.effects.workspace import Workspace
from cas_tui.ledger import Ledger
from cas_tui.locations import RootPaths, RuntimePaths
from cas_tui.loop.commit import StateFile
from cas_tui.loop.journal import Journal
from cas_tui.loop.policy import Policy, load_policy
from cas_tui.loop.records import Actor
from cas_tui.loop.redact import Redactor
from cas_tui.protocol.encode import timestamp

Clock = Callable[[], datetime]
Ids = Callable[[], str]


@dataclass(slots=True)
class Context:
    """The host's world. `epoch` is the fencing number of its lease; `workspace` is None for a host without one."""

    root: Path
    paths: RootPaths
    runtime: RuntimePaths
    ledger: Ledger
    clock: Clock
    ids: Ids
    policy: Policy
    journal: Journal
    state: StateFile
    redactor: Redactor
    store: PreImageStore
    agent: str
    session_id: str
    run_nonce: str | None
    epoch: int
    workspace: Workspace | None = None
    confinement: str = ""

    def refresh_policy(self) -> None:
        """Read the policy again: when a request is made and just before an effect starts (E9). Raises PolicyError."""
        self.policy = load_policy(self.runtime.policy)

    @property
    def identity(self) -> tuple[str, str]:
        """Author and committer of what is committed here: ours, never words of the agent (SAFETY J12)."""
        return (f"{self.agent} (cas-tui)", "cas-tui@localhost")

    def now(self) -> str:
        """This instant as the files write it."""
        return timestamp(self.clock())

    def actor(self, session_id: str = "", run_nonce: str | None = None, agent: str = "") -> Actor:
        """The agent in whose name telemetry is written, by default in the session of this host."""
        return Actor(agent or self.agent, session_id or self.session_id, run_nonce or self.run_nonce)
