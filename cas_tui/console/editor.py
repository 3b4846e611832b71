"""The operator's own editor on one text: the only place in the console that starts a process.

The text is in a file of ours with mode 0600 in a directory of its own, gone afterwards. No shell is involved.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from textual.app import App, SuspendNotSupported

MAX_TEXT = 4 * 1024 * 1024


class NoEditor(Exception):
    """There is no editor to start, or this terminal cannot be given to it; the message says which."""


def command(environ: Mapping[str, str]) -> list[str]:
    """The words of $VISUAL or $EDITOR. Raises NoEditor."""
    wish = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(wish)
    except ValueError as fault:
        raise NoEditor(f"$EDITOR cannot be read: {fault}") from None
    if not words:
        raise NoEditor("no $EDITOR is set")
    return words


def edit(app: App[object], value: str, *, suffix: str = ".txt", environ: Mapping[str, str] | None = None) -> str | None:
    """Give the terminal to the editor; the text as it was saved, or None when it was left without saving.

    Raises NoEditor when it cannot be started. Nothing leaves the suspended terminal by an exception (C21).
    """
    words = command(os.environ if environ is None else environ)
    failure = ""
    result: str | None = None
    with tempfile.TemporaryDirectory(prefix="cas-tui-edit-") as folder:
        path = Path(folder) / f"text{suffix}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(value)
        try:
            with app.suspend():
                try:
                    code = subprocess.run([*words, str(path)], check=False).returncode
                    if code == 0:
                        data = path.read_bytes()[: MAX_TEXT + 1]
                        result = data.decode("utf-8", "surrogateescape")
                    else:
                        failure = f"the editor ended with {code}"
                except OSError as fault:
                    failure = f"the editor did not start: {fault.strerror}"
        except SuspendNotSupported:
            raise NoEditor("this terminal cannot be given to an editor") from None
    if failure.startswith("the editor did not start"):
        raise NoEditor(failure)
    return None if result is not None and len(result) > MAX_TEXT else result
