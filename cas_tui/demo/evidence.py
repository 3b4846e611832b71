"""Verdicts from evidence: what the agent reads out of what it was shown. Pure; knows no story."""

from __future__ import annotations

import difflib
import re

_VERSION = re.compile(r"\b[Pp]ython (\d+\.\d+) or newer")


def version_named(text: str) -> str | None:
    """The oldest Python an install section names, or None when it names none."""
    found = _VERSION.search(text)
    return found.group(1) if found else None


def version_in(words: str) -> str | None:
    """The version number in a sentence, or None."""
    found = re.search(r"\d+\.\d+", words)
    return found.group(0) if found else None


def raise_floor(text: str, version: str) -> str:
    """The README with its install line replaced by three that need at least `version`."""
    lines = text.splitlines(keepends=True)
    new = [f"python {version} or newer, then:\n", "    python -m venv .venv\n", "    .venv/bin/pip install tool\n"]
    return "".join(part for line in lines for part in (new if _VERSION.search(line) else [line]))


def diff(path: str, old: str, new: str) -> str:
    """A unified diff of one file."""
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}")
    return "".join(lines)


def changed_files(status: bytes) -> list[str]:
    """The paths in a `git_status` artifact, one a line after two status letters and a space."""
    return [line[3:].strip() for line in status.decode("utf-8", "replace").splitlines() if line.strip()]


def count_of_files(paths: list[str]) -> str:
    """ "clean", or how many files changed and which."""
    if not paths:
        return "clean"
    noun = "file" if len(paths) == 1 else "files"
    return f"{len(paths)} changed {noun}: {', '.join(paths)}"
