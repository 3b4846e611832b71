"""Paths stay inside the workspace and out of closed places (PROTOCOL §2.5, SAFETY S1, S2, group G)."""

from __future__ import annotations

import ctypes
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.effects import kernel, names
from cas_tui.effects.errors import Failed, PreImageChanged, Refused
from cas_tui.effects.paths import RootDir
from cas_tui.effects.workspace import Workspace


def refused(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


def test_this_kernel_offers_openat2() -> None:
    """Both ways are tested for real: without openat2 the parametrised tests would test one way twice."""
    assert kernel.has_openat2()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "absolute_path"),
        ("//etc", "absolute_path"),
        ("..", "path_escape"),
        ("../w-evil/x", "path_escape"),
        ("a/../../x", "path_escape"),
        ("src/../../outside/secret.txt", "path_escape"),
        ("a\0b", "path_denied"),
        ("a\nb", "path_denied"),
        ("a\x9bb", "path_denied"),
        ("~/x", "path_denied"),
        ("~root/x", "path_denied"),
        ("$HOME/x", "path_denied"),
        ("${HOME}/x", "path_denied"),
        ("file://x", "path_denied"),
        ("a\\b", "path_denied"),
        ("x/" * 2049, "path_denied"),
        ("n" * 256, "path_denied"),
        ("name.", "path_denied"),
        ("name ", "path_denied"),
        ("dir./x", "path_denied"),
        ("\ud800", "path_denied"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_g01_a_name_no_honest_op_needs_is_refused_before_any_system_call(path: str, reason: str, write: bool) -> None:
    assert refused(lambda: names.normalise(path, write=write)).reason == reason


def test_g01_the_empty_path_and_dot_mean_the_root(both) -> None:
    assert both.ws.root_dir.check_path("") == "."
    assert both.ws.root_dir.check_path(".") == "."
    assert both.look("fs_list", path="").data == both.look("fs_list", path=".").data


def test_g01_a_write_to_a_directory_path_is_refused(both) -> None:
    assert refused(lambda: both.prepare("fs_write", path="src/", content="x")).reason == "path_denied"
    assert refused(lambda: both.prepare("fs_write", path="", content="x")).reason == "directory_not_allowed"
    assert refused(lambda: both.prepare("fs_write", path="src", content="x")).reason == "directory_not_allowed"


def test_dots_inside_are_collapsed_and_stay_inside(both) -> None:
    assert both.ws.root_dir.check_path("src/../docs/./a b.md") == "docs/a b.md"


def test_g02_a_twin_whose_name_begins_like_the_root_is_outside(both) -> None:
    twin = both.path.with_name("w-evil")
    twin.mkdir()
    (twin / "x").write_text("x")
    (both.path / "link").symlink_to("../w-evil/x")
    assert refused(lambda: both.look("fs_read", path="link")).reason == "symlink_escape"


@pytest.mark.parametrize("target", ["../outside/secret.txt", "/etc/passwd", "nowhere/../../outside/secret.txt"])
def test_g03_a_symlink_out_is_refused_for_reading_and_writing(both, target: str) -> None:
    (both.path / "link").symlink_to(target)
    assert refused(lambda: both.look("fs_read", path="link")).reason == "symlink_escape"
    assert refused(lambda: both.prepare("fs_write", path="link", content="x")).reason == "symlink_escape"
    assert (both.outside / "secret.txt").read_bytes() == b"secret\n"


def test_g03_a_symlinked_parent_a_chain_and_a_loop_are_refused(both) -> None:
    (both.path / "out").symlink_to(both.outside)
    (both.path / "one").symlink_to("two")
    (both.path / "two").symlink_to("out")
    (both.path / "loop").symlink_to("loop")
    for path in ("out/secret.txt", "one/secret.txt", "loop", "loop/x"):
        assert refused(lambda path=path: both.look("fs_read", path=path)).reason == "symlink_escape"
        assert refused(lambda path=path: both.prepare("fs_write", path=path, content="")).reason == "symlink_escape"


def test_a_new_file_under_a_symlinked_parent_is_refused(both) -> None:
    (both.path / "out").symlink_to(both.outside)
    (both.path / "in").symlink_to("src")
    for path in ("out/new.txt", "in/new.txt"):
        assert refused(lambda path=path: both.prepare("fs_write", path=path, content="")).reason == "symlink_escape"


def test_a_symlink_that_stays_inside_may_be_read_through_and_not_written_through(both) -> None:
    (both.path / "link").symlink_to("src/app.py")
    (both.path / "src" / "up").symlink_to("../docs")
    assert both.look("fs_read", path="link").data.startswith(b"def main")
    assert both.look("fs_read", path="src/up/a b.md").data == b"spaced\n"
    assert refused(lambda: both.prepare("fs_write", path="link", content="x")).reason == "symlink_escape"


def test_g04_a_link_to_a_denied_place_is_judged_by_where_it_leads(both) -> None:
    (both.path / "notes").symlink_to(".git")
    assert refused(lambda: both.look("fs_read", path="notes/config")).reason == "path_denied"
    assert refused(lambda: both.look("fs_list", path="notes")).reason == "path_denied"


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".git/hooks/pre-commit", ".cn/config.json", "state/x", "logs/x", ".Git/config", ".GIT",
        "STATE/x", "sub/.git/hooks/x", "a/.cn/x", ".g\u200cit/config", "\uff0egit/config", "git~1/config", ".git\u034f",
        "\u017ftate/x", "Logs/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [False, True])
def test_g06_denied_places_are_denied_under_any_spelling(both, path: str, write: bool) -> None:
    """S2: casefold and NFKC on every component, present or not."""
    assert refused(lambda: both.ws.root_dir.check_path(path, write=write)).reason == "path_denied"


@pytest.mark.parametrize("path", [".cnrc", "state_machine.x", "src/state/x", ".gitignore", "logs.txt", "a/logs/x"])
def test_names_that_only_look_like_denied_ones_pass(both, path: str) -> None:
    assert both.ws.root_dir.check_path(path, write=True) == path


@pytest.mark.parametrize("path", ["spec/SOUL.md", "spec/USER.md", "SPEC/soul.md"])
def test_protected_files_are_read_and_never_written(both, path: str) -> None:
    both.write(path, b"me\n")
    assert both.look("fs_read", path=path).data == b"me\n"
    assert refused(lambda: both.prepare("fs_write", path=path, content="")).reason == "protected_file"


def test_the_peers_file_is_denied_before_it_is_protected(both) -> None:
    assert refused(lambda: both.prepare("fs_write", path="state/peers.md", content="")).reason == "path_denied"


def test_the_memory_root_inside_the_workspace_is_closed(make_bench, way: bool) -> None:
    bench = make_bench(memory="mem/agent", use_openat2=way)
    (bench.path / "mem" / "agent" / "STATE.json").write_text("{}")
    (bench.path / "alias").symlink_to("mem/agent")
    for path in ("mem/agent/STATE.json", "MEM/agent/x", "alias/STATE.json", "mem/agent"):
        assert refused(lambda path=path: bench.ws.root_dir.check_path(path)).reason == "path_denied"
    assert bench.look("fs_list", path="mem").data == b""
    assert b"mem" not in bench.look("git_status").data
    assert bench.ws.root_dir.check_path("mem/agent2", write=True) == "mem/agent2"


def test_a_workspace_that_is_its_own_memory_root_closes_the_record(tmp_path: Path) -> None:
    ws = Workspace.open(tmp_path, tmp_path)
    for path in ("STATE.json", "predictions.jsonl", "raw/s/a.txt"):
        assert refused(lambda path=path: ws.root_dir.check_path(path)).reason == "path_denied"
    assert ws.root_dir.check_path("notes.md", write=True) == "notes.md"


def test_g07_files_that_run_later_are_flagged_whether_or_not_they_exist(both) -> None:
    for path in (
        ".github/workflows/ci.yml", ".envrc", ".vscode/tasks.json", "conftest.py", "a/b/sitecustomize.py", "x.pth",
        "pyproject.toml", "Makefile", "setup.py", "package.json", ".bashrc", ".pre-commit-config.yaml", "CLAUDE.md",
        "AGENTS.md", ".cursor/rules/x", "sub/MAKEFILE", ".gitattributes",
    ):  # fmt: skip
        shown = both.prepare("fs_write", path=path, content="x\n")
        assert any(flag.startswith("protected path") for flag in shown.flags), path
    assert not any(
        flag.startswith("protected") for flag in both.prepare("fs_write", path="README.md", content="x\n").flags
    )


def test_g10_g13_a_replacement_keeps_the_mode_and_leaves_no_litter(both) -> None:
    tool = both.write("tool.sh", b"#!/bin/sh\n")
    tool.chmod(0o755)
    both.do("fs_write", path="tool.sh", content="#!/bin/sh\nexit 0\n")
    assert stat.S_IMODE(tool.stat().st_mode) == 0o755
    old = os.umask(0)
    try:
        both.do("fs_write", path="fresh.txt", content="x\n")
    finally:
        os.umask(old)
    assert stat.S_IMODE((both.path / "fresh.txt").stat().st_mode) == 0o644
    assert not [name for name in os.listdir(both.path) if name.startswith(".cas-tui-")]


def test_g13_a_set_id_bit_never_survives_a_write_and_its_loss_is_shown(both) -> None:
    tool = both.write("tool", b"x\n")
    tool.chmod(0o4755)
    shown = both.prepare("fs_write", path="tool", content="y\n")
    assert "mode change" in shown.flags
    both.perform("fs_write", shown.pre_image, path="tool", content="y\n")
    assert stat.S_IMODE(tool.stat().st_mode) == 0o755


def test_g09_a_failure_on_the_way_leaves_the_old_file_and_no_temporary(both, monkeypatch: pytest.MonkeyPatch) -> None:
    before = both.tree()
    calls = 0

    def failing(fd: int) -> None:
        nonlocal calls
        calls += 1
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", failing)
    error = refused(lambda: both.ws.root_dir.replace_atomically("README.md", b"new"))
    assert calls == 1
    assert error.reason == "io_error"
    assert both.tree() == before


def test_d6_a_rename_whose_durability_is_uncertain_is_not_called_done(both, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def failing(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(5, "Input/output error")
        real(fd)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(Failed) as caught:
        both.ws.root_dir.replace_atomically("README.md", b"new")
    assert caught.value.partial


def test_g09_a_temporary_left_by_a_kill_is_swept_and_nothing_of_others(both) -> None:
    ours = ".cas-tui-" + "0a" * 16 + ".tmp"
    both.write(ours, b"half")
    both.write(".cas-tui-notes.tmp", b"theirs")
    (both.path / (".cas-tui-" + "1b" * 16 + ".tmp")).symlink_to("README.md")
    assert both.ws.root_dir.sweep_temps("") == (ours,)
    assert (both.path / ".cas-tui-notes.tmp").exists()


def test_a_new_file_never_replaces_one_that_appeared_meanwhile(both) -> None:
    """E3: create-only is the kernel's decision, not a look before."""

    def appear() -> None:
        both.write("fresh.txt", b"theirs\n")

    with pytest.raises(PreImageChanged):
        both.ws.root_dir.replace_atomically("fresh.txt", b"ours\n", last_look=appear)
    assert (both.path / "fresh.txt").read_bytes() == b"theirs\n"


def test_g12_only_regular_files_are_read(both) -> None:
    os.mkfifo(both.path / "pipe")
    (both.path / "environ").symlink_to("/proc/self/environ")
    assert refused(lambda: both.look("fs_read", path="pipe")).reason == "path_denied"
    assert refused(lambda: both.look("fs_read", path="environ")).reason == "symlink_escape"
    assert refused(lambda: both.look("fs_read", path="src")).reason == "directory_not_allowed"


def test_g14_directories_are_made_one_by_one_and_not_through_a_link(both) -> None:
    both.do("fs_write", path="a/b/c/d.txt", content="x\n")
    assert (both.path / "a/b/c/d.txt").read_bytes() == b"x\n"
    (both.path / "trap").symlink_to(both.outside)
    refused(lambda: both.ws.root_dir.mkdirs("trap/deep/er"))
    assert not (both.outside / "deep").exists()


def test_directories_made_for_a_write_that_is_refused_are_taken_back(both, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = both.prepare("fs_write", path="a/b/c.txt", content="x\n")

    def full(*_: object, **__: object) -> None:
        raise Refused("io_error", "no space", status="error")

    monkeypatch.setattr(both.ws.root_dir, "replace_atomically", full)
    refused(lambda: both.perform("fs_write", shown.pre_image, path="a/b/c.txt", content="x\n"))
    assert not (both.path / "a").exists()


def exchange(one: Path, two: Path) -> None:
    """Swap two names in one step."""
    result = ctypes.CDLL(None).renameat2(-100, os.fsencode(one), -100, os.fsencode(two), ctypes.c_uint(2))
    assert result == 0


def attempt(confined: RootDir, number: int) -> bytes:
    if number % 4 == 0:
        confined.replace_atomically("d/f", b"inside")
    elif number % 4 == 1:
        confined.replace_atomically(f"d/n{number}", b"inside")
        confined.unlink(f"d/n{number}")
    elif number % 4 == 2:
        confined.mkdirs("d/sub")
    else:
        return confined.read("d/f")
    return b"inside"


def check_race(tmp_path: Path, use_openat2: bool, tries: int) -> None:
    """`d` is a directory and a link to the outside in turn, as fast as a thread can, while it is written and read."""
    root, outside = tmp_path / "w", tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"outside")
    (root / "d").mkdir(parents=True)
    (root / "d" / "f").write_bytes(b"inside")
    (root / "trap").symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            exchange(root / "d", root / "trap")

    thread = threading.Thread(target=swap)
    thread.start()
    refusals = successes = 0
    try:
        with RootDir.open(root, use_openat2=use_openat2) as confined:
            for number in range(tries):
                try:
                    assert attempt(confined, number) == b"inside"
                    successes += 1
                except (Refused, Failed):
                    refusals += 1
    finally:
        done.set()
        thread.join()
    assert refusals
    assert successes
    assert sorted(os.listdir(outside)) == ["f"]
    assert (outside / "f").read_bytes() == b"outside"


def test_g05_a_parent_swapped_for_a_link_in_the_middle_never_leads_out(tmp_path: Path, way: bool) -> None:
    check_race(tmp_path, way, 3_000)


@pytest.mark.nightly
def test_g05_a_hundred_thousand_swaps_never_lead_out(tmp_path: Path, way: bool) -> None:
    check_race(tmp_path, way, 100_000)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["..", ".", "a", "b", "up", "out", "abs", "loop", "deep", "x.txt", ""]), max_size=7))
def test_s1_no_combination_of_links_and_dots_opens_anything_outside(tmp_path_factory, parts: list[str]) -> None:
    """Whatever is opened is the file that lies inside, and both ways agree."""
    base = tmp_path_factory.getbasetemp() / "maze"
    root = base / "w"
    if not base.exists():
        (root / "a" / "b").mkdir(parents=True)
        (base / "x.txt").write_bytes(b"outside")
        for place in (root, root / "a", root / "a" / "b"):
            (place / "x.txt").write_bytes(b"inside")
            (place / "up").symlink_to("..")
            (place / "out").symlink_to("../../..")
            (place / "abs").symlink_to(base)
            (place / "loop").symlink_to("loop")
            (place / "deep").symlink_to("a/b/../b")
    results = []
    for use_openat2 in (True, False):
        with RootDir.open(root, use_openat2=use_openat2) as confined:
            try:
                results.append(confined.read("/".join(parts)))
            except Refused as refusal:
                results.append(refusal.reason)
    assert results[0] == results[1]
    assert results[0] != b"outside"
