"""A whole stage for a journey: an empty home, a memory root, a git repository, and the real program as a process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

PROGRAM = str(Path(sys.executable).with_name("cas-tui"))
Found = TypeVar("Found")


def until(look: Callable[[], Found], what: str, seconds: float = 30.0) -> Found:
    """The first truthy thing `look` finds, within a deadline."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


@dataclass
class Stage:
    base: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])
    runs: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.base / "home"
        self.root = self.base / "root"
        self.workspace = self.base / "work"
        for place in (self.home, self.root, self.workspace):
            place.mkdir(parents=True)
        (self.workspace / "README.md").write_text("# Tool\n\npython 3.9\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": self.path, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.workspace, check=True, capture_output=True, text=True
        )
        return done.stdout

    def cas(self, *words: str, code: int | None = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the program once; `code` is the exit code it must have, None for any."""
        done = subprocess.run(
            [PROGRAM, *words],
            env=self.environ | environ,
            cwd=self.base,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert code is None or done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *words: str) -> Any:
        return json.loads(self.cas(*words, "--json").stdout)

    def run(self, command: Sequence[str], *options: str, message: str = "do it") -> subprocess.Popen[bytes]:
        """Start `cas-tui run` on this stage; its output goes to run.log."""
        with (self.base / "run.log").open("ab") as log:
            process = subprocess.Popen(
                [PROGRAM, "run", str(self.root), "--workspace", str(self.workspace), "--message", message, *options]
                + ["--", *command],
                env=self.environ,
                cwd=self.base,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.runs.append(process)
        return process

    def log(self) -> str:
        return (self.base / "run.log").read_text(errors="replace")

    def requests(self, state: str = "pending", kind: str = "") -> list[dict[str, Any]]:
        done = self.cas("requests", "list", str(self.root), "--json", code=None)
        if done.returncode:
            return []
        found = json.loads(done.stdout)["requests"]
        return [item for item in found if item["state"] == state and kind in ("", item["kind"])]

    def pending(self, kind: str = "effect", op_kind: str = "") -> dict[str, Any]:
        """The next pending request of a kind, waited for."""

        def look() -> dict[str, Any] | None:
            found = [item for item in self.requests(kind=kind) if op_kind in ("", item["op_kind"])]
            return found[0] if found else None

        return until(look, f"a pending {kind} {op_kind}: {self.log()[-800:]}")

    def approve(self, request: dict[str, Any], *options: str) -> None:
        words = ("requests", "approve", str(self.root), request["request_id"], "--digest", request["digest"])
        self.cas(*words, "--wait", *options)

    def records(self, name: str) -> list[dict[str, Any]]:
        path = self.root / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / "STATE.json").read_text())
        return found

    def close(self) -> None:
        for process in self.runs:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        self._end_strays()

    def _end_strays(self) -> None:
        """Hosts that were started on behalf of a command end here too."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes()
                    if str(self.root).encode() in words and b"cas_tui" in words:
                        os.kill(int(entry.name), signal.SIGKILL)


@contextlib.contextmanager
def stage(base: Path) -> Iterator[Stage]:
    made = Stage(base)
    try:
        yield made
    finally:
        made.close()


def well_formed(stage: Stage) -> None:
    """Every observation has a prediction before it and a learning after it (PROTOCOL part 1)."""
    predicted = {record["action_id"] for record in stage.records("predictions")}
    learned = {record["action_id"] for record in stage.records("learning")}
    observed = [record["action_id"] for record in stage.records("observations")]
    assert set(observed) <= predicted, set(observed) - predicted
    assert set(observed) <= learned, set(observed) - learned
    assert len(observed) == len(set(observed)), "an action was observed twice"
