"""The command line as a whole: its words, its codes, its single line of failure."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cas_tui.cli import entry, errors
from cas_tui.cli.errors import CliError, fault_of


def run_in_process(*words: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cas_tui", *words],
        env={"PATH": os.environ["PATH"], **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", [[], *([name] for name in entry.COMMANDS)], ids=lambda words: " ".join(words) or "-")
def test_every_command_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run([*words, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_help_and_lists_load_no_console() -> None:
    code = (
        "import sys\n"
        "from cas_tui.cli.entry import run\n"
        "run(['--help']); run(['requests', 'list', sys.argv[1]])\n"
        "sys.exit(any(name.split('.')[0] == 'textual' for name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, "/tmp"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["requsts"], errors.USAGE),
        (["requests", "lst"], errors.USAGE),
        (["requests", "approve", ".", "r-1"], errors.USAGE),
        (["requests", "reconcile", ".", "r-1", "--reason", "x"], errors.USAGE),
        (["requests", "list", "--state", "nonsense"], errors.USAGE),
        (["status", "/no/such/place"], errors.NOT_FOUND),
        (["run", ".", "--workspace", "."], errors.USAGE),
        (["/no/such/place"], errors.NOT_FOUND),
    ],
)
def test_what_cannot_be_done_is_one_line_and_a_code(
    words: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert entry.run(words) == code
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("cas-tui: ") and told.err.count("\n") == 1


def test_with_json_a_failure_is_an_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["status", "/no/such/place", "--json"]) == errors.NOT_FOUND
    told = capsys.readouterr()
    value = json.loads(told.out)
    assert value["exit_code"] == 6 and "/no/such/place" in value["error"] and value["error"] in told.err


def test_a_json_word_of_the_agent_command_is_not_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["run", str(tmp_path / "none"), "--workspace", ".", "--", "agent", "--json"]) == errors.NOT_FOUND
    assert capsys.readouterr().out == ""


def test_without_a_terminal_the_console_says_what_to_use_instead(tmp_path: Path) -> None:
    (tmp_path / "STATE.json").write_text("{}")
    for words in ([str(tmp_path)], ["watch", str(tmp_path)], ["demo"]):
        done = run_in_process(*words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert "needs a terminal" in done.stderr


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    command = f"{sys.executable} -m cas_tui doctor --json | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_a_fault_of_our_own_names_its_place_and_is_still_one_line() -> None:
    def broken() -> None:
        entry.COMMANDS["no such thing"]

    with pytest.raises(KeyError) as caught:
        broken()
    fault = fault_of(caught.value)
    assert fault.exit_code == 1 and "KeyError" in fault.message and "\n" not in fault.message


def test_agent_text_in_a_failure_cannot_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """T1."""
    from cas_tui.cli import out

    out.report(fault_of(CliError("bad \x1b]52;c;x\x07 \x9b2J \u202e name\nsecond")), as_json=True)
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    for shown in (told.err, told.out):
        assert not any(
            (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 or char == "\u202e" for char in shown
        )
    assert json.loads(told.out)["exit_code"] == 1


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["--version"]) == 0
    assert "cas-tui" in capsys.readouterr().out
