"""What a path may be called, before any system call: the lexical half of the path sandbox (PROTOCOL §2.5).

Pure text. Whether the name leads where it says is for `paths`; a name that passes here may still be refused there.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from cas_tui.effects.errors import Refused

MAX_PATH_BYTES: Final = 4096
MAX_NAME_BYTES: Final = 255

DENIED_ANYWHERE: Final = frozenset({".git", ".cn", "git~1"})
"""Components that are never touched at any depth: a nested repository is as dangerous as the outer one (S2)."""

DENIED_AT_TOP: Final = frozenset({"state", "logs"})
"""Directories of the runtime; denied only as the first component, so that `src/state` stays ordinary source."""

PROTECTED_FILES: Final = frozenset({"spec/soul.md", "spec/user.md", "state/peers.md"})
"""Readable, never written by an op (PROTOCOL §2.5)."""

_DRAW_NOTHING: Final = frozenset("\u034f\u115f\u1160\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    chr(code) for code in range(0xFE00, 0xFE10)
)
_VARIABLE: Final = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?\Z")

_LATER_NAMES: Final = frozenset(
    """
    .envrc .env conftest.py sitecustomize.py usercustomize.py pyproject.toml setup.py setup.cfg tox.ini noxfile.py
    makefile gnumakefile justfile taskfile.yml rakefile gemfile build.gradle build.gradle.kts build.rs cmakelists.txt
    dockerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml jenkinsfile vagrantfile
    package.json .npmrc .yarnrc .yarnrc.yml .pre-commit-config.yaml .pre-commit-config.yml lefthook.yml
    .gitattributes .gitmodules .gitconfig .lfsconfig .gitlab-ci.yml .travis.yml azure-pipelines.yml
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .cshrc .tcshrc .login .inputrc .vimrc .nvimrc .exrc .emacs .gdbinit .lldbinit .pdbrc .pythonrc .pypirc
    .tmux.conf .screenrc .netrc .mcp.json mcp.json claude.md agents.md gemini.md .cursorrules .windsurfrules
    .clinerules .aider.conf.yml .tool-versions .python-version mise.toml .mise.toml
    """.split()  # noqa: SIM905 - read as a list of words
)
_LATER_DIRS: Final = frozenset(
    """
    .vscode .idea .cursor .claude .codex .gemini .windsurf .aider .husky .devcontainer .githooks .circleci .buildkite
    .direnv .config .ssh .fleet .zed .continue .clinerules
    """.split()  # noqa: SIM905 - read as a list of words
)
_LATER_PATHS: Final = (
    (".github", "workflows"), (".github", "actions"), (".github", "copilot-instructions.md"), (".cargo", "config.toml"),
    (".cargo", "config"), (".gitea", "workflows"), (".forgejo", "workflows"),
)  # fmt: skip
_LATER_SUFFIXES: Final = (".pth", ".mk", ".code-workspace", ".service", ".desktop")


def folded(name: str) -> str:
    """A component as denied names are compared: NFKC, casefolded, without characters that draw nothing.

    Some filesystems take `.Git` or a name with a zero-width joiner inside for `.git` (SAFETY G06).
    """
    plain = "".join(char for char in name if unicodedata.category(char) != "Cf" and char not in _DRAW_NOTHING)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold()).rstrip(". ")


def normalise(path: str, *, write: bool) -> tuple[str, ...]:
    """The components of an op's path, `.` and `..` collapsed; `()` is the root itself.

    Raises:
        Refused: `absolute_path`, `path_escape`, or `path_denied` for a name no honest op needs (SAFETY G01).
    """
    if path.startswith("/"):
        raise Refused("absolute_path", path)
    _refuse_odd(path)
    collapsed = posixpath.normpath(path) if path else "."
    parts = () if collapsed == "." else tuple(collapsed.split("/"))
    if parts and parts[0] == "..":
        raise Refused("path_escape", path)
    for part in parts:
        if len(part.encode()) > MAX_NAME_BYTES:
            raise Refused("path_denied", "a name in the path is longer than 255 bytes")
        if part != part.rstrip(" ."):
            raise Refused("path_denied", f"a name that ends in a space or a dot: {path}")
    if write and path.endswith("/"):
        raise Refused("path_denied", f"a file path cannot end in a slash: {path}")
    return parts


def _refuse_odd(path: str) -> None:
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise Refused("path_denied", "the path is not valid Unicode") from None
    if size > MAX_PATH_BYTES:
        raise Refused("path_denied", "the path is longer than 4096 bytes")
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u2028\u2029" for char in path):
        raise Refused("path_denied", "a control character in the path")
    if "\\" in path:
        raise Refused("path_denied", f"a backslash in the path: {path}")
    if "://" in path:
        raise Refused("path_denied", f"a URL is not a path: {path}")
    first = path.split("/", 1)[0]
    if first.startswith("~") or _VARIABLE.match(first):
        raise Refused("path_denied", f"nothing is expanded in a path: {path}")


def is_denied(parts: Sequence[str]) -> bool:
    """Whether a resolved path lies in a place no op touches (PROTOCOL §2.5 denylist, SAFETY S2)."""
    names = [folded(part) for part in parts]
    return any(name in DENIED_ANYWHERE for name in names) or bool(names and names[0] in DENIED_AT_TOP)


def is_protected_file(parts: Sequence[str]) -> bool:
    """Whether a resolved path is one of the files an op may read but never write."""
    return "/".join(folded(part) for part in parts) in PROTECTED_FILES


def is_below(parts: Sequence[str], prefix: Sequence[str]) -> bool:
    """Whether `parts` is `prefix` or lies below it, compared as denied names are."""
    return len(parts) >= len(prefix) and all(
        folded(one) == folded(two) for one, two in zip(parts, prefix, strict=False)
    )


def runs_later(parts: Sequence[str]) -> bool:
    """Whether some program obeys or runs this file later: builds, editors, shells, agents, CI (SAFETY G07)."""
    names = [folded(part) for part in parts]
    if not names:
        return False
    if any(name in _LATER_DIRS for name in names[:-1]):
        return True
    leaf = names[-1]
    if leaf in _LATER_NAMES or leaf in _LATER_DIRS or leaf.endswith(_LATER_SUFFIXES) or leaf.startswith(".env."):
        return True
    return any(
        tuple(names[index : index + len(later)]) == later for later in _LATER_PATHS for index in range(len(names))
    )


def is_self_knowledge(parts: Sequence[str]) -> bool:
    """Whether this is a file an agent reads about itself elsewhere: hidden, and redirected (PROTOCOL §2.5)."""
    if not parts:
        return False
    leaf = folded(parts[-1])
    return (len(parts) == 1 and leaf == "cn.json") or leaf.endswith(".package.json")


def printable(raw: bytes | str) -> str:
    """A name for one line of a result: not-UTF-8 bytes and control characters as backslash escapes."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() or char == " " else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
