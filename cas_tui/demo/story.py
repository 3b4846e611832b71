"""The story, one function a call: what the agent makes of what it was told, and what it asks for next.

Nothing here is decided in advance but the order of the scenes. Every verdict comes from the evidence of the pass
before, and a refusal changes what follows: a refused act is never asked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cas_tui.demo import evidence
from cas_tui.demo.exchange import Given, Reply
from cas_tui.demo.memory import Memory

Facts = dict[str, Any]
Scene = Callable[[Memory, Given, Facts, Callable[[], None]], tuple[Reply, str]]
"""Takes the memory, the input, the facts kept from scene to scene and a pause; gives the reply and the next scene."""

READ, STATUS, ASK, LOG = "act-read", "act-status", "act-ask", "act-log"
TARGET = "3.11"

INSTALL_SCRIPT = """\
#!/bin/sh
# Installs tool on a clean machine.
set -e
curl -fsSL https://python.example/install-{version}.sh | sh
python{version} -m pip install tool
"""


def start(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """Look before anything is changed."""
    memory.plan(S_1="in_progress")
    expected = memory.step("S-1").get("predicted_outcome") or "install section names 3.9"
    facts["expected"] = expected
    memory.predict(
        READ, "fs_read README.md", expected, 0.92, "the install section names another version", ("file moved",)
    )
    op = {"kind": "fs_read", "op_id": "read-readme", "path": "README.md", "note": "which version does it name?"}
    return Reply("I look at what the README says before I change it.", [op]), "look"


def look(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """Judge the reading, and propose the change that follows from it."""
    receipt = given.receipt("read-readme")
    if receipt is None:
        return start(memory, given, facts, pause)
    read = memory.evidence(receipt)
    if read is None:
        why = f"{receipt.get('status')}: {receipt.get('reason') or 'no artifact'}"
        memory.observe(READ, success=False, matched=False, summary=f"README.md could not be read, {why}")
        memory.learn(READ, "tool_model", "TOOL_ERROR", "fs_read", f"fs_read README.md failed, {why}")
        memory.keep_failure(READ, "fs_read", why)
        memory.plan(S_1="failed", S_2="failed")
        return _commit(memory, facts, "The README cannot be read, so I only commit what Ana staged.")
    text = read.decode("utf-8", "replace")
    _judge_reading(memory, facts, text, read)
    pause()
    new = evidence.raise_floor(text, TARGET)
    if new == text:
        memory.plan(S_1="done", S_2="failed")
        return _commit(memory, facts, "The README has no line I know how to change, so I only commit.")
    memory.plan(S_1="done", S_2="in_progress")
    op = {
        "kind": "fs_patch",
        "op_id": "patch-readme",
        "path": "README.md",
        "unified_diff": evidence.diff("README.md", text, new),
        "predict": {
            "expected_observation": memory.step("S-2").get("predicted_outcome")
            or "README shows Python 3.11 and the new install line",
            "confidence": 0.9,
            "falsifier": "any other line of README.md changes",
            "expected_failure_modes": ["context drift"],
        },
    }
    return Reply(f"The README names {facts['found']}. I propose to raise it to {TARGET}.", [op]), "patched"


def _judge_reading(memory: Memory, facts: Facts, text: str, read: bytes) -> None:
    found = evidence.version_named(text)
    expected = evidence.version_in(facts.get("expected", ""))
    facts["found"] = found or "no version"
    matched = found is not None and found == expected
    memory.observe(READ, matched=matched, summary=f"install section names {facts['found']}", raw=read)
    if matched:
        memory.learn(READ)
        return
    claim = f"the README's install section names {facts['found']}, not {expected}"
    memory.learn(READ, "belief", "MODEL_ERROR", "B-8", claim)
    belief = {"id": "B-8", "claim": claim, "confidence": 0.95, "evidence_refs": [f"observations.jsonl {READ}"]}
    memory.keep_belief(READ, belief)


def patched(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """Go on by what became of the patch."""
    facts["patched"] = _done(given, "patch-readme")
    if facts["patched"]:
        memory.plan(S_2="done")
        return _commit(memory, facts, "The README is changed. I commit it with the changelog entry.")
    memory.plan(S_2="failed")
    facts["patch_refused"] = _why_not(given, "patch-readme")
    words = f"The README stays as it is ({facts['patch_refused']}). I commit the changelog entry alone."
    return _commit(memory, facts, words)


def _commit(memory: Memory, facts: Facts, words: str) -> tuple[Reply, str]:
    memory.plan(S_3="in_progress")
    if facts.get("patched"):
        expected = memory.step("S-3").get("predicted_outcome") or "one commit holds the README and the changelog entry"
    else:
        expected = "one commit holds the changelog entry alone"
    op = {
        "kind": "git_commit",
        "op_id": "commit-floor",
        "message": f"Require Python {TARGET}",
        "predict": {
            "expected_observation": expected,
            "confidence": 0.85,
            "falsifier": "the commit is refused, or holds another file",
            "expected_failure_modes": ["nothing staged"],
        },
    }
    return Reply(words, [op]), "committed"


def committed(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """After a commit, look whether anything is left; without one there is nothing to look for."""
    facts["committed"] = _done(given, "commit-floor")
    if not facts["committed"]:
        memory.plan(S_3="failed")
        facts["commit_refused"] = _why_not(given, "commit-floor")
        pause()
        return _ask(memory, f"There is no commit ({facts['commit_refused']}). One thing I cannot find out by myself.")
    memory.plan(S_3="done")
    memory.predict(STATUS, "git_status", "clean", 0.8, "any changed file is listed")
    op = {"kind": "git_status", "op_id": "status", "note": "is anything left?"}
    return Reply("Committed. I look whether anything is left.", [op]), "checked"


def checked(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """Judge what is left; learn when it is not what was said; then ask."""
    receipt = given.receipt("status")
    status = memory.evidence(receipt)
    if status is None:
        why = f"{(receipt or {}).get('status', 'no receipt')}: {(receipt or {}).get('reason', '')}".rstrip(": ")
        memory.observe(STATUS, success=False, matched=False, summary=f"git_status gave nothing, {why}")
        memory.learn(STATUS, "tool_model", "TOOL_ERROR", "git_status", f"git_status failed, {why}")
        memory.keep_failure(STATUS, "git_status", why)
        words = "I could not look."
    else:
        words = _judge_status(memory, facts, status)
    pause()
    return _ask(memory, f"{words} One thing I cannot find out by myself.")


def _judge_status(memory: Memory, facts: Facts, status: bytes) -> str:
    left = evidence.changed_files(status)
    facts["left"] = left
    memory.observe(STATUS, matched=not left, summary=evidence.count_of_files(left), raw=status)
    if not left:
        memory.learn(STATUS)
        return "Nothing is left."
    claim = "a commit takes only what is staged"
    memory.learn(STATUS, "belief", "MODEL_ERROR", "B-9", f"{claim}: {', '.join(left)} stayed behind")
    belief = {"id": "B-9", "claim": claim, "confidence": 0.9, "evidence_refs": [f"observations.jsonl {STATUS}"]}
    memory.keep_belief(STATUS, belief)
    return f"I was wrong: {', '.join(left)} stayed behind, because {claim}. I wrote that down."


def _ask(memory: Memory, words: str) -> tuple[Reply, str]:
    question = "Which is the oldest Python to support?"
    memory.predict(ASK, "ask the operator", "the operator answers", 0.9, "the question is dismissed")
    memory.observe(ASK, matched=True, summary="asked")
    query = {"text": question, "type": "one", "options": ["3.11", "3.12"]}
    why = "Ana wrote 3.11; the release plan she links to speaks of 3.12"
    memory.learn(ASK, "user_query", None, "U-2", why, query)
    return Reply(f"{words} {question}"), "asked"


def asked(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """Take the answer, if this input brings it, and try the thing that should be refused."""
    if not given.answers:
        return idle(memory, given, facts, pause)[0], "asked"
    answer = given.answers[-1]
    text = " ".join(str(answer.get("text") or "").split())
    answered = answer.get("ref") is not None or answer.get("verdict") in (None, "answer")
    facts["answer"] = text if answered and text else ""
    facts["answer_ref"] = answer.get("ref")
    version = evidence.version_in(facts["answer"]) or TARGET
    facts["version"] = version
    if facts["answer"]:
        _settle_question(memory)
    pause()
    op = {
        "kind": "fs_write",
        "op_id": "install-script",
        "path": "scripts/install.sh",
        "content": INSTALL_SCRIPT.format(version=version),
        "predict": {
            "expected_observation": "scripts/install.sh exists and installs the tool on a clean machine",
            "confidence": 0.7,
            "falsifier": "any other file changes",
            "expected_failure_modes": ["no network"],
        },
    }
    heard = f"Understood: {facts['answer']}." if facts["answer"] else f"Without an answer I keep to {TARGET}."
    return Reply(f"{heard} I propose a script that installs everything in one go.", [op]), "install"


def _settle_question(memory: Memory) -> None:
    state = memory.state()
    state["uncertainties"] = [item for item in state.get("uncertainties", []) if item.get("id") != "U-2"]
    memory.save(state)


def install(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """Write the day's log, answering to every lesson that waits; surface what has no owner."""
    facts["installed"] = _done(given, "install-script")
    if not facts["installed"]:
        facts["install_refused"] = _why_not(given, "install-script")
    log = memory.root / f"{memory.today()}.md"
    waiting = list(memory.state().get("pending_citations", []))
    words = "the log of the day tells what was done, refused and learned"
    memory.predict(LOG, f"write {log.name}", words, 0.95, "the log is not there afterwards", (), waiting)
    _clear(memory, waiting)
    pause()
    heading = f"## Session {memory.session_id}"
    text = log.read_text("utf-8") if log.exists() else ""
    if heading not in text:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{heading}\n\n" + "".join(f"- {line}\n" for line in _log_lines(facts, waiting)) + "\n")
    there = heading in log.read_text("utf-8")
    memory.observe(LOG, matched=there, success=there, summary=f"{log.name} {'written' if there else 'is not there'}")
    memory.learn(LOG)
    _close(memory, facts)
    issue = (
        "scripts/install.sh runs a download that nobody has read"
        if facts["installed"]
        else "Installing on a clean machine has no owner"
    )
    reply = Reply("That is all. The log of the day says what was done, what was refused and why.")
    reply.lines = [("surface", issue), ("done", given.trigger)]
    return reply, "done"


def _clear(memory: Memory, cited: list[dict[str, Any]]) -> None:
    """Only after the prediction that cites them is on disk."""
    state = memory.state()
    state["pending_citations"] = [item for item in state.get("pending_citations", []) if item not in cited]
    memory.save(state)


def _log_lines(facts: Facts, cited: list[dict[str, Any]]) -> list[str]:
    lines = [f"README.md named {facts.get('found', 'nothing I could read')}."]
    if facts.get("patched"):
        lines.append(f"README.md now asks for Python {TARGET}.")
    elif "patch_refused" in facts:
        lines.append(f"README.md was not changed: {facts['patch_refused']}.")
    if facts.get("committed"):
        lines.append("Ana's changelog entry is committed.")
        lines += [
            f"{path} is changed and not committed: a commit takes only what is staged."
            for path in facts.get("left", [])
        ]
    else:
        lines.append(f"Nothing was committed: {facts.get('commit_refused', 'not asked')}.")
    if facts.get("answer"):
        kept = f", kept as {facts['answer_ref']}" if facts.get("answer_ref") else ""
        lines.append(f"U-2 is settled: the oldest Python to support is {facts['answer']}{kept}.")
    if facts.get("installed"):
        lines.append("scripts/install.sh was approved and written.")
    else:
        lines.append(f"scripts/install.sh was not written: {facts.get('install_refused', '')}.")
    if cited:
        lines.append("Lessons this entry answers to: " + ", ".join(str(item.get("ref")) for item in cited) + ".")
    return lines


def _close(memory: Memory, facts: Facts) -> None:
    state = memory.state()
    whole = bool(facts.get("patched") and facts.get("committed") and not facts.get("left"))
    for promise in state.get("commitments", []):
        if promise.get("id") == "C-1" and whole:
            promise["status"] = "met"
    done = [
        name for name, key in (("patch", "patched"), ("commit", "committed"), ("script", "installed")) if facts.get(key)
    ]
    state["last_session_summary"] = f"Done: {', '.join(done) or 'nothing'}. Asked which Python is the oldest."
    memory.save(state)


def idle(memory: Memory, given: Given, facts: Facts, pause: Callable[[], None]) -> tuple[Reply, str]:
    """A message that is no part of the story."""
    reply = Reply("Read. I am a scripted agent, and my story has no place for this message.")
    reply.lines = [("ack", given.trigger), ("done", given.trigger)]
    return reply, "done"


def _done(given: Given, op_id: str) -> bool:
    receipt = given.receipt(op_id)
    return receipt is not None and receipt.get("status") == "ok"


def _why_not(given: Given, op_id: str) -> str:
    """Why an op did not happen, on one line: the operator's words, else the receipt's."""
    receipt = given.receipt(op_id) or {}
    reason = given.comment_on(op_id) or str(receipt.get("reason") or receipt.get("status") or "no word came back")
    return reason.rstrip(".")


SCENES: dict[str, Scene] = {
    "start": start,
    "look": look,
    "patched": patched,
    "committed": committed,
    "checked": checked,
    "asked": asked,
    "install": install,
    "done": idle,
}
