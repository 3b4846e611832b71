"""What every test has: text that reached the screen's door without the gate is an error, not mended."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _unsafe_text_is_an_error() -> None:
    # Looked up, not imported: tests of the lower layers must not pay for loading Textual.
    if (module := sys.modules.get("cas_tui.console.content")) is not None:
        module.STRICT = True
