"""Every path this program reads or writes, in one place. Makes no directory and opens nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TELEMETRY = ("predictions.jsonl", "observations.jsonl", "learning.jsonl")


@dataclass(frozen=True, slots=True)
class RootPaths:
    """The files of one memory root: the agent zone (PROTOCOL §1.1, §2.1). The agent may write any byte of them."""

    root: Path

    @property
    def state_json(self) -> Path:
        return self.root / "STATE.json"

    @property
    def predictions(self) -> Path:
        return self.root / "predictions.jsonl"

    @property
    def observations(self) -> Path:
        return self.root / "observations.jsonl"

    @property
    def learning(self) -> Path:
        return self.root / "learning.jsonl"

    @property
    def run_nonce(self) -> Path:
        return self.root / "run_nonce.txt"

    @property
    def raw(self) -> Path:
        return self.root / "raw"

    @property
    def decisions_export(self) -> Path:
        return self.root / "decisions.jsonl"

    @property
    def exchange(self) -> Path:
        """The directory `state/`."""
        return self.root / "state"

    @property
    def input_md(self) -> Path:
        return self.exchange / "input.md"

    @property
    def output_md(self) -> Path:
        return self.exchange / "output.md"

    @property
    def queue(self) -> Path:
        return self.exchange / "queue"

    @property
    def issues(self) -> Path:
        """Surfaced issues, `state/mca/`."""
        return self.exchange / "mca"

    @property
    def receipts(self) -> Path:
        return self.exchange / "receipts"

    @property
    def artifacts(self) -> Path:
        return self.exchange / "artifacts"

    @property
    def finalized(self) -> Path:
        return self.exchange / "finalized"

    @property
    def threads(self) -> Path:
        return self.root / "threads"

    @property
    def input_archive(self) -> Path:
        return self.root / "logs" / "input"

    @property
    def output_archive(self) -> Path:
        return self.root / "logs" / "output"


@dataclass(frozen=True, slots=True)
class RuntimePaths:
    """The files of the runtime zone of one root: ours, mode 0700, outside every sandbox mount (PROTOCOL §5.1)."""

    directory: Path

    @property
    def ledger(self) -> Path:
        return self.directory / "ledger.db"

    @property
    def policy(self) -> Path:
        return self.directory / "policy.toml"

    @property
    def pre_images(self) -> Path:
        return self.directory / "pre-images"

    @property
    def lock(self) -> Path:
        return self.directory / "host.lock"

    @property
    def host_log(self) -> Path:
        return self.directory / "host.log"

    @property
    def cancelled_log(self) -> Path:
        return self.directory / "cancelled.log"


def resolve_root(root: str | Path) -> Path:
    """The memory root as it is keyed and digested: absolute, symlinks resolved."""
    return Path(root).expanduser().resolve()


def root_key(root: Path) -> str:
    """First 16 hex digits of SHA-256 of the resolved root path (PROTOCOL §5.1)."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def state_home(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/cas-tui`, or `~/.local/state/cas-tui`. A relative XDG value is ignored, as XDG says."""
    chosen = environ.get("XDG_STATE_HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "cas-tui"
    return Path(environ.get("HOME") or str(Path.home())) / ".local" / "state" / "cas-tui"


def runtime_paths(root: Path, environ: Mapping[str, str]) -> RuntimePaths:
    """The runtime zone of `root`."""
    return RuntimePaths(state_home(environ) / root_key(root))


def config_file(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/cas-tui/config.toml`, or `~/.config/cas-tui/config.toml`."""
    chosen = environ.get("XDG_CONFIG_HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "cas-tui" / "config.toml"
    return Path(environ.get("HOME") or str(Path.home())) / ".config" / "cas-tui" / "config.toml"
