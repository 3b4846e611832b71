"""Detail: any record whole, every field of it, with file, offset and age (SAFETY D9). Nothing is left out for looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from cas_tui.model import acts
from cas_tui.model import journal as journals
from cas_tui.model.citations import lamps
from cas_tui.model.keys import key, parts
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import Picture, RunPicture
from cas_tui.model.rows.distinct import distinct
from cas_tui.model.rows.lists import lamp_words
from cas_tui.model.rows.stream import anomalies
from cas_tui.model.shapes import Line
from cas_tui.model.words import age, clock, ident, plural, since, size
from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import canonical, parse_timestamp
from cas_tui.protocol.journal import Learning, Observation, Prediction, Record
from cas_tui.protocol.requests import Request

MOST_LINES = 5_000
"""Lines of one value; a longer one says how much of it is not drawn."""
_NAMES: Mapping[type, str] = {Prediction: "Prediction", Observation: "Observation", Learning: "Learning"}


def detail(picture: Picture, root: str, key_: str, now: datetime) -> tuple[Line, ...]:
    """The lines of what `key_` (a `Line.detail`, a row's key or a bare request id) stands for.

    A key whose record is gone gives one line that says so, never an error.
    """
    run = picture.runs.get(root)
    if run is None:
        return (_say("No such run."),)
    kind, *rest = parts(key_) or ("request", key_)
    make = _KINDS.get(str(kind))
    lines = make(run, rest, now) if make is not None else []
    return distinct(lines) or (_say("This record is no longer among those kept; its file still has it."),)


def _say(text: str) -> Line:
    return Line(key("say", text), text, muted=True)


def _head(number: int, text: str, right: str = "", flagged: bool = False) -> Line:
    return Line(key("head", number, text), text, right=right, heading=True, flagged=flagged)


def _note(label: str, text: str, *, flagged: bool = False) -> Line:
    """One line in our words."""
    return Line(key("note", label, text), text, label=label, indent=1, flagged=flagged)


def _text_of(value: Json) -> str:
    if isinstance(value, str):
        return value
    try:
        return canonical(value).decode("utf-8")
    except ValueError:
        return ascii(value)


def fields(values: Mapping[str, Json], section: str) -> list[Line]:
    """Every key and value of a mapping, the value one line each; what is absent is not the same as empty."""
    lines = []
    for name, value in values.items():
        shown = _text_of(value).split("\n")
        quoted = isinstance(value, str)
        for number, part in enumerate(shown[:MOST_LINES]):
            label = name if number == 0 else ""
            lines.append(Line(key(section, name, number), part, label=label, indent=1, quoted=quoted))
        if len(shown) > MOST_LINES:
            lines.append(_note("", f"{plural(len(shown) - MOST_LINES, 'more line')} in the file"))
    return lines


def times(stamp: str, now: datetime) -> str:
    """An instant in both zones and as an age; as claimed when it is not one (SAFETY A19)."""
    moment = parse_timestamp(stamp)
    if moment is None:
        return f"{ident(stamp) if stamp else 'no time'}, as claimed"
    utc = moment.astimezone(UTC)
    return f"{clock(stamp, now, seconds=True)}, {utc:%Y-%m-%d %H:%M:%S} UTC as claimed, {age(since(stamp, now))} ago"


def _record(record: Record, number: int, now: datetime) -> list[Line]:
    place = record.place
    lines = [
        _head(number, _NAMES[type(record)], f"{place.file} +{place.offset}"),
        _note("when", times(record.timestamp, now)),
    ]
    if record.flags:
        lines.append(_note("odd", ", ".join(ident(flag) for flag in record.flags), flagged=True))
    lines.extend(fields(record.raw or _typed(record), f"r{number}"))
    return lines


def _typed(record: Record) -> dict[str, Json]:
    """The fields of a record made without a file behind it."""
    names = [name for name in type(record).__slots__ if name not in ("place", "flags", "raw")]
    return {name: _plain(getattr(record, name)) for name in names}


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value


def _pair(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    pair = _find_pair(run, rest)
    if pair is None:
        return []
    lines: list[Line] = []
    claimed = acts.effects_by_action(run).get((pair.session_id, pair.action_id))
    verdict = acts.verdict(run, pair, claimed, now)
    took = f", took {age(pair.latency_s)}" if pair.latency_s is not None else ""
    lines.append(_head(0, f"Act {ident(pair.action_id)}: {verdict.word}{took}"))
    if pair.prediction is not None and pair.prediction.falsifier:
        # First what would prove it wrong, so that one sentence is checked and not a log.
        lines.append(Line(key("falsifier"), pair.prediction.falsifier, label="wrong if", indent=1, quoted=True))
    if pair.observation is not None and pair.observation.inferred:
        lines.append(_note("verdict", "inferred from success; the record has no match"))
    lines.extend(_note("odd", words, flagged=True) for words in anomalies(run, pair))
    if any(lamp is not None for lamp in lamps(run, pair)):
        lines.append(_note("lesson", lamp_words(lamps(run, pair))))
    if pair.prediction is None:
        lines.append(_note("prediction", "none among the records read"))
    for number, record in enumerate(pair.records, start=1):
        lines.extend(_record(record, number, now))
    if pair.observation is None and pair.prediction is not None:
        lines.append(_note("observation", f"none yet, {age(since(pair.timestamp, now))} after the prediction"))
    if claimed is not None:
        lines.extend(_request_lines(run, claimed, now))
    return lines


def _find_pair(run: RunPicture, rest: list[str | int | None]) -> Pair | None:
    if len(rest) != 4 or not isinstance(rest[0], str) or not isinstance(rest[2], str) or not isinstance(rest[3], int):
        return None
    nonce = rest[1] if rest[1] is None or isinstance(rest[1], str) else None
    return journals.pair_of(run.journal, (rest[0], nonce, rest[2]), rest[3])


def _request(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    request = next((item for item in run.requests if rest and item.request_id == rest[0]), None)
    return _request_lines(run, request, now) if request is not None else []


def _request_lines(run: RunPicture, request: Request, now: datetime) -> list[Line]:
    lines = [
        _head(100, f"Request {request.request_id}: {request.kind}, {request.state}", "ledger"),
        _note("made", times(request.created_at, now)),
        *fields(request.as_json(), "request"),
    ]
    mine = [item for item in run.decisions if item.request_id == request.request_id]
    for number, decision in enumerate(mine, start=1):
        lines.append(_head(100 + number, f"Decision {decision.verdict} by {decision.operator.name}", "ledger"))
        lines.append(_note("decided", times(decision.decided_at, now)))
        lines.extend(fields(decision.as_json(), f"d{number}"))
    return lines


def _item(section: str, name: str) -> Callable[[RunPicture, list[str | int | None], datetime], list[Line]]:
    """Items of one section of STATE with the id given (all of them, should several share it), whole."""

    def make(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
        raw: Json = run.state.raw.get(section) if run.state else None
        if not isinstance(raw, list) or not rest:
            return []
        found = [
            (number, item)
            for number, item in enumerate(raw)
            if isinstance(item, dict) and (item.get(name) == rest[0] if name else number == rest[0])
        ]
        lines = [*_state_head(run, now)] if found else []
        for number, item in found:
            lines.append(_head(number + 1, f"{section}[{number}]", "STATE.json"))
            lines.extend(fields(item, f"{section}{number}"))
        return lines

    return make


def _state_head(run: RunPicture, now: datetime) -> list[Line]:
    read = run.state_read
    if read is None:
        return []
    words = f"read {age(since(read.read_at, now))} ago" + (f"; the file now: {read.fault}" if read.fault else "")
    return [_note("STATE.json", words, flagged=bool(read.fault))]


def _state(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    lines = [_head(0, "STATE", "STATE.json"), *_state_head(run, now)]
    if run.state is None:
        return [*lines, _note("STATE", "nothing read")]
    lines.extend(
        Line(key("fault", n), words, label="odd", indent=1, flagged=True) for n, words in enumerate(run.state.faults)
    )
    return [*lines, *fields(run.state.raw, "state")]


def _malformed(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    for bad in run.journal.malformed:
        if rest[:3] == [bad.fault.file, bad.fault.offset, bad.epoch]:
            excerpt = bad.fault.excerpt.decode("utf-8", "surrogateescape")
            return [
                _head(0, "Not a record", f"{bad.fault.file} +{bad.fault.offset}", flagged=True),
                Line(key("reason"), bad.fault.reason, label="reason", indent=1),
                _note("kept", "the line stays in its file as it is; nothing was repaired"),
                *fields({"first bytes": excerpt}, "excerpt"),
            ]
    return []


def _issue(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    issue = next((item for item in run.issues if rest and item.name == rest[0]), None)
    if issue is None:
        return []
    lines = [_head(0, "Issue", f"state/mca/{issue.name}")]
    for number, (name, value) in enumerate(issue.entries):
        lines.append(Line(key("entry", number, name), value, label=name, indent=1, quoted=True))
    return [*lines, *fields({"body": issue.body}, "issue")]


def _obligation(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    held = run.ledger.obligations if run.ledger else ()
    found = [item for item in held if rest and item.get("obligation_id") == rest[0]]
    lines = []
    for number, item in enumerate(found):
        lines += [_head(number, "Obligation", "ledger"), *fields(item, f"obligation{number}")]
    return lines


def _run(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    """The run itself: root, host, every file and how it stands."""
    host = run.host
    lines = [_head(0, "Run"), *fields({"root": run.root}, "run")]
    alive = "alive" if acts.host_alive(run, now) else "none" if not host.role else "gone"
    lines.append(_head(1, f"Host: {alive}", "ledger"))
    told: dict[str, Json] = {
        "role": host.role,
        "pid": host.pid,
        "hostname": host.hostname,
        "phase": host.phase,
        "workspace": host.workspace,
        "confinement": host.confinement,
        "command": list(host.command),
    }
    lines.extend(fields({name: value for name, value in told.items() if value}, "host"))
    lines.append(_head(2, "Files"))
    for file, status in sorted(run.files.items()):
        words = f"{status.status}, {size(status.size)}"
        if status.unread_before:
            words += f", {size(status.unread_before)} before what was read"
        words += f", rewritten {plural(run.epochs[file], 'time')} while watched" if file in run.epochs else ""
        bad = status.status in ("unreadable", "rewritten") or file in run.epochs
        lines.append(Line(key("file", file), words, label=file, indent=1, flagged=bad))
        if status.detail:
            lines.append(Line(key("file-why", file), status.detail, indent=2, flagged=bad))
    if not run.files:
        lines.append(_note("", "none read yet"))
    return [*lines, *_state_head(run, now)]


def _plan(run: RunPicture, rest: list[str | int | None], now: datetime) -> list[Line]:
    return _item("current_plan", "")(run, rest, now)


_KINDS: Mapping[str, Callable[[RunPicture, list[str | int | None], datetime], list[Line]]] = {
    "pair": _pair,
    "request": _request,
    "goal": _item("active_goals", "id"),
    "plan": _plan,
    "commitment": _item("commitments", "id"),
    "belief": _item("beliefs", "id"),
    "uncertainty": _item("uncertainties", "id"),
    "citation": _item("pending_citations", ""),
    "state": _state,
    "malformed": _malformed,
    "issue": _issue,
    "obligation": _obligation,
    "run": _run,
}
