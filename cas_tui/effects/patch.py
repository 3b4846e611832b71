"""Reading and applying a unified diff, exactly or not at all (SAFETY group L).

unidiff reads the structure; the applying is ours: one file, zero fuzz, zero offset, every line of the patch accounted
for. No external patch program is ever called (SAFETY L06).
"""

from __future__ import annotations

import io
import posixpath
import re
from dataclasses import dataclass
from typing import Final

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as ReadHunk
from unidiff.patch import PatchedFile, PatchSet

from cas_tui.effects.difference import is_binary
from cas_tui.effects.errors import Refused
from cas_tui.effects.limits import MAX_AFTER_IMAGE

DEV_NULL: Final = "/dev/null"
_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_PLAIN_HEADER: Final = re.compile(
    r"(?:index [0-9a-f]+\.\.[0-9a-f]+(?: 100644| 100755)?|(?:new|deleted) file mode 100644)\Z"
)
_REFUSED_HEADERS: Final = (
    ("old mode", "changes a file mode"),
    ("new mode", "changes a file mode"),
    ("new file mode", "makes something other than an ordinary file"),
    ("deleted file mode", "removes something other than an ordinary file"),
    ("rename ", "renames a file"),
    ("copy ", "copies a file"),
    ("similarity index", "renames a file"),
    ("dissimilarity index", "rewrites a file"),
    ("GIT binary patch", "is binary"),
    ("Binary files", "is binary"),
    ("Files ", "is binary"),
)


def patch_failed(words: str) -> Refused:
    """The one way a patch is refused."""
    return Refused(f"patch_failed: {words}", status="error")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Where a hunk begins (0-based line index), what must stand there, and what will."""

    at: int
    new_at: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file's change. `creates`: the file must not exist; `deletes`: it must end empty and is removed."""

    hunks: tuple[Hunk, ...]
    creates: bool = False
    deletes: bool = False


def read_patch(text: str, path: str) -> FilePatch:
    """The one file change in `text`, which must be to `path` (normalised).

    Bare hunks without file headers are taken to mean `path`. Raises Refused (`patch_failed: …`).
    """
    if is_binary(text.encode()):
        raise patch_failed("it is binary")
    if len(text) > MAX_AFTER_IMAGE:
        raise patch_failed(f"it is larger than {MAX_AFTER_IMAGE >> 20} MiB")
    if not text.endswith("\n"):
        text += "\n"
    if _HUNK.match(text):
        text = f"--- a/{path}\n+++ b/{path}\n{text}"
    lines = text.split("\n")[:-1]
    creates, deletes = _check_headers(lines, path)
    try:
        files = PatchSet(io.StringIO(text, newline="\n"))
    except (UnidiffParseError, ValueError, AssertionError) as error:
        raise patch_failed(str(error).strip() or "it is not a unified diff") from None
    if len(files) != 1:
        raise patch_failed("it has no file" if not files else f"it has {len(files)} files, not one")
    file = files[0]
    if not file:
        raise patch_failed("it has no hunk")
    if file.is_binary_file:
        raise patch_failed("it is binary")
    _check_all_read(lines, file)
    if not any(line.is_added or line.is_removed for hunk in file for line in hunk):
        raise patch_failed("it changes nothing")
    return FilePatch(tuple(_hunk(hunk) for hunk in file), creates, deletes)


def _check_headers(lines: list[str], path: str) -> tuple[bool, bool]:
    """Everything before the first hunk must be a line we understand, and name this file and no other.

    Returns whether the patch creates and whether it deletes the file.
    """
    seen: dict[str, bool] = {}
    announced: set[str] = set()
    for line in lines:
        if _HUNK.match(line):
            break
        line = line.removesuffix("\r")
        mark = line[:4]
        if mark in ("--- ", "+++ "):
            if mark in seen:
                raise patch_failed("it has more than one file")
            seen[mark] = _is_dev_null(line[4:], path, "a/" if mark == "--- " else "b/")
        elif line.startswith("diff --git "):
            _check_git_line(line[11:], path)
        elif _PLAIN_HEADER.match(line):
            announced.add(line.split(" ", 1)[0])
        else:
            raise _unread(line)
    if len(seen) != 2:
        raise patch_failed("it needs one --- line and one +++ line before its hunks")
    creates, deletes = seen["--- "], seen["+++ "]
    if creates and deletes:
        raise patch_failed("both sides are /dev/null")
    if ("new" in announced and not creates) or ("deleted" in announced and not deletes):
        raise patch_failed("its header lines contradict each other")
    return creates, deletes


def _unread(line: str) -> Refused:
    for start, words in _REFUSED_HEADERS:
        if line.startswith(start):
            return patch_failed(f"it {words}")
    return patch_failed(f"a line that belongs to no patch: {line[:60]!r}")


def _is_dev_null(shown: str, path: str, prefix: str) -> bool:
    """Whether a file header names no file; any name but `path` is refused (SAFETY L01)."""
    name = _unquoted(shown.split("\t", 1)[0].rstrip())
    if name == DEV_NULL:
        return True
    if name.startswith("/") or not _same(name, path, prefix):
        raise patch_failed(f"it names {name!r}, the op names {path!r}")
    return False


def _same(name: str, path: str, prefix: str) -> bool:
    if ".." in name.split("/"):
        return False
    return path in (posixpath.normpath(name), posixpath.normpath(name.removeprefix(prefix) or "."))


def _check_git_line(rest: str, path: str) -> None:
    rest = rest.rstrip()
    if rest.startswith('"'):
        middle = rest.find('" "')
        first, second = (rest[: middle + 1], rest[middle + 2 :]) if middle > 0 else (rest, rest)
    else:
        # Both halves are the same but for a prefix of equal length, so the middle is where the space is.
        half = len(rest) // 2
        first, second = rest[:half], rest[half + 1 :]
    for name, prefix in ((_unquoted(first), "a/"), (_unquoted(second), "b/")):
        if not _same(name, path, prefix):
            raise patch_failed(f"its diff line names {name!r}, the op names {path!r}")


def _unquoted(name: str) -> str:
    """git quotes names with octal escapes; undo it, strictly."""
    if not (len(name) >= 2 and name.startswith('"') and name.endswith('"')):
        return name
    try:
        return name[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1").decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise patch_failed(f"a quoted name that cannot be read: {name[:60]}") from None


def _check_all_read(lines: list[str], file: PatchedFile) -> None:
    """No line may be left over: what no one reads no one approves (SAFETY E2)."""
    read = {line.diff_line_no for hunk in file for line in hunk if line.diff_line_no is not None}
    in_hunks = False
    for number, line in enumerate(lines, 1):
        if _HUNK.match(line):
            in_hunks = True
        elif not in_hunks or number in read or line.startswith("\\"):
            continue
        elif line.strip("\r") == "" and not any(rest.strip("\r") for rest in lines[number:]):
            break
        else:
            raise patch_failed(f"line {number} belongs to no hunk; the counts of a hunk are wrong")


def _hunk(hunk: ReadHunk) -> Hunk:
    old: list[bytes] = []
    new: list[bytes] = []
    last: list[list[bytes]] = []
    for line in hunk:
        if line.line_type == "\\":
            for side in last:
                side[-1] = side[-1].removesuffix(b"\n")
            continue
        if line.line_type == "":
            continue
        value = line.value.encode()
        last = [old] if line.is_removed else [new] if line.is_added else [old, new]
        for side in last:
            side.append(value)
    at = hunk.source_start - 1 if hunk.source_length else hunk.source_start
    new_at = hunk.target_start - 1 if hunk.target_length else hunk.target_start
    return Hunk(at, new_at, tuple(old), tuple(new))


def apply_patch(patch: FilePatch, before: bytes | None) -> bytes | None:
    """The content after the patch; None when the file is to be removed.

    Raises:
        Refused: `patch_failed: …`, naming the hunk and line that does not fit.
    """
    if patch.creates and before is not None:
        raise patch_failed("it creates a file that exists")
    if not patch.creates and before is None:
        raise Refused("file_not_found", "the file to patch does not exist", status="error")
    lines = _split(before or b"")
    result: list[bytes] = []
    at = 0
    for number, hunk in enumerate(patch.hunks, 1):
        if hunk.at < at:
            raise patch_failed(f"hunk {number} overlaps the one before it")
        if hunk.at > len(lines):
            raise patch_failed(f"hunk {number} begins at line {hunk.at + 1}, the file has {len(lines)}")
        result.extend(lines[at : hunk.at])
        if len(result) != hunk.new_at:
            raise patch_failed(f"hunk {number} says it begins at new line {hunk.new_at + 1}, it is {len(result) + 1}")
        _compare(lines, hunk, number)
        result.extend(hunk.new)
        at = hunk.at + len(hunk.old)
    result.extend(lines[at:])
    if any(not line.endswith(b"\n") for line in result[:-1]):
        raise patch_failed("a line without a newline would be in the middle of the file")
    after = b"".join(result)
    if patch.deletes:
        if after:
            raise patch_failed("it removes the file but not all of its lines")
        return None
    return after


def _split(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _compare(lines: list[bytes], hunk: Hunk, number: int) -> None:
    for offset, expected in enumerate(hunk.old):
        where = hunk.at + offset
        found = lines[where] if where < len(lines) else None
        if found == expected:
            continue
        line = f"hunk {number} does not match at line {where + 1}"
        if found is None:
            raise patch_failed(f"{line}: the file ends before it")
        if found.rstrip(b"\r\n") == expected.rstrip(b"\r\n"):
            raise patch_failed(f"{line}: the line endings differ")
        raise patch_failed(line)
