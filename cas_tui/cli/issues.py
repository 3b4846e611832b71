"""`cas-tui issues …`: what agents surfaced, from the files of `state/mca/` and their requests (PROTOCOL §2.7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import chosen_roots, existing_root, json_option, read_picture, root_argument, roots_argument
from cas_tui.cli.errors import NOT_FOUND, CliError
from cas_tui.protocol.decode import Json


@click.group()
def issues() -> None:
    """What agents surfaced."""


@issues.command("list")
@roots_argument
@click.option("--all", "everything", is_flag=True, help="Also those resolved or dismissed.")
@json_option
def list_(roots: tuple[Path, ...], everything: bool, as_json: bool) -> None:
    """List open issues."""
    found = [issue for root in chosen_roots(roots) for issue in _issues(root)]
    shown = [issue for issue in found if everything or issue["status"] not in ("resolved", "dismissed")]
    lines = out.table(_row(issue) for issue in shown) or ["No open issues."]
    out.emit(as_json, {"issues": shown}, lines)


def _row(issue: dict[str, Json]) -> tuple[str, ...]:
    return (
        text.line(issue["request_id"] or issue["file"]),
        text.line(issue["status"]),
        text.quote(issue["title"]),
        text.line(issue["surfaced_by"]),
    )


@issues.command()
@root_argument
@click.argument("issue_id", metavar="ID")
@json_option
def show(root: Path, issue_id: str, as_json: bool) -> None:
    """Show one issue whole. ID is its request, its own id or its file; a unique beginning is enough."""
    at = existing_root(root)
    found = [
        issue
        for issue in _issues(at)
        if any(str(issue[name] or "").startswith(issue_id) for name in ("request_id", "id", "file"))
    ]
    if len(found) != 1:
        why = f"{len(found)} issues begin with it; give more of it" if found else "no such issue"
        raise CliError(f"{issue_id}: {why}", NOT_FOUND)
    issue = found[0]
    head = [f"{name}: {text.line(str(issue[name]))}" for name in issue if name != "description" and issue[name]]
    out.emit(as_json, {"issue": issue}, [*head, "", *text.block(issue["description"])])


def _issues(root: Path) -> Iterator[dict[str, Json]]:
    """The issue files of one root, each with its request when there is one."""
    run = read_picture([root]).runs.get(str(root))
    if run is None:
        return
    requests = {request.fields.get("file"): request for request in run.requests if request.kind == "issue"}
    for file in run.issues:
        keys: dict[str, str] = {}
        for key, value in file.entries:
            keys.setdefault(key, value)
        lines = [line for line in file.body.splitlines() if line.strip() and not line.startswith("#")]
        request = requests.get(file.name)
        yield {
            "root": str(root),
            "file": file.name,
            "id": keys.get("id", ""),
            "request_id": request.request_id if request else None,
            "status": keys.get("status", "open"),
            "title": lines[0] if lines else keys.get("id", file.name),
            "surfaced_by": keys.get("surfaced-by", ""),
            "created": keys.get("created", ""),
            "by": keys.get("by", ""),
            "note": keys.get("note", ""),
            "description": "\n".join(lines),
        }
