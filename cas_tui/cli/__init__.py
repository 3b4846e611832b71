"""The command line: one thin module a noun (PROTOCOL §5.6). The only package that calls `sys.exit`.

Every command works without a terminal, knows `--json`, and ends with one of the agreed exit codes; a failure is one
clear line on standard error and never a traceback. What needs Textual is loaded only by `watch` and `demo`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The entry point of `cas-tui` and of `python -m cas_tui`."""
    from cas_tui.cli.entry import run

    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))
