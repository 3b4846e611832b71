"""The shapes of rows: what a pane is given to draw. Immutable, without any opinion about colour or width.

Text in these shapes is raw and untrusted unless a docstring says that it is ours. It reaches the screen only through
`text` (T1). Ages and spans are in seconds; the drawing side chooses the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import Request

GLYPHS = ("needs", "working", "quiet", "idle", "held", "done", "failed", "unknown", "none", "flagged", "new", "blank")
"""Names of the glyphs of SCREENS §7; the drawing side has the character and its ASCII twin."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth line. `alarm` (ours) replaces its middle: a lost host, stale data, a failed ledger."""

    needs_you: int
    review: int
    first_expiry_s: float | None
    alarm: str = ""
    acts: int = 0
    by_rule: int = 0
    mismatched: int = 0
    unapproved: int = 0
    all_held: bool = False


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One run. `group` is `Needs you`, `Working`, `Quiet, look` or `Done`; `note` (ours) explains a quiet one."""

    root: str
    name: str
    group: str
    glyph: str
    waits_s: float | None = None
    silent_s: float | None = None
    right: int = 0
    judged: int = 0
    mismatched: int = 0
    obligations: int = 0
    held: bool = False
    unconfined: bool = False
    host_alive: bool = False
    data_age_s: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """One row of the queue.

    `kind` is the word shown: effect, question, unapproved, unknown (band `needs`); due, issue, mismatch, stuck (band
    `review`). `ask` is ours for effects, quoted agent text for the rest (`quoted`). `waiting_on` (ours) is the title of
    the request this one comes after; such a row is muted and not selectable for a decision. `settled` (ours) says who
    decided what, once decided.
    """

    key: str
    root: str
    run: str
    request_id: str
    kind: str
    band: str
    ask: str
    quoted: bool
    tier: str
    age_s: float
    left_s: float | None
    flagged: bool = False
    waiting_on: str = ""
    settled: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a simple pane: glyph, text, right-hand cell. `label` (ours) stands before `text`.

    `quoted` text is the agent's and is drawn in quotes; `indent` is in levels; `key` is stable across refreshes;
    `detail` names what Enter opens (see `rows.detail`), empty when nothing does.
    """

    key: str
    text: str
    glyph: str = "blank"
    label: str = ""
    right: str = ""
    indent: int = 0
    quoted: bool = False
    muted: bool = False
    flagged: bool = False
    heading: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One prediction/observation pair, or a folded run of matched ones (`folded` > 0).

    `verdict` (ours): as expected, mismatched, waits for you, open, denied, expired, cancelled, unknown, orphan; and
    where a record stands alone or the ledger knows more: waits in line, approved, started, superseded, no prediction,
    prediction not read, unpredicted, learned only, malformed, not kept. `at` is as claimed (SAFETY A19); `flags` are
    ours. `observed` is agent text except in `malformed` and `not kept` rows, where it is ours. `lamps` is mismatch →
    learned → in STATE → cited, each True, False or None (not yet due).
    """

    key: str
    at: str
    action: str
    expected: str
    confidence: float | None
    glyph: str
    verdict: str
    latency_s: float | None = None
    age_s: float | None = None
    observed: str = ""
    learned: str = ""
    lamps: tuple[bool | None, ...] = ()
    operator: bool = False
    folded: int = 0
    flags: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ContractRow:
    """One row of the contract block. `label`: says, reject if, may fail, or `= word` for what we computed.

    An empty label goes on with the row above. `quoted` text is the agent's; other text is ours, and what it cites of
    the agent's already stands in quotes that the agent cannot close.
    """

    label: str
    text: str
    quoted: bool = False
    right: str = ""
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class PayloadRow:
    """One row of payload. `mark` is ` `, `+`, `-`, or empty for text that is not a diff; line numbers may be None."""

    mark: str
    old: int | None
    new: int | None
    text: str
    ours: bool = False
    """Whether `text` is written by us (headings, counts) and not payload."""


@dataclass(frozen=True, slots=True)
class Card:
    """Everything the decision card shows about one request, at one moment.

    `summary` and `tier_because` are ours. `digest` is what an approval names; `payload_id` changes whenever any
    payload row changes, so a card can tell that what was on screen is no longer what is pending.
    """

    request: Request
    run: str
    position: int
    total: int
    summary: str
    tier_because: str
    tier_flags: tuple[str, ...]
    unpredicted: bool
    unconfined: bool
    predicted_at: str
    prediction_id: str
    contract: tuple[ContractRow, ...]
    payload_title: str
    payload: tuple[PayloadRow, ...]
    payload_foot: str
    payload_id: str
    left_s: float | None
    age_s: float
    settled: str = ""
    """Who decided what and when, once decided (ours)."""
    verdicts: tuple[str, ...] = ()
    """The verdicts this request takes now."""
    cwd: str = ""
    options: tuple[str, ...] = ()
    """For a question: the choices offered by the agent."""
    option_mode: str = "text"
    """For a question: text, one, many or form."""
    form_fields: tuple[Mapping[str, Json], ...] = field(default_factory=tuple)
    held: bool = False
    host_alive: bool = True
    summary_quoted: bool = False
    """Whether `summary` is the agent's text (a question, an issue) and has to be drawn in quotes."""
    source: str = ""
    """Where it came from, file and offset: `learning.jsonl +8812` (ours)."""


@dataclass(frozen=True, slots=True)
class Health:
    """The last row: host, data age, ledger, in words of ours."""

    host: str
    host_ok: bool
    data_age_s: float | None
    ledger: str
    ledger_ok: bool
    held: bool = False


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """How far the last decision on a request got: each stage reached or not, and how it ended (ours)."""

    request_id: str
    written: bool
    picked_up: bool
    ran: bool
    observed: bool
    outcome: str = ""
