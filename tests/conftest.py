"""What every test has: unsafe text at the screen's door is an error, and in CI a test that did not run has failed."""

from __future__ import annotations

import os
import sys

import pytest


@pytest.fixture(autouse=True)
def _unsafe_text_is_an_error() -> None:
    # Looked up, not imported: tests of the lower layers must not pay for loading Textual.
    if (module := sys.modules.get("cas_tui.console.content")) is not None:
        module.STRICT = True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """A skipped test proves nothing; where everything is supposed to be installed, that is a failure."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and in CI nothing may be: {report.longrepr}"
