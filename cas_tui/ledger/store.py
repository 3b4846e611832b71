"""One connection to the ledger file, and transactions on it. The only module that talks to SQLite's settings.

SQLite's own errors never leave this package: they become one clear line (SAFETY D6, C03-C09).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cas_tui.ledger.errors import LedgerError, NewerLedger, NoLedger, StorageFailure
from cas_tui.ledger.schema import STATEMENTS, VERSION
from cas_tui.protocol.encode import timestamp

BUSY_TIMEOUT_S = 10.0
Row = tuple[Any, ...]


def boot_id() -> str:
    """Which boot of this machine this is, so that monotonic times can be compared (SAFETY A1, P07)."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Store:
    """A connection, its clock and its transactions. One thread at a time; a lock sees to it."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, clock: Callable[[], datetime], ids: Callable[[], str]
    ) -> None:
        self.path = path
        self.clock = clock
        self.ids = ids
        self.boot = boot_id()
        self._connection = connection
        self._lock = threading.RLock()
        self._depth = 0

    def now(self) -> str:
        """This instant as the ledger writes it."""
        return timestamp(self.clock())

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Every row of a read."""
        with self._lock, translated(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Sequence[object] = ()) -> Row | None:
        """The first row of a read, or None."""
        rows = self.query(sql, parameters)
        return rows[0] if rows else None

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> int:
        """One write inside the present transaction; returns how many rows it changed."""
        if not self._depth:
            raise RuntimeError("a write outside a transaction")
        with translated(self.path):
            return self._connection.execute(sql, parameters).rowcount

    def inserted(self) -> int:
        """The number of the row that was inserted last on this connection."""
        row = self.one("SELECT last_insert_rowid()")
        assert row is not None
        return int(row[0])

    @contextlib.contextmanager
    def write(self) -> Iterator[None]:
        """One transaction: all of it is durable when the block ends, or none of it happened (D1, D6)."""
        with self._lock:
            if self._depth:
                yield
                return
            with translated(self.path):
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield
                with translated(self.path):
                    self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours. Constraint errors keep their words: callers look before they write."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageFailure(
            f"{path}: {error}; nothing was recorded, free space or permissions may be missing"
        ) from None


def create(path: Path, clock: Callable[[], datetime], ids: Callable[[], str]) -> Store:
    """Open the ledger at `path` for writing, making it and its private directory if there is none.

    Raises:
        NewerLedger, StorageFailure.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_symlink():
            raise StorageFailure(f"{path}: is a symbolic link; the ledger is never followed elsewhere")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.close(descriptor)
    except OSError as error:
        raise StorageFailure(f"{path}: {error.strerror}") from None
    store = _connect(path, clock, ids, read_only=False)
    try:
        _migrate(store)
    except BaseException:
        store.close()
        raise
    return store


def open_existing(path: Path, clock: Callable[[], datetime], ids: Callable[[], str], *, read_only: bool) -> Store:
    """Open a ledger that is there.

    Raises:
        NoLedger: there is none. NewerLedger: for writing, when a newer program made it. StorageFailure.
    """
    if path.is_symlink() or not path.is_file():
        raise NoLedger(f"{path}: no ledger")
    store = _connect(path, clock, ids, read_only=read_only)
    try:
        version = _version(store)
        if version == 0:
            raise NoLedger(f"{path}: no ledger yet")
        if version > VERSION and not read_only:
            raise NewerLedger(
                f"{path}: written by a newer cas-tui (format {version}, this one knows {VERSION}); view only"
            )
    except BaseException:
        store.close()
        raise
    return store


def _connect(path: Path, clock: Callable[[], datetime], ids: Callable[[], str], *, read_only: bool) -> Store:
    mode = "ro" if read_only else "rw"
    with translated(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
    store = Store(path, connection, clock, ids)
    try:
        with translated(path):
            if not read_only:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
    except LedgerError:
        store.close()
        raise
    return store


def is_newer(store: Store) -> bool:
    """Whether the file's format is one this program does not know yet."""
    return _version(store) > VERSION


def _version(store: Store) -> int:
    row = store.one("PRAGMA user_version")
    return int(row[0]) if row else 0


def _migrate(store: Store) -> None:
    version = _version(store)
    if version > VERSION:
        raise NewerLedger(f"{store.path}: written by a newer cas-tui (format {version}, this one knows {VERSION})")
    if version == VERSION:
        return
    with store.write():
        if _version(store) == VERSION:
            return
        for statement in STATEMENTS:
            store.execute(statement)
        store.execute(f"PRAGMA user_version={VERSION}")
