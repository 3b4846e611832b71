"""Surfaced issues: `state/mca/*.md` and the requests that wait for their triage (PROTOCOL §2.7, §5.5).

The file format stays readable by the system it comes from; only frontmatter keys are added.
"""

from __future__ import annotations

import re

from cas_tui.loop.context import Context
from cas_tui.loop.files import WriteFailed, create_file, names_in, read_regular, replace_file
from cas_tui.protocol.decisions import Decision, Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.output import Frontmatter, format_frontmatter, parse_frontmatter, update_frontmatter
from cas_tui.protocol.requests import Request, RequestKind, RequestState

MAX_ISSUE_BYTES = 1 << 20
MAX_ISSUES = 10_000
STATUS = {Verdict.ASSIGN: "assigned", Verdict.RESOLVE: "resolved", Verdict.DISMISS: "dismissed"}


def slug(text: str, length: int = 40) -> str:
    """Lower case, runs of anything but a-z and 0-9 as one dash, none at either end."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:length].strip("-") or "issue"


def surface(ctx: Context, trigger_id: str, ordinal: int, description: str) -> str:
    """Write one surfaced issue, once per trigger and place; returns its file name."""
    key = f"surface:{trigger_id}:{ordinal}"
    known = ctx.ledger.cursors.get(key)
    if known is None:
        at = ctx.now()
        known = {"name": f"{at.replace(':', '-').replace('.', '-')}-{slug(description)}.md", "at": at}
        ctx.ledger.cursors.set(key, known)
    entries = (
        ("id", slug(description)),
        ("surfaced-by", ctx.agent),
        ("created", str(known["at"])),
        ("status", "open"),
    )
    body = f"# MCA\n\n{description}"
    # The name is kept before the file is made: a repeated step finds the same file with the same bytes.
    data = format_frontmatter(entries, body).encode("utf-8", "replace")
    return create_file(ctx.paths.issues / str(known["name"]), data).name


def find_new(ctx: Context) -> list[Request]:
    """A request for every issue file that has none yet and is open."""
    names = names_in(ctx.paths.issues, ".md", MAX_ISSUES)
    fresh: list[Request] = []
    for name in names:
        if ctx.ledger.cursors.get(f"issue:{name}") is not None:
            continue
        try:
            data = read_regular(ctx.paths.issues / name, MAX_ISSUE_BYTES) or b""
        except WriteFailed:
            continue
        front = parse_frontmatter(data.decode("utf-8", "replace"))
        if (front.first("status") or "open") != "open":
            continue
        fresh.append(_request(ctx, name, front))
    return fresh


def _request(ctx: Context, name: str, front: Frontmatter) -> Request:
    lines = [line for line in (front.body or "").splitlines() if line.strip() and not line.startswith("#")]
    title = lines[0] if lines else front.first("id") or name
    fields: dict[str, Json] = {
        "file": name,
        "title": title,
        "description": "\n".join(lines),
        "surfaced_by": front.first("surfaced-by") or "",
        "created": front.first("created") or "",
    }
    return Request(
        request_id=f"i-{ctx.ids()}",
        kind=RequestKind.ISSUE,
        state=RequestState.PENDING,
        root=str(ctx.root),
        agent=front.first("surfaced-by") or ctx.agent,
        session_id=ctx.session_id,
        run_nonce=ctx.run_nonce,
        created_at=ctx.now(),
        title=title,
        fields=fields,
        source={"file": f"state/mca/{name}", "offset": 0},
        policy_version=ctx.policy.version,
    )


def mark(ctx: Context, decision: Decision, request: Request) -> None:
    """Write the verdict into the issue's frontmatter; a file that is gone or no file any more is left alone."""
    name = str(request.fields.get("file", ""))
    path = ctx.paths.issues / name
    if not name or path.parent != ctx.paths.issues:
        return
    data = read_regular(path, MAX_ISSUE_BYTES)
    if data is None:
        return
    updates = (
        ("note", " ".join(decision.comment.split())),
        ("at", decision.decided_at),
        ("by", decision.operator.agent_name),
        ("status", STATUS[decision.verdict]),
    )
    replace_file(path, update_frontmatter(data.decode("utf-8", "replace"), updates).encode("utf-8", "replace"))
