"""Durable writing in the agent zone: append one line, replace one file, make one new file (SAFETY D1-D3, D6).

Every way a file of the memory root is written by us goes through here. Nothing is ever truncated or repaired; a torn
last line of somebody else's is closed with a newline before ours begins, so that the two are never glued together.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

DIRECTORY_MODE = 0o755
FILE_MODE = 0o644


class WriteFailed(OSError):
    """A write that did not become durable. The message names the file and the reason in plain words."""


def _failed(path: Path, error: OSError) -> WriteFailed:
    return WriteFailed(f"{path.name}: {error.strerror or error}")


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Make `directory` and its parents, durably; an existing one is left as it is."""
    if directory.is_dir():
        return
    try:
        make_directory(directory.parent)
        directory.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        sync_directory(directory.parent)
    except OSError as error:
        raise _failed(directory, error) from None


def append_line(path: Path, line: bytes) -> None:
    """Append one newline-terminated line and make it durable.

    Raises:
        WriteFailed: the line may or may not be in the file; the caller must look before trying again.
    """
    if not line.endswith(b"\n"):
        raise ValueError("a line ends with a newline")
    make_directory(path.parent)
    fresh = not path.exists()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            written = os.write(descriptor, line)
            if written != len(line):
                raise OSError(0, f"only {written} of {len(line)} bytes written")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if fresh:
            sync_directory(path.parent)
    except OSError as error:
        raise _failed(path, error) from None


def replace_file(path: Path, data: bytes, *, mode: int = FILE_MODE) -> None:
    """Put `data` in the place of `path` so that every reader sees the old or the new content, whole (SAFETY D3).

    Raises:
        WriteFailed: the old content still stands (or, after a failed directory sync, may come back after power loss).
    """
    make_directory(path.parent)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(6)}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _failed(path, error) from None


def create_file(path: Path, data: bytes) -> Path:
    """Write a new file; when the name is taken by other content, add a number to the stem (PROTOCOL §2.12).

    A file that already holds exactly `data` is taken as this one, so that a repeated call makes no second file.
    """
    make_directory(path.parent)
    candidate, number = path, 1
    while candidate.exists() or candidate.is_symlink():
        if candidate.is_file() and not candidate.is_symlink() and candidate.read_bytes() == data:
            return candidate
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    replace_file(candidate, data)
    return candidate


def remove_file(path: Path) -> None:
    """Remove `path` durably; one that is not there is fine."""
    try:
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            sync_directory(path.parent)
    except OSError as error:
        raise _failed(path, error) from None


def read_regular(path: Path, limit: int) -> bytes | None:
    """The content of a regular file of at most `limit` bytes, or None when there is none. Never follows a link.

    Raises:
        WriteFailed: the file is there but is no regular file, is larger than `limit`, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(path, error) from None
    try:
        status = os.fstat(descriptor)
        if (status.st_mode & 0o170000) != 0o100000:
            raise WriteFailed(f"{path.name}: not a regular file")
        if status.st_size > limit:
            raise WriteFailed(f"{path.name}: {status.st_size} bytes, over the limit of {limit}")
        chunks: list[bytes] = []
        while chunk := os.read(descriptor, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        view = view[written:]
