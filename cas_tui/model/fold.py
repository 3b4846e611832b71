"""Folding one event into the picture. Pure, and cheap: what did not change is shared with the picture before."""

from __future__ import annotations

from dataclasses import replace

from cas_tui.model.journal import with_records
from cas_tui.model.picture import Picture, RunPicture
from cas_tui.protocol.events import Event, FileStatus, IssuesRead, LedgerRead, LoopFiles, RecordsRead, StateRead


def fold(picture: Picture, event: Event) -> Picture:
    """The picture after `event`. The picture given stays as it was."""
    old = picture.runs.get(event.root)
    new = _folded(old or RunPicture(event.root), event)
    if new is old:
        return picture
    return Picture({**picture.runs, event.root: new})


def fold_all(picture: Picture, events: tuple[Event, ...]) -> Picture:
    """The picture after all `events`, in order."""
    for event in events:
        picture = fold(picture, event)
    return picture


def _folded(run: RunPicture, event: Event) -> RunPicture:
    if isinstance(event, RecordsRead):
        return _with_records(run, event)
    if isinstance(event, FileStatus):
        epochs = run.epochs
        if event.status == "rewritten":
            epochs = {**epochs, event.file: epochs.get(event.file, 0) + 1}
        return replace(run, files={**run.files, event.file: event}, epochs=epochs)
    if isinstance(event, StateRead):
        if event.state is None and run.state_read is not None and run.state_read.state is not None:
            # A fault never empties the panes: the last good document stays, with its age (SAFETY D02).
            kept = run.state_read
            event = StateRead(event.root, kept.state, kept.read_at, event.fault or "unreadable")
        return replace(run, state_read=event)
    if isinstance(event, IssuesRead):
        return replace(run, issues=event.issues)
    if isinstance(event, LoopFiles):
        return replace(run, loop=event)
    return replace(run, ledger=_with_last_good(run.ledger, event))


def _with_records(run: RunPicture, event: RecordsRead) -> RunPicture:
    journal = with_records(run.journal, event.records, event.malformed, run.epochs.get(event.file, 0))
    if journal is run.journal:
        return run
    # Spelled out, for this runs once a record in the worst case and `replace` costs more than the fold itself.
    return RunPicture(run.root, journal, run.state_read, run.files, run.epochs, run.issues, run.loop, run.ledger)


def _with_last_good(old: LedgerRead | None, new: LedgerRead) -> LedgerRead:
    """A ledger that cannot be read for a moment does not make the queue look empty; the fault is shown instead."""
    if old is None or not new.fault or new.fault == "none yet" or new.requests:
        return new
    return replace(old, fault=new.fault)
