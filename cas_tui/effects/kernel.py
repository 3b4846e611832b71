"""The system calls that Python does not offer: openat2 and renameat2, through ctypes.

Nothing here knows about workspaces. On a system without them, `has_openat2` is False and `rename_new` falls back.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Final

RESOLVE_NO_XDEV: Final = 0x01
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08

_SYS_OPENAT2: Final = 437
"""The same number on every Linux architecture, since it is younger than the unified table."""
_RENAME_NOREPLACE: Final = 1


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _libc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    return ctypes.CDLL(None, use_errno=True)


_LIBC: Final = _libc()


def openat2(dir_fd: int, path: str, flags: int, mode: int, resolve: int) -> int:
    """Open `path` below `dir_fd` under the kernel's own resolution rules; a new close-on-exec descriptor.

    Raises:
        OSError: as open(2); EXDEV for an escape, ELOOP for a symlink, EAGAIN for a race worth another try.
    """
    if _LIBC is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    how = _OpenHow(flags | os.O_CLOEXEC, mode if flags & os.O_CREAT else 0, resolve)
    result = _LIBC.syscall(
        ctypes.c_long(_SYS_OPENAT2),
        ctypes.c_int(dir_fd),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return int(result)


def has_openat2() -> bool:
    """Whether this kernel has openat2 and lets us call it (an old sandbox may forbid it)."""
    if _LIBC is None:
        return False
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(openat2(root, ".", os.O_RDONLY, 0, RESOLVE_BENEATH))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def rename_new(old: str, new: str, dir_fd: int) -> None:
    """Rename within one directory, failing with EEXIST when `new` exists (never replaces).

    Where renameat2 does not exist, a hard link and an unlink do the same in two steps.
    """
    rename = getattr(_LIBC, "renameat2", None) if _LIBC is not None else None
    if rename is not None:
        result = rename(dir_fd, os.fsencode(old), dir_fd, os.fsencode(new), ctypes.c_uint(_RENAME_NOREPLACE))
        if result == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code), new)
    os.link(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)
    os.unlink(old, dir_fd=dir_fd)
