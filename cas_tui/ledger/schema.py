"""The tables. Unique constraints carry the promises (PROTOCOL §5.2): one verdict a request, one start a decision."""

from __future__ import annotations

VERSION = 1

STATEMENTS = (
    """CREATE TABLE audit (
        seq INTEGER PRIMARY KEY, at TEXT NOT NULL, monotonic_ns INTEGER NOT NULL, boot_id TEXT NOT NULL,
        kind TEXT NOT NULL, data TEXT NOT NULL, prev_sha256 TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE)""",
    """CREATE TABLE requests (
        number INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, root TEXT NOT NULL, kind TEXT NOT NULL,
        state TEXT NOT NULL, trigger_id TEXT NOT NULL, pass INTEGER NOT NULL, ordinal INTEGER NOT NULL,
        prediction TEXT, act_sha256 TEXT NOT NULL, expires_at TEXT, document TEXT NOT NULL)""",
    "CREATE INDEX requests_by_state ON requests (root, state)",
    "CREATE INDEX requests_by_pass ON requests (root, trigger_id, pass)",
    "CREATE INDEX requests_by_act ON requests (root, act_sha256)",
    """CREATE TABLE decisions (
        number INTEGER PRIMARY KEY, decision_id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL REFERENCES requests
        (request_id), stage TEXT NOT NULL, document TEXT NOT NULL, prev_sha256 TEXT NOT NULL,
        done INTEGER NOT NULL DEFAULT 0, UNIQUE (request_id, stage))""",
    "CREATE INDEX decisions_open ON decisions (number) WHERE done = 0",
    """CREATE TABLE marks (
        decision_id TEXT NOT NULL REFERENCES decisions (decision_id), stage TEXT NOT NULL, at TEXT NOT NULL,
        PRIMARY KEY (decision_id, stage)) WITHOUT ROWID""",
    """CREATE TABLE effects (
        request_id TEXT PRIMARY KEY REFERENCES requests (request_id), decision_id TEXT NOT NULL UNIQUE REFERENCES
        decisions (decision_id), epoch INTEGER NOT NULL, started_at TEXT NOT NULL, finished_at TEXT, outcome TEXT)""",
    """CREATE TABLE lease (
        root TEXT PRIMARY KEY, epoch INTEGER NOT NULL, role TEXT NOT NULL, pid INTEGER NOT NULL, hostname TEXT NOT NULL,
        boot_id TEXT NOT NULL, workspace TEXT NOT NULL, confinement TEXT NOT NULL, agent TEXT NOT NULL,
        command TEXT NOT NULL, heartbeat_at TEXT NOT NULL, phase TEXT NOT NULL, phase_since TEXT NOT NULL,
        released INTEGER NOT NULL)""",
    "CREATE TABLE holds (root TEXT PRIMARY KEY, operator TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL)",
    "CREATE TABLE cursors (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE passes (
        number INTEGER PRIMARY KEY, root TEXT NOT NULL, trigger_id TEXT NOT NULL, pass INTEGER NOT NULL,
        phase TEXT NOT NULL, data TEXT NOT NULL, UNIQUE (root, trigger_id, pass))""",
    "CREATE INDEX passes_open ON passes (root, number) WHERE phase != 'finished'",
    """CREATE TABLE appends (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, file TEXT NOT NULL, line BLOB NOT NULL,
        done INTEGER NOT NULL)""",
    """CREATE TABLE patches (
        number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, data TEXT NOT NULL, done INTEGER NOT NULL)""",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY, root TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, operator TEXT NOT NULL,
        data TEXT NOT NULL, at TEXT NOT NULL, key TEXT UNIQUE, delivered_to TEXT)""",
    "CREATE INDEX messages_open ON messages (root, id) WHERE delivered_to IS NULL",
    """CREATE TABLE rules (
        rule_id TEXT PRIMARY KEY, root TEXT NOT NULL, document TEXT NOT NULL, created_at TEXT NOT NULL,
        expires_at TEXT, revoked_at TEXT)""",
    """CREATE TABLE obligations (
        obligation_id TEXT PRIMARY KEY, root TEXT NOT NULL, state TEXT NOT NULL, document TEXT NOT NULL)""",
)
