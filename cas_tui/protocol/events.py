"""What a source reports and the picture folds: the only vocabulary between `sources` and `model`.

A source yields these; `model.fold` consumes them. Events are facts about files and the ledger, without opinion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.decode import Json, Malformed
from cas_tui.protocol.journal import Record
from cas_tui.protocol.requests import Request
from cas_tui.protocol.state import State


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """New records of one telemetry file, in file order. `history` marks the first page read at opening."""

    root: str
    file: str
    records: tuple[Record, ...]
    malformed: tuple[Malformed, ...] = ()
    history: bool = False


@dataclass(frozen=True, slots=True)
class FileStatus:
    """How one file of a root stands: `live`, `missing`, `unreadable`, `rewritten`, with size, and bytes not read.

    `rewritten` comes before the records of the new content; what was folded from the old content stays, marked.
    `unread_before` is how many bytes of history lie before the first record read (newest part first).
    """

    root: str
    file: str
    status: str
    detail: str = ""
    size: int = 0
    unread_before: int = 0


@dataclass(frozen=True, slots=True)
class StateRead:
    """STATE.json: the last good document, when it was read, and why the newest bytes are not it (if they are not)."""

    root: str
    state: State | None
    read_at: str
    fault: str = ""
    """Empty when the file parses now; else `missing`, `torn`, `unreadable: …` and `state` is the last good one."""


@dataclass(frozen=True, slots=True)
class IssueFile:
    """One `state/mca/*.md`: its frontmatter keys in order, and its body."""

    name: str
    entries: tuple[tuple[str, str], ...]
    body: str


@dataclass(frozen=True, slots=True)
class IssuesRead:
    root: str
    issues: tuple[IssueFile, ...]


@dataclass(frozen=True, slots=True)
class LoopFiles:
    """The small files of the exchange, as they stand: the input's id and pass, whether an output waits, the queue."""

    root: str
    input_id: str | None = None
    input_pass: int | None = None
    output_present: bool = False
    queue: tuple[str, ...] = ()
    nonce_file: str | None = None


@dataclass(frozen=True, slots=True)
class HostStatus:
    """The lease as the ledger has it (PROTOCOL §5.3). `alive` is by heartbeat age and, on this host, by pid."""

    role: str = ""
    """`run`, `host` or empty when no lease was ever taken."""
    pid: int = 0
    hostname: str = ""
    heartbeat_at: str | None = None
    alive: bool = False
    workspace: str = ""
    confinement: str = ""
    """`bubblewrap`, or `unconfined: <why>`, or empty for a host without an agent."""
    phase: str = ""
    """What the host does now: `idle`, `agent`, `gate`, `acting`, `error: …`."""
    phase_since: str | None = None
    agent: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one decision got: sent > written > picked up > ran > observed (CONSOLE §4.3.13)."""

    request_id: str
    picked_up: bool = False
    ran: bool = False
    observed: bool = False
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class LedgerRead:
    """The ledger of one root as one consistent read, or why there is none.

    `requests` holds every undecided request and the newest settled ones; `decisions` the newest ones.
    """

    root: str
    requests: tuple[Request, ...] = ()
    decisions: tuple[Decision, ...] = ()
    progress: tuple[Progress, ...] = ()
    host: HostStatus = field(default_factory=HostStatus)
    held: bool = False
    held_by: str = ""
    obligations: tuple[Mapping[str, Json], ...] = ()
    messages: tuple[Mapping[str, Json], ...] = ()
    read_at: str = ""
    fault: str = ""
    """Empty, `none yet`, `newer than this program`, or `unreadable: …`."""
    audit_rows: int = 0


Event = RecordsRead | FileStatus | StateRead | IssuesRead | LoopFiles | LedgerRead
