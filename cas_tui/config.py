"""Settings of the console, read from `config.toml`; the docstring of each one is its manual.

What may be decided is no setting: that is policy, in the runtime zone (PROTOCOL §5.1). This module reads one file and
nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class ConfigError(ValueError):
    """The file cannot be used; the message is one clear line: what, where, what to do."""


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, with its default.

    Attributes:
        roots: memory roots that the console opens when none is named; relative paths are relative to the file.
        theme: the name of a theme: dark, light, contrast or ansi, or one of your own in `themes/` beside the file.
        ascii: draw with ASCII characters only.
        mouse: let the mouse select, scroll and open; without it the terminal keeps its own selection.
        keymap: keys by binding id, as in `{"queue.next": "right"}`; the help screen names the ids.
    """

    roots: tuple[str, ...] = ()
    theme: str = ""
    ascii: bool = False
    mouse: bool = True
    keymap: Mapping[str, str] = field(default_factory=dict)


_CHECKS = {
    "roots": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "theme": lambda value: isinstance(value, str),
    "ascii": lambda value: isinstance(value, bool),
    "mouse": lambda value: isinstance(value, bool),
    "keymap": lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
}


def load_config(path: Path) -> Config:
    """The settings at `path`; defaults where there is no file.

    Raises:
        ConfigError: unreadable, not TOML, an unknown setting, or a value of the wrong type.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        values = tomllib.loads(text)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    for name, value in values.items():
        if name not in _CHECKS:
            raise ConfigError(f"{path}: unknown setting {name}; there are {', '.join(_CHECKS)}")
        if not _CHECKS[name](value):
            raise ConfigError(f"{path}: {name} has the wrong type")
    if "roots" in values:
        values["roots"] = tuple(values["roots"])
    return Config(**values)
