"""The directory an agent works in, opened once: a confined root and, where there is one, its git repository."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cas_tui.effects.errors import Refused
from cas_tui.effects.git import GitRepo
from cas_tui.effects.paths import Parts, RootDir, Rules

_MEMORY_NAMES = (
    "STATE.json", "STATE", "predictions.jsonl", "observations.jsonl", "learning.jsonl", "decisions.jsonl",
    "obligations.jsonl", "errors.jsonl", "cas-index.jsonl", "run_nonce.txt", "raw", "archive", "threads",
    "consciousness-report",
)  # fmt: skip
"""What is the record and not the work, for a workspace that is its own memory root."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root_dir` confines every path; `git` is None when the workspace is not a repository of its own.

    `git_fault` says why a repository that is there is not used (a redirected work tree, foreign objects).
    """

    root_dir: RootDir
    git: GitRepo | None
    git_fault: str = ""

    @staticmethod
    def open(
        path: Path,
        memory_root: Path | None = None,
        *,
        closed: Sequence[Path] = (),
        use_openat2: bool | None = None,
    ) -> Workspace:
        """Open a workspace.

        Args:
            path: the directory.
            memory_root: when it lies inside, no op touches it (PROTOCOL §5.1); when it is the workspace itself, the
                record's own files are closed.
            closed: further places no op touches, such as the runtime zone.
            use_openat2: see `RootDir.open`.

        Raises:
            Refused: `directory_not_found`.
        """
        real = Path(os.path.realpath(path))
        places = [place for place in (_below(real, item) for item in (memory_root, *closed)) if place is not None]
        inside = [place for place in places if place]
        if memory_root is not None and _below(real, memory_root) == ():
            inside.extend((name,) for name in _MEMORY_NAMES)
        environment = _below(real, Path(sys.prefix)) if sys.prefix != sys.base_prefix else None
        rules = Rules(closed=tuple(inside), no_write=(environment,) if environment else ())
        root = RootDir.open(real, rules=rules, use_openat2=use_openat2)
        try:
            return Workspace(root, GitRepo.open(root))
        except Refused as refusal:
            return Workspace(root, None, refusal.detail or refusal.reason)

    def repo(self) -> GitRepo:
        """The repository. Raises Refused with the reason there is none."""
        if self.git is None:
            raise Refused("policy_rejected", self.git_fault or "the workspace is not a git repository")
        return self.git

    def close(self) -> None:
        """Give the root's descriptor back."""
        self.root_dir.close()


def _below(root: Path, place: Path | None) -> Parts | None:
    """`place` as components below `root`, or None when it lies elsewhere."""
    if place is None:
        return None
    try:
        return Path(os.path.realpath(place)).relative_to(root).parts
    except ValueError:
        return None
