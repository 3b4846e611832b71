"""Reading and durable writing in the agent zone, without ever leaving it (SAFETY D1-D3, D6, S1).

The agent may put a link, a pipe or a device anywhere in its memory root at any time. Every directory on the way to a
file is therefore opened by descriptor without following links, and only regular files are read or written. Nothing
is ever truncated or repaired; a torn last line of somebody else's is closed with a newline before ours begins, so
that the two are never glued together.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

DIRECTORY_MODE = 0o755
FILE_MODE = 0o644
_WALK = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class WriteFailed(OSError):
    """A file of the agent zone that could not be used. The message names it and the reason in plain words."""


def _failed(path: Path, error: OSError) -> WriteFailed:
    if isinstance(error, WriteFailed):
        return error
    return WriteFailed(f"{path.name}: {error.strerror or error}")


@contextlib.contextmanager
def _directory(path: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of an absolute directory, reached without following any link (the root is resolved already).

    Raises OSError (ELOOP, ENOTDIR, ENOENT …) for what is no such directory. With `make`, missing ones are made durably.
    """
    if not path.is_absolute():
        raise ValueError(f"{path} is not absolute")
    here = os.open("/", _WALK)
    try:
        for name in path.parts[1:]:
            try:
                below = os.open(name, _WALK, dir_fd=here)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, DIRECTORY_MODE, dir_fd=here)
                _sync(here)
                below = os.open(name, _WALK, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _sync(directory: int) -> None:
    """Make the names in a directory durable (an O_PATH descriptor cannot be synced itself)."""
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_regular(path: Path, descriptor: int) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise WriteFailed(f"{path.name}: not a regular file")
    return status


def open_regular(path: Path) -> int | None:
    """A descriptor of a regular file for reading, or None when there is none. The caller closes it.

    Raises:
        WriteFailed: something is there that is no regular file of this root, or it cannot be read.
    """
    try:
        with _directory(path.parent) as directory:
            descriptor = os.open(path.name, _LOOK, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(path, error) from None
    try:
        _require_regular(path, descriptor)
    except WriteFailed:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path, limit: int) -> bytes | None:
    """The content of a regular file of at most `limit` bytes, or None when there is none.

    Raises:
        WriteFailed: no regular file of this root, larger than `limit`, or unreadable.
    """
    descriptor = open_regular(path)
    if descriptor is None:
        return None
    with open(descriptor, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise WriteFailed(f"{path.name}: over the limit of {limit} bytes")
    return data


def newest_part(path: Path, window: int) -> tuple[int, bytes]:
    """(offset, bytes) of the last `window` bytes of a regular file; (0, b"") when it is missing or not to be read."""
    try:
        descriptor = open_regular(path)
    except WriteFailed:
        return 0, b""
    if descriptor is None:
        return 0, b""
    with open(descriptor, "rb") as file:
        start = max(0, os.fstat(descriptor).st_size - window)
        file.seek(start)
        return start, file.read(window)


def names_in(directory: Path, suffix: str, limit: int) -> list[str]:
    """The first `limit` names in a directory of this root that end in `suffix`, sorted; none when it is none."""
    try:
        with _directory(directory) as descriptor:
            reader = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
            try:
                return sorted(name for name in os.listdir(reader) if name.endswith(suffix))[:limit]  # noqa: PTH208
            finally:
                os.close(reader)
    except OSError:
        return []


def is_regular(path: Path) -> bool:
    """Whether a regular file of this root is there."""
    try:
        descriptor = open_regular(path)
    except WriteFailed:
        return False
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def make_directory(directory: Path) -> None:
    """Make `directory` and its parents, durably; an existing one is left as it is."""
    try:
        with _directory(directory, make=True):
            pass
    except OSError as error:
        raise _failed(directory, error) from None


def append_line(path: Path, line: bytes) -> None:
    """Append one newline-terminated line and make it durable.

    Raises:
        WriteFailed: the line may or may not be in the file; the caller must look before trying again.
    """
    if not line.endswith(b"\n"):
        raise ValueError("a line ends with a newline")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with _directory(path.parent, make=True) as directory:
            descriptor = os.open(path.name, flags, FILE_MODE, dir_fd=directory)
            try:
                size = _require_regular(path, descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    line = b"\n" + line
                written = os.write(descriptor, line)
                if written != len(line):
                    raise OSError(0, f"only {written} of {len(line)} bytes written")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if not size:
                _sync(directory)
    except OSError as error:
        raise _failed(path, error) from None


def replace_file(path: Path, data: bytes, *, mode: int = FILE_MODE) -> None:
    """Put `data` in the place of `path` so that every reader sees the old or the new content, whole (SAFETY D3).

    A link in that place is replaced, not followed.

    Raises:
        WriteFailed: the old content still stands (or, after a failed directory sync, may come back after power loss).
    """
    temporary = f".{path.name[:200]}.{secrets.token_hex(6)}.tmp"
    try:
        with _directory(path.parent, make=True) as directory:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(temporary, flags, mode, dir_fd=directory)
            try:
                try:
                    _write_all(descriptor, data)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                os.rename(temporary, path.name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=directory)
                raise
            _sync(directory)
    except OSError as error:
        raise _failed(path, error) from None


def create_file(path: Path, data: bytes) -> Path:
    """Write a new file; when the name is taken by other content, add a number to the stem (PROTOCOL §2.12).

    A file that already holds exactly `data` is taken as this one, so that a repeated call makes no second file.
    """
    candidate, number = path, 1
    while os.path.lexists(candidate):
        try:
            if read_regular(candidate, len(data)) == data:
                return candidate
        except WriteFailed:
            pass
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    replace_file(candidate, data)
    return candidate


def remove_file(path: Path) -> None:
    """Remove `path` durably; one that is not there is fine. A link is removed, not what it names."""
    try:
        with _directory(path.parent) as directory:
            os.unlink(path.name, dir_fd=directory)
            _sync(directory)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _failed(path, error) from None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        view = view[written:]
