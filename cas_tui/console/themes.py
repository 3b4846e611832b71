"""Themes from `themes/*.toml`: thirteen tokens each, checked, and given to Textual as variables (SCREENS §7).

Nothing else in the console names a colour.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from textual.theme import Theme

TOKENS: Final = (
    "ground", "raised", "rule", "text", "muted", "need", "danger", "ok", "agent", "mode",
    "add", "add-ground", "del", "del-ground",
)  # fmt: skip
DEFAULT: Final = "cas-dark"


class BadTheme(Exception):
    """A theme file that cannot be used; the message names the file and what is wrong with it."""


def directory() -> Path:
    """Where the themes are: in the installed package, else beside the package in a checkout."""
    packaged = Path(str(files("cas_tui"))) / "themes"
    return packaged if packaged.is_dir() else Path(str(files("cas_tui"))).parent / "themes"


def read(path: Path) -> Theme:
    """One theme file. Raises BadTheme."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
        tokens = value["tokens"]
        name = value["name"]
    except (OSError, ValueError, KeyError) as fault:
        raise BadTheme(f"{path.name}: {fault}") from fault
    missing = [token for token in TOKENS if not isinstance(tokens.get(token), str)]
    if missing or not isinstance(name, str):
        raise BadTheme(f"{path.name}: no {', '.join(missing) or 'name'}")
    return Theme(
        name=name,
        primary=tokens["need"],
        secondary=tokens["agent"],
        warning=tokens["need"],
        error=tokens["danger"],
        success=tokens["ok"],
        accent=tokens["need"],
        foreground=tokens["text"],
        background=tokens["ground"],
        surface=tokens["ground"],
        panel=tokens["raised"],
        dark=bool(value.get("dark", True)),
        ansi=bool(value.get("ansi", False)),
        variables={
            **variables(tokens),
            # Textual's own widgets name these two under an ansi theme.
            **({"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"} if value.get("ansi") else {}),
            "danger-style": "reverse" if value.get("danger_inverse") else "none",
        },
    )


def variables(tokens: Mapping[str, str]) -> dict[str, str]:
    """The CSS variables of a theme: every token by its name (`text` is `$ink`, which Textual leaves free)."""
    named = {("ink" if token == "text" else token): tokens[token] for token in TOKENS}
    return {
        **named,
        "border": tokens["rule"],
        "border-blurred": tokens["rule"],
        "block-cursor-background": tokens["raised"],
        "block-cursor-foreground": tokens["text"],
        "block-cursor-text-style": "bold",
        "input-cursor-background": tokens["text"],
        "input-cursor-foreground": tokens["ground"],
        "input-selection-background": tokens["raised"],
        "scrollbar": tokens["rule"],
        "scrollbar-background": tokens["ground"],
        "scrollbar-corner-color": tokens["ground"],
    }


def fallback() -> dict[str, str]:
    """A value for every variable of ours, for themes that are not ours: Textual's own colours."""
    values = {token: "$foreground" for token in TOKENS if token != "text"}
    grounds = {"ground": "$background", "raised": "$panel", "add-ground": "$background", "del-ground": "$background"}
    return {**values, **grounds, "ink": "$foreground", "danger-style": "none"}


def load() -> tuple[Theme, ...]:
    """Every theme that ships. Raises BadTheme when one is broken: that is a fault of the installation."""
    themes = tuple(read(path) for path in sorted(directory().glob("*.toml")))
    if not any(theme.name == DEFAULT for theme in themes):
        raise BadTheme(f"no theme {DEFAULT} in {directory()}")
    return themes


def choose(wanted: str | None, environ: Mapping[str, str], known: tuple[Theme, ...]) -> str:
    """The theme to start with: what was asked for, by name with or without `cas-`; else by the terminal.

    NO_COLOR needs no theme of its own: the application asks Textual to drop every colour, whatever the theme says.
    """
    names = {theme.name: theme for theme in known}
    for name in (wanted or "", f"cas-{wanted}"):
        if name in names:
            return name
    # COLORFGBG is "fg;bg" where a terminal sets it; 7 and 15 are light grounds.
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    return "cas-light" if light and "cas-light" in names else DEFAULT
