"""What one file op would make of one file: computed the same way when it is shown and when it is done (SAFETY E2).

Computes only; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cas_tui.effects.errors import Refused
from cas_tui.effects.images import image_of, look
from cas_tui.effects.patch import apply_patch, read_patch
from cas_tui.effects.paths import RootDir
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.requests import ABSENT, PathImage

Saved = Callable[[str], bytes | None]
"""Finds a saved content by its `sha256:…`."""

NEW_MODE = 0o644
FILE_KINDS = frozenset({"fs_write", "fs_patch", "fs_restore"})


@dataclass(frozen=True, slots=True)
class FilePlan:
    """`path` as it is (`was`, `before`) and as it would be (`will`, `after`); `after` None removes it.

    `makes_dirs`: the directory of the file does not exist yet.
    """

    path: str
    was: PathImage
    before: bytes | None
    will: PathImage
    after: bytes | None
    makes_dirs: bool = False

    @property
    def mode(self) -> int:
        """Permission bits of the file afterwards."""
        return self.will.mode


def plan_file(root: RootDir, kind: str, fields: Mapping[str, Json], saved: Saved) -> FilePlan:
    """The plan of an fs_write, fs_patch or fs_restore. Raises Refused with the receipt's reason."""
    ours = kind == "fs_restore"
    path = root.check_path(str(fields["path"]), write=True, ours=ours)
    if path == ".":
        raise Refused("directory_not_allowed", "the workspace itself is not a file")
    was, before = look(root, path)
    if was.type == "dir":
        raise Refused("directory_not_allowed", path)
    if was.type == "other" or (was.type == "symlink" and not ours):
        raise Refused("path_denied", f"not a regular file: {path}")
    if kind == "fs_write":
        after: bytes | None = str(fields["content"]).encode()
    elif kind == "fs_patch":
        after = apply_patch(read_patch(str(fields["unified_diff"]), path), before)
    else:
        after = _saved_content(str(fields["image"]), saved)
        if after is None and was == ABSENT:
            raise Refused("file_not_found", f"it is gone already: {path}", status="skipped")
    will = ABSENT if after is None else image_of(after, _mode(fields, was))
    return FilePlan(path, was, before, will, after, makes_dirs=_lacks_directory(root, path))


def _mode(fields: Mapping[str, Json], was: PathImage) -> int:
    """The present bits, or those a restore asks for; set-id and sticky bits never (SAFETY G13)."""
    wanted = fields.get("mode")
    if isinstance(wanted, str):
        return int(wanted, 8) & 0o777
    return was.mode & 0o777 if was.type == "file" else NEW_MODE


def _saved_content(image: str, saved: Saved) -> bytes | None:
    if image == "absent":
        return None
    data = saved(image)
    if data is None or sha256(data) != image:
        raise Refused("file_not_found", "the saved version is no longer there", status="error")
    return data


def _lacks_directory(root: RootDir, path: str) -> bool:
    parent = path.rpartition("/")[0]
    return bool(parent) and root.stat(parent) is None
