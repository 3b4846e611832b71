"""The memory root as a pinned directory: every file below it is opened from there, never by an absolute path.

The agent owns every name in the root and may swap any of them for a symbolic link at any time. So each path component
is opened without following links. A link is honoured only when its target lies inside the same root, and then the
target's own components are walked without following a second one (SAFETY B06, S1). Must not write.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_DIRECTORY: Final = _FLAGS | os.O_DIRECTORY
# Opening a FIFO for reading would wait for a writer; without blocking it opens and is then refused as not regular.
_FILE: Final = _FLAGS | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something cannot be read: `status` is `missing` or `unreadable` (as in `FileStatus`), `detail` in words."""

    status: str
    detail: str = ""


def fault_of(error: OSError, what: str = "") -> Fault:
    """An operating system error in words; `what` (ours) comes first when given."""
    lead = f"{what}: " if what else ""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Fault("missing", f"{what} is not there" if what else "")
    if error.errno == errno.ELOOP:
        return Fault("unreadable", f"{lead}a symbolic link, not followed")
    words = os.strerror(error.errno).lower() if error.errno else str(error)
    return Fault("unreadable", lead + words)


Signature = tuple[int, int, int, int, int]
"""(device, inode, size, mtime_ns, ctime_ns): two equal ones mean that nothing was written in between, as far as a
file system tells."""


def signature(found: os.stat_result) -> Signature:
    """What changes whenever a file does. ctime is part of it: an agent can set mtime back, but not ctime."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Folder:
    """One memory root, held open. `fault` says why nothing in it can be read, or is None."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.fault: Fault | None = None
        self._fd = -1
        self._identity: tuple[int, int] | None = None
        self._directories: dict[str, int] = {}

    def refresh(self) -> None:
        """Begin a look: whether the root is still the directory it was. A new one in its place is opened anew."""
        self._forget_directories()
        try:
            found = os.lstat(self.root)
        except OSError as error:
            self.fault = fault_of(error, "the memory root")
            return
        if stat.S_ISLNK(found.st_mode):
            # `root` was resolved before it came here, so a link stands where a directory stood: never followed (B06).
            self.fault = Fault("unreadable", "the memory root: a symbolic link took its place, not followed")
            return
        if not stat.S_ISDIR(found.st_mode):
            self.fault = Fault("unreadable", "the memory root is not a directory")
            return
        if self._fd >= 0 and self._identity == (found.st_dev, found.st_ino):
            self.fault = None
            return
        self._reopen()

    def _reopen(self) -> None:
        self.close()
        try:
            self._fd = os.open(self.root, _DIRECTORY)
        except OSError as error:
            self.fault = fault_of(error, "the memory root")
            return
        pinned = os.fstat(self._fd)
        self._identity = (pinned.st_dev, pinned.st_ino)
        self.fault = None

    def stat(self, rel: str) -> os.stat_result | Fault:
        """What stands at `rel` (a link inside the root: its target). Never raises OSError."""
        if self.fault is not None:
            return self.fault
        head, _, name = rel.rpartition("/")
        parent = self._directory(head) if head else self._fd
        if isinstance(parent, Fault):
            return parent
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError as error:
            return fault_of(error)
        if not stat.S_ISLNK(found.st_mode):
            return found
        fd = self._open(rel, _FILE)
        if isinstance(fd, Fault):
            return fd
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def open(self, rel: str) -> int | Fault:
        """A read-only descriptor of the regular file at `rel`; the caller closes it. Never raises OSError."""
        if self.fault is not None:
            return self.fault
        fd = self._open(rel, _FILE)
        if isinstance(fd, Fault):
            return fd
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return Fault("unreadable", "not a regular file")
        return fd

    def read(self, rel: str, limit: int) -> tuple[bytes, Signature] | Fault:
        """At most `limit` bytes from the start of `rel`, and its signature before they were read."""
        fd = self.open(rel)
        if isinstance(fd, Fault):
            return fd
        try:
            before = signature(os.fstat(fd))
            return read_at(fd, limit, 0), before
        except OSError as error:
            return fault_of(error)
        finally:
            os.close(fd)

    def names(self, rel: str, suffix: str, limit: int) -> tuple[list[tuple[str, Signature]], int] | Fault:
        """The regular files and links of the directory `rel` that end in `suffix`: the first `limit` by name, sorted.

        The second value is how many more there are. Never raises OSError.
        """
        if self.fault is not None:
            return self.fault
        fd = self._directory(rel)
        if isinstance(fd, Fault):
            return fd
        try:
            names = sorted(name for name in os.listdir(fd) if name.endswith(suffix))  # noqa: PTH208 (of a descriptor)
            found: list[tuple[str, Signature]] = []
            for name in names[:limit]:
                try:
                    found.append((name, signature(os.stat(name, dir_fd=fd, follow_symlinks=False))))
                except OSError:
                    continue
            return found, max(0, len(names) - limit)
        except OSError as error:
            return fault_of(error)

    def _directory(self, rel: str) -> int | Fault:
        """The directory at `rel`, opened once a look."""
        known = self._directories.get(rel)
        if known is not None:
            return known
        fd = self._open(rel, _DIRECTORY)
        if not isinstance(fd, Fault):
            self._directories[rel] = fd
        return fd

    def _open(self, rel: str, flags: int) -> int | Fault:
        try:
            return self._walk(rel.split("/"), flags)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                return fault_of(error)
            return self._open_linked(rel, flags, error)

    def _open_linked(self, rel: str, flags: int, error: OSError) -> int | Fault:
        """A component of `rel` is a link: open its target if that lies inside the root, and say so if it does not."""
        target = os.path.realpath(self.root / rel)
        base = str(self.root)
        if target == str(self.root / rel):
            return fault_of(error)
        if os.path.commonpath((base, target)) != base or target == base:
            return Fault("unreadable", "a symbolic link out of the memory root, not followed")
        try:
            return self._walk(os.path.relpath(target, base).split("/"), flags)
        except OSError as second:
            return fault_of(second)

    def _walk(self, parts: list[str], flags: int) -> int:
        fd = self._fd
        try:
            for part in parts[:-1]:
                inner = os.open(part, _DIRECTORY, dir_fd=fd)
                if fd != self._fd:
                    os.close(fd)
                fd = inner
            return os.open(parts[-1], flags, dir_fd=fd)
        finally:
            if fd != self._fd:
                os.close(fd)

    def close(self) -> None:
        """Let the directory go. `refresh` opens it again."""
        self._forget_directories()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._identity = None

    def _forget_directories(self) -> None:
        while self._directories:
            os.close(self._directories.popitem()[1])


def read_at(fd: int, length: int, offset: int) -> bytes:
    """Up to `length` bytes from `offset`, fewer only at the end of the file. Raises OSError."""
    data = os.pread(fd, length, offset)
    while len(data) < length:
        more = os.pread(fd, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data
