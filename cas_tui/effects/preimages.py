"""Saved contents, by hash, in the runtime zone: what makes an edit reversible (PROTOCOL §5.4)."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from cas_tui.protocol.digest import sha256


class PreImageStore:
    """A directory of contents named by their SHA-256; 0700, files 0600, never in an agent's reach."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def save(self, data: bytes, *, durable: bool = True) -> str:
        """Keep `data`; its `sha256:…`. Saving twice is one file.

        `durable` waits for the disk: required before an effect, not for a copy that only a later comparison wants.
        Raises OSError when it cannot be kept.
        """
        key = sha256(data)
        if not durable and self._saved_quickly(key, data):
            return key
        target = self._path(key)
        if self.load(key) is not None:
            if durable:
                _sync(target, os.O_RDONLY)
                _sync(self.directory, os.O_RDONLY | os.O_DIRECTORY)
            return key
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        temp = self.directory / f".{secrets.token_hex(16)}.tmp"
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temp.rename(target)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        if durable:
            _sync(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        return key

    def _saved_quickly(self, key: str, data: bytes) -> bool:
        """Thousands of copies at a run's start: no temporary name, since `load` notices a torn file by its hash."""
        path = f"{self.directory}/{key.removeprefix('sha256:')}"
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        with os.fdopen(fd, "wb", buffering=0) as file:
            return file.write(data) == len(data)

    def load(self, key: str) -> bytes | None:
        """The content, or None when it is not here or no longer what its name says."""
        if not key.startswith("sha256:") or not key[7:].isalnum():
            return None
        try:
            data = self._path(key).read_bytes()
        except OSError:
            return None
        return data if sha256(data) == key else None

    def _path(self, key: str) -> Path:
        return self.directory / key.removeprefix("sha256:")


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
