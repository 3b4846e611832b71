"""The way from data to the screen is one way: checked on the source, so that no test has to find the hole first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CONSOLE = Path(__file__).parents[2] / "cas_tui" / "console"
DOOR = CONSOLE / "content.py"

READS_MARKUP = {
    "Static", "Label", "Button", "Option", "OptionList", "Select", "SelectionList", "Checkbox", "RadioButton", "Tab",
    "TabPane", "Collapsible", "Link", "Markdown",
}  # fmt: skip
"""Widgets that take a plain `str` for markup or for a document."""
MARKUP_ATTRIBUTES = {"border_title", "border_subtitle", "tooltip", "placeholder"}
DOOR_FUNCTIONS = {"plain", "quoted", "assemble", "lines"}
MAKERS = {"from_markup", "from_rich_text", "from_text", "styled"}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _owner(node: ast.expr) -> str:
    return _name(node.value) if isinstance(node, ast.Attribute) else ""


def _harmless(node: ast.expr) -> bool:
    """A literal of ours without brackets, or content from the door."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, str) or "[" not in node.value
    return isinstance(node, ast.Call) and _name(node.func) in DOOR_FUNCTIONS


def faults(source: str) -> Iterator[str]:
    """Every way around the gate in one module of the console."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in ("rich.markup", "rich.text", "textual.markup"):
            yield f"{node.lineno}: import from {node.module}"
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr in MARKUP_ATTRIBUTES and not _harmless(node.value):
                    yield f"{node.lineno}: {target.attr} from data"
        if not isinstance(node, ast.Call):
            continue
        name, owner = _name(node.func), _owner(node.func)
        given = {item.arg: item.value for item in node.keywords}
        if name in MAKERS or (name == "Content" and owner != "") or (name == "assemble" and owner == "Content"):
            yield f"{node.lineno}: {owner}.{name}"
        if name == "Content" or (name == "Text" and owner in ("", "text")):
            yield f"{node.lineno}: {name}(...) outside the door"
        if name == "escape" and owner != "re":
            yield f"{node.lineno}: escape is no defence"
        if name == "notify":
            markup = given.get("markup")
            if not (isinstance(markup, ast.Constant) and markup.value is False):
                yield f"{node.lineno}: notify without markup=False"
        if name in READS_MARKUP and node.args and not _harmless(node.args[0]):
            yield f"{node.lineno}: {name} of something that is not content from the door"
        for keyword in MARKUP_ATTRIBUTES & given.keys():
            if not _harmless(given[keyword]):
                yield f"{node.lineno}: {keyword}= from data"


def test_no_module_of_the_console_goes_around_the_gate() -> None:
    """T2, C1: content is made in content.py alone; no markup, no escape, no widget fed with a string from data."""
    found = [
        f"{path.relative_to(CONSOLE)}:{fault}"
        for path in sorted(CONSOLE.rglob("*.py"))
        if path != DOOR
        for fault in faults(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "Content.from_markup(x)",
        "Content(x)",
        "Content.assemble(x)",
        "escape(x)",
        "markup.escape(x)",
        "from rich.markup import escape",
        "from rich.text import Text",
        "self.notify(x)",
        "self.notify(x, markup=True)",
        "Static(x)",
        "Static(f'{x}')",
        "Static('a' + x)",
        "Static('[b]a[/b]')",
        "Label(self.x)",
        "OptionList(x)",
        "w.border_title = x",
        "w.tooltip = f'{x}'",
        "Input(placeholder=x)",
    ],
)
def test_the_check_finds_each_way_around(source: str) -> None:
    """The check itself sees every forbidden form."""
    assert list(faults(source))


@pytest.mark.parametrize(
    "source",
    [
        "Static()",
        "Static('ours')",
        "Static(content.plain(text.line(x)))",
        "Label(assemble(a, b))",
        "self.notify(x, markup=False)",
        "re.escape(x)",
        "w.border_title = plain(x)",
        "html = x",
    ],
)
def test_the_check_lets_the_right_way_pass(source: str) -> None:
    """The check is no obstacle to content from the door."""
    assert list(faults(source)) == []


def test_only_the_gate_decides_what_is_hidden() -> None:
    """One gate: outside of it and its tables, no module measures or classifies characters by itself."""
    package = CONSOLE.parent
    allowed = {package / "text.py", package / "codepoints.py", package / "suspicions.py"}
    for path in sorted(package.rglob("*.py")):
        if path in allowed:
            continue
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert "wcwidth" not in imported, path
