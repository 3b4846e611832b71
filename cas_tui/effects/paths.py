"""A directory that nothing leads out of: every file operation of an op goes through one `RootDir`.

The root is opened once and held. A path is first resolved in user space, component by component, which yields the
real name to judge (PROTOCOL §2.5); then that exact name is opened with the kernel refusing every symlink, magic link
and mount on the way (SAFETY S1), so that whatever was swapped in between is refused and never followed. Two ways of
that last step exist, openat2 and a walk with O_NOFOLLOW, and both are tested alike.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cas_tui.effects import kernel, names
from cas_tui.effects.errors import Refused, refusal_of
from cas_tui.effects.limits import MAX_FILE
from cas_tui.effects.replacing import LastLook, lstat_at, replace_at, sweep_at, sync_after

Parts = tuple[str, ...]

MAX_LINKS: Final = 40
# A descriptor that only names the thing, a symlink included; elsewhere the nearest that exists.
_PATH_FLAGS: Final = os.O_CLOEXEC | (
    os.O_PATH | os.O_NOFOLLOW if hasattr(os, "O_PATH") else getattr(os, "O_SYMLINK", 0) | os.O_NONBLOCK
)
_DIR_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RESOLVE: Final = (
    kernel.RESOLVE_BENEATH | kernel.RESOLVE_NO_MAGICLINKS | kernel.RESOLVE_NO_SYMLINKS | kernel.RESOLVE_NO_XDEV
)
_RETRIES: Final = 16


@dataclass(frozen=True, slots=True)
class Rules:
    """What lies inside the root and is still not an op's business, as components below the root."""

    closed: tuple[Parts, ...] = ()
    """Neither read nor written: the memory root, the runtime zone."""
    no_write: tuple[Parts, ...] = ()
    """Readable, not writable: the running virtual environment."""


class RootDir:
    """One open directory and the rules below it. Close it, or use it as a context manager."""

    def __init__(self, fd: int, path: Path, *, rules: Rules, use_openat2: bool) -> None:
        self.fd = fd
        self.path = path
        self.rules = rules
        self.use_openat2 = use_openat2
        self.device = os.fstat(fd).st_dev

    @staticmethod
    def open(path: Path, *, rules: Rules | None = None, use_openat2: bool | None = None) -> RootDir:
        """Open `path` (its own symlinks resolved) as a root.

        Args:
            rules: places inside that stay closed.
            use_openat2: None asks the kernel; False forces the walk.

        Raises:
            Refused: `directory_not_found`.
        """
        real = Path(os.path.realpath(path))
        try:
            fd = os.open(real, _DIR_FLAGS)
        except OSError as error:
            raise Refused("directory_not_found", f"{path}: {error.strerror}", status="error") from None
        chosen = kernel.has_openat2() if use_openat2 is None else use_openat2
        return RootDir(fd, real, rules=rules or Rules(), use_openat2=chosen)

    def close(self) -> None:
        """Give the descriptor back; the object is useless afterwards."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> RootDir:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- judging a name -----------------------------------------------------------------------------------------

    def check_path(self, rel: str, *, write: bool = False, ours: bool = False) -> str:
        """The real, normalised path of `rel` below the root, or a refusal in the order of PROTOCOL §2.5.

        For a read, symlinks inside the root are followed and the *target* is judged (SAFETY G04). For a write, no
        component may be a symlink. The path need not exist. `ours` is for putting a saved version back: the last
        component may then be a symlink (it is replaced, not followed), and protected files are allowed.
        """
        parts = names.normalise(rel, write=write)
        resolved = self._resolve(parts, follow_leaf=not ours)
        if self.is_closed(resolved, write=write):
            raise Refused("path_denied", rel)
        if write and resolved != parts:
            raise Refused("symlink_escape", f"a write does not follow symlinks: {rel}")
        if write and not ours and names.is_protected_file(resolved):
            raise Refused("protected_file", rel)
        return "/".join(resolved) or "."

    def is_closed(self, parts: Sequence[str], *, write: bool = False) -> bool:
        """Whether a resolved path is denied: by name, or because it lies in a closed place of this root."""
        if names.is_denied(parts):
            return True
        places = self.rules.closed + (self.rules.no_write if write else ())
        return any(names.is_below(parts, place) for place in places)

    def _resolve(self, parts: Parts, *, follow_leaf: bool) -> Parts:
        """Follow symlinks by hand, never leaving the root; names that do not exist are kept as they are."""
        todo = list(reversed(parts))
        stack: list[tuple[str, int]] = []
        links = 0
        try:
            while todo:
                name = todo.pop()
                if name == "..":
                    if not stack:
                        raise Refused("symlink_escape", "/".join(parts))
                    os.close(stack.pop()[1])
                    continue
                here = stack[-1][1] if stack else self.fd
                try:
                    fd = os.open(name, _PATH_FLAGS, dir_fd=here)
                except FileNotFoundError:
                    return self._missing([item[0] for item in stack], [name, *reversed(todo)], parts)
                except OSError as error:
                    raise refusal_of(error, "/".join(parts)) from None
                mode = os.fstat(fd).st_mode
                if stat.S_ISLNK(mode) and (follow_leaf or todo):
                    os.close(fd)
                    links += 1
                    todo.extend(reversed(self._link_parts(here, name, links, parts)))
                    continue
                stack.append((name, fd))
                if todo and not stat.S_ISDIR(mode):
                    raise Refused("file_not_found", f"{'/'.join(parts)}: not a directory on the way", status="error")
            return tuple(item[0] for item in stack)
        finally:
            for _, fd in stack:
                os.close(fd)

    @staticmethod
    def _link_parts(dir_fd: int, name: str, links: int, parts: Parts) -> list[str]:
        shown = "/".join(parts)
        if links > MAX_LINKS:
            raise Refused("symlink_escape", f"too many symlinks: {shown}")
        try:
            target = os.readlink(name, dir_fd=dir_fd)
        except OSError as error:
            raise refusal_of(error, shown) from None
        if target.startswith("/"):
            raise Refused("symlink_escape", shown)
        return [part for part in target.split("/") if part not in ("", ".")]

    @staticmethod
    def _missing(found: list[str], rest: list[str], parts: Parts) -> Parts:
        """A path whose tail does not exist: the tail is taken by name, and may not climb out."""
        for name in rest:
            if name == "..":
                if not found:
                    raise Refused("symlink_escape", "/".join(parts))
                found.pop()
            else:
                found.append(name)
        return tuple(found)

    # --- opening ------------------------------------------------------------------------------------------------

    def _open_exact(self, parts: Sequence[str], flags: int, mode: int = 0) -> int:
        """Open exactly this name; any symlink or mount on the way is an error (SAFETY S1)."""
        if not parts:
            return os.open(".", _DIR_FLAGS, dir_fd=self.fd)
        if self.use_openat2:
            for _ in range(_RETRIES):
                try:
                    return kernel.openat2(self.fd, "/".join(parts), flags | os.O_NOFOLLOW, mode, _RESOLVE)
                except OSError as error:
                    if error.errno != errno.EAGAIN:
                        raise
            raise OSError(errno.EAGAIN, "the directory keeps changing")
        return self._open_walking(parts, flags, mode)

    def _open_walking(self, parts: Sequence[str], flags: int, mode: int) -> int:
        here = os.dup(self.fd)
        try:
            for name in parts[:-1]:
                below = os.open(name, _DIR_FLAGS, dir_fd=here)
                os.close(here)
                here = below
            fd = os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=here)
        finally:
            os.close(here)
        if os.fstat(fd).st_dev != self.device:
            os.close(fd)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return fd

    def open_read(self, rel: str) -> int:
        """A descriptor of the regular file `rel`, opened for reading. Raises Refused."""
        resolved = _split(self.check_path(rel))
        try:
            fd = self._open_exact(resolved, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise refusal_of(error, rel) from None
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            os.close(fd)
            reason = "directory_not_allowed" if stat.S_ISDIR(mode) else "path_denied"
            raise Refused(reason, f"not a regular file: {rel}")
        return fd

    def open_dir(self, rel: str) -> int:
        """A descriptor of the directory `rel`. Raises Refused (`directory_not_found`, …)."""
        resolved = _split(self.check_path(rel))
        try:
            return self._open_exact(resolved, _DIR_FLAGS)
        except OSError as error:
            raise refusal_of(error, rel, missing="directory_not_found") from None

    def read(self, rel: str, *, limit: int = MAX_FILE) -> bytes:
        """The whole regular file. Raises Refused; a file above `limit` bytes is refused, not cut."""
        fd = self.open_read(rel)
        with os.fdopen(fd, "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise Refused("policy_rejected", f"larger than {limit} bytes: {rel}")
        return data

    def read_exact(self, rel: str) -> tuple[bytes, int]:
        """Content and permission bits of exactly this regular file, from one descriptor. Raises Refused."""
        try:
            fd = self._open_exact(_split(rel), os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise refusal_of(error, rel) from None
        with os.fdopen(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
                raise Refused("path_denied", f"not a regular file of at most {MAX_FILE >> 20} MiB: {rel}")
            return file.read(MAX_FILE), stat.S_IMODE(info.st_mode)

    def stat(self, rel: str) -> os.stat_result | None:
        """lstat of exactly this name, or None when it does not exist. Symlinks on the way are refused."""
        parts = _split(rel)
        try:
            with self._parent(parts) as (parent, leaf):
                return os.stat(leaf, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refusal_of(error, rel) from None

    def readlink(self, rel: str) -> str:
        """Where the symlink `rel` points, as bytes decoded with surrogateescape. Raises Refused."""
        try:
            with self._parent(_split(rel)) as (parent, leaf):
                return os.readlink(leaf, dir_fd=parent)
        except OSError as error:
            raise refusal_of(error, rel) from None

    def list(self, rel: str) -> tuple[os.DirEntry[str], ...]:
        """The entries of a directory, sorted by name; entries that are closed are left out. Raises Refused."""
        base = _split(self.check_path(rel))
        fd = self.open_dir(rel)
        try:
            with os.scandir(fd) as entries:
                found = [entry for entry in entries if not self.is_closed((*base, entry.name))]
                return tuple(sorted(found, key=lambda entry: os.fsencode(entry.name)))
        finally:
            os.close(fd)

    def scan(self, rel: str) -> tuple[tuple[str, os.stat_result], ...]:
        """Every name in exactly this directory with its lstat, closed ones too, sorted by bytes. Raises Refused."""
        try:
            fd = self._open_exact(_split(rel), _DIR_FLAGS)
        except OSError as error:
            raise refusal_of(error, rel, missing="directory_not_found") from None
        try:
            listed = sorted(os.listdir(fd), key=os.fsencode)  # noqa: PTH208 - of a descriptor
            found = ((name, lstat_at(name, fd)) for name in listed)
            return tuple((name, info) for name, info in found if info is not None)
        finally:
            os.close(fd)

    @contextmanager
    def _parent(self, parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The directory that holds the last component, and that component; OSError as from open(2)."""
        if not parts:
            raise Refused("directory_not_allowed", ".")
        fd = self._open_exact(parts[:-1], _DIR_FLAGS)
        try:
            yield fd, parts[-1]
        finally:
            os.close(fd)

    # --- writing ------------------------------------------------------------------------------------------------

    def mkdirs(self, rel: str) -> tuple[str, ...]:
        """Make `rel` and its missing parents (0755), each through its parent's descriptor (SAFETY G14).

        Returns the paths that were made, outermost first. Raises Refused, with nothing left behind.
        """
        parts = _split(rel)
        made: list[str] = []
        here = os.dup(self.fd)
        try:
            for depth, name in enumerate(parts, 1):
                try:
                    os.mkdir(name, 0o755, dir_fd=here)
                    os.fsync(here)
                    made.append("/".join(parts[:depth]))
                except FileExistsError:
                    pass
                below = os.open(name, _DIR_FLAGS, dir_fd=here)
                os.close(here)
                here = below
                if os.fstat(here).st_dev != self.device:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        except OSError as error:
            self.remove_empty(made)
            raise refusal_of(error, rel, missing="directory_not_found") from None
        finally:
            os.close(here)
        return tuple(made)

    def remove_empty(self, made: Sequence[str]) -> None:
        """Take back directories that `mkdirs` made, as far as they are still empty. Never raises."""
        for rel in reversed(made):
            try:
                with self._parent(_split(rel)) as (parent, leaf):
                    os.rmdir(leaf, dir_fd=parent)
            except OSError:
                return

    def replace_atomically(
        self, rel: str, data: bytes, mode: int | None = None, *, last_look: LastLook | None = None
    ) -> None:
        """Put `data` at `rel`: the old file or the new one is there at every instant, never a part (SAFETY D3, G09).

        Args:
            rel: a path that `check_path(write=True)` returned; its directory exists.
            mode: permission bits; None keeps those of the present file, 0644 for a new one. Set-id bits never.
            last_look: called when the new content is durable and just before it takes the name; raising stops it.

        Raises:
            Refused: nothing was changed. Failed: the rename was done but its durability is not certain.
        """
        try:
            with self._parent(_split(rel)) as (parent, leaf):
                replace_at(parent, leaf, data, mode, last_look)
        except OSError as error:
            raise refusal_of(error, rel, missing="directory_not_found") from None

    def unlink(self, rel: str, *, last_look: LastLook | None = None) -> None:
        """Remove the file or symlink `rel` (never a directory). Raises Refused, or Failed as in a replacement."""
        try:
            with self._parent(_split(rel)) as (parent, leaf):
                if last_look is not None:
                    last_look()
                os.unlink(leaf, dir_fd=parent)
                sync_after(parent, leaf)
        except OSError as error:
            raise refusal_of(error, rel) from None

    def sweep_temps(self, rel: str) -> tuple[str, ...]:
        """Remove temporary files that a killed replacement left in the directory `rel`; their names (SAFETY G09)."""
        try:
            fd = self._open_exact(_split(rel), _DIR_FLAGS)
        except OSError:
            return ()
        try:
            return sweep_at(fd)
        finally:
            os.close(fd)


def _split(rel: str) -> Parts:
    return () if rel in ("", ".") else tuple(rel.split("/"))
