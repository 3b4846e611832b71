"""A workspace with a real repository, a memory root beside it, and a way to do one op as the loop does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cas_tui.effects.limits import Limits
from cas_tui.effects.observe import Observed, observe
from cas_tui.effects.perform import Done, perform
from cas_tui.effects.preimages import PreImageStore
from cas_tui.effects.prepare import Prepared, prepare
from cas_tui.effects.workspace import Workspace
from cas_tui.protocol.ops import Op, OpClass
from cas_tui.protocol.requests import PreImage

IDENTITY = ("cas-tui", "cas-tui@localhost")
WHEN = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
FILES = {
    "README.md": b"# Sample\n\none\ntwo\nthree\n",
    "src/app.py": b"def main():\n    return 0\n",
    "docs/a b.md": b"spaced\n",
}


@dataclass
class Bench:
    """One opened workspace with the calls that tests make on it."""

    path: Path
    outside: Path
    ws: Workspace
    store: PreImageStore

    def prepare(self, kind: str, **fields: object) -> Prepared:
        return prepare(self.ws, kind, fields, saved=self.store.load, identity=IDENTITY)

    def perform(self, kind: str, shown: PreImage, **fields: object) -> Done:
        return perform(
            self.ws, kind, fields, shown, save=self.store.save, identity=IDENTITY, when=WHEN, saved=self.store.load
        )

    def do(self, kind: str, **fields: object) -> Done:
        return self.perform(kind, self.prepare(kind, **fields).pre_image, **fields)

    def look(self, kind: str, limits: Limits | None = None, **fields: object) -> Observed:
        return observe(self.ws, Op(kind, OpClass.OBSERVE, "obs-01", 0, fields), limits or Limits())

    def git(self, *args: str) -> str:
        """The git program, for setting a scene or as a second opinion; never what is tested."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.outside), "GIT_CONFIG_NOSYSTEM": "1"}
        names = ["-c", "user.name=t", "-c", "user.email=t@t"]
        done = subprocess.run(
            ["git", *names, *args], cwd=self.path, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, rel: str, data: bytes) -> Path:
        target = self.path / rel
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target

    def tree(self) -> Mapping[str, tuple[int, bytes]]:
        """Every file and link of the workspace, `.git` included, for "nothing was changed"."""
        found: dict[str, tuple[int, bytes]] = {}
        for directory, _, names in os.walk(self.path):
            for name in names:
                full = Path(directory, name)
                data = os.fsencode(os.readlink(full)) if full.is_symlink() else full.read_bytes()
                found[str(full.relative_to(self.path))] = (full.lstat().st_mode, data)
        return found
