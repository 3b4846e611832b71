"""Putting a whole new content under a name, in one step that a reader or a crash can only see before or after (D3).

Works on a directory descriptor that `paths` opened and judged; knows no rules of its own.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from typing import Final

from cas_tui.effects import kernel
from cas_tui.effects.errors import Failed, Refused

_TEMP_PREFIX: Final = ".cas-tui-"
_TEMP_SUFFIX: Final = ".tmp"
NEW_FILE_MODE: Final = 0o644

LastLook = Callable[[], None]
"""Called when the new content is durable, just before it takes the name; raising stops the change."""


def replace_at(parent: int, leaf: str, data: bytes, mode: int | None, last_look: LastLook | None) -> None:
    """Put `data` at `leaf` in the directory `parent`; see `RootDir.replace_atomically`. Raises OSError too."""
    present = lstat_at(leaf, parent)
    if present is not None and not (stat.S_ISREG(present.st_mode) or stat.S_ISLNK(present.st_mode)):
        raise Refused("path_denied", f"not a regular file: {leaf}")
    kept = present if present is not None and stat.S_ISREG(present.st_mode) else None
    bits = mode if mode is not None else stat.S_IMODE(kept.st_mode) if kept else NEW_FILE_MODE
    # A random name, made only if nothing is there: an agent cannot have put a link in its place (SAFETY G10).
    temp = f"{_TEMP_PREFIX}{secrets.token_hex(16)}{_TEMP_SUFFIX}"
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if kept and (kept.st_uid, kept.st_gid) != (os.geteuid(), os.getegid()):
                _try_chown(file.fileno(), kept.st_uid, kept.st_gid)
            # After the owner, since changing that clears bits; set-id and sticky never (SAFETY G13).
            os.fchmod(file.fileno(), bits & 0o777)
            os.fsync(file.fileno())
        if last_look is not None:
            last_look()
        if present is None:
            kernel.rename_new(temp, leaf, parent)
        else:
            os.rename(temp, leaf, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        _try_unlink(temp, parent)
        raise
    sync_after(parent, leaf)


def sync_after(parent: int, leaf: str) -> None:
    """Make a rename or unlink durable. Raises Failed: from here on it is no longer "nothing was changed" (D6)."""
    try:
        os.fsync(parent)
    except OSError as error:
        words = f"{leaf}: the directory could not be synced: {error.strerror}"
        raise Failed("write_failed", words, partial=True) from None


def sweep_at(parent: int) -> tuple[str, ...]:
    """Remove the temporary files that a killed replacement left in this directory; their names (SAFETY G09)."""
    with os.scandir(parent) as entries:
        ours = sorted(entry.name for entry in entries if is_temp_name(entry.name) and _is_ours(entry))
    for name in ours:
        _try_unlink(name, parent)
    return tuple(ours)


def is_temp_name(name: str) -> bool:
    """Whether a name has the form of our temporary files."""
    middle = name.removeprefix(_TEMP_PREFIX).removesuffix(_TEMP_SUFFIX)
    shaped = name == f"{_TEMP_PREFIX}{middle}{_TEMP_SUFFIX}" and len(middle) == 32
    return shaped and not set(middle) - set("0123456789abcdef")


def _is_ours(entry: os.DirEntry[str]) -> bool:
    info = entry.stat(follow_symlinks=False)
    return stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and info.st_nlink == 1


def lstat_at(name: str, parent: int) -> os.stat_result | None:
    """What `name` is in this directory, no symlink followed; None when it is not there."""
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _try_unlink(name: str, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except OSError:
        pass


def _try_chown(fd: int, uid: int, gid: int) -> None:
    try:
        os.fchown(fd, uid, gid)
    except OSError:
        pass
