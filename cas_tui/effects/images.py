"""What one path is, right now, as a value that an approval can be bound to (SAFETY E3)."""

from __future__ import annotations

import os
import stat

from cas_tui.effects.errors import Refused
from cas_tui.effects.limits import MAX_FILE
from cas_tui.effects.paths import RootDir
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.requests import ABSENT, PathImage


def image_of(data: bytes, mode: int) -> PathImage:
    """The image of a regular file with this content and these permission bits."""
    return PathImage("file", mode & 0o7777, sha256(data))


def look(root: RootDir, rel: str) -> tuple[PathImage, bytes | None]:
    """The image of exactly this path (no symlink followed), and its content when it is a regular file.

    Content and image come from one descriptor, so they belong together. Raises Refused for a path that goes through
    a symlink, or a file larger than `MAX_FILE` bytes.
    """
    info = root.stat(rel)
    if info is None:
        return ABSENT, None
    if stat.S_ISLNK(info.st_mode):
        return PathImage("symlink", 0, sha256(os.fsencode(root.readlink(rel)))), None
    if stat.S_ISDIR(info.st_mode):
        return PathImage("dir", stat.S_IMODE(info.st_mode)), None
    if not stat.S_ISREG(info.st_mode):
        return PathImage("other", stat.S_IMODE(info.st_mode)), None
    if info.st_size > MAX_FILE:
        raise Refused("policy_rejected", f"larger than {MAX_FILE >> 20} MiB: {rel}")
    data, mode = root.read_exact(rel)
    return image_of(data, mode), data
