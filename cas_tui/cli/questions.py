"""`cas-tui questions …`: what agents ask, and the answers (PROTOCOL §5.4, §5.5)."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import age_of, chosen_roots, id_argument, json_option, root_argument, roots_argument
from cas_tui.cli.deciding import decide
from cas_tui.cli.requests import all_requests, find_of_kind, in_hand, reason_option
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import Request, RequestKind


@click.group()
def questions() -> None:
    """What agents ask you."""


@questions.command("list")
@roots_argument
@click.option("--all", "everything", is_flag=True, help="Also those answered or dismissed.")
@json_option
def list_(roots: tuple[Path, ...], everything: bool, as_json: bool) -> None:
    """List open questions, oldest first."""
    found = [request for root in chosen_roots(roots) for request in all_requests(root)]
    shown = [item for item in found if item.kind is RequestKind.QUESTION and (everything or in_hand(item))]
    lines = out.table(_row(item) for item in shown) or ["No questions."]
    out.emit(as_json, {"questions": [item.as_json() for item in shown]}, lines)


def _row(request: Request) -> tuple[str, ...]:
    query = request.fields.get("query")
    options = query.get("options") if isinstance(query, dict) else None
    offered = ", ".join(text.quote(str(option)) for option in options) if isinstance(options, list) else ""
    return (text.line(request.request_id), str(request.state), age_of(request), text.quote(request.title), offered)


@questions.command()
@root_argument
@id_argument
@click.argument("words", required=False, default="", metavar="[TEXT]")
@click.option("--choice", "choices", multiple=True, help="One of the choices offered; may be repeated.")
@click.option(
    "--as",
    "kept_as",
    type=click.Choice(["belief", "policy", "uncertainty"]),
    default="belief",
    show_default=True,
    help="What the answer becomes in the agent's world; uncertainty settles the one it was asked about.",
)
@json_option
def answer(root: Path, request_id: str, words: str, choices: tuple[str, ...], kept_as: str, as_json: bool) -> None:
    """Answer a question, in TEXT, by choices, or both."""
    request = find_of_kind(root, request_id, RequestKind.QUESTION)
    arguments: dict[str, Json] = {"text": words, "as": kept_as}
    if choices:
        arguments["choices"] = list(choices)
    decide(root, request.request_id, Verdict.ANSWER, arguments=arguments, as_json=as_json)


@questions.command()
@root_argument
@id_argument
@reason_option
@json_option
def dismiss(root: Path, request_id: str, reason: str, as_json: bool) -> None:
    """Leave a question without an answer, with the reason."""
    request = find_of_kind(root, request_id, RequestKind.QUESTION)
    decide(root, request.request_id, Verdict.DISMISS, comment=reason, as_json=as_json)
