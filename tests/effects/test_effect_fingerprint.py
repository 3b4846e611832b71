"""Changes that no approved effect made are found, and only those (PROTOCOL §5.3)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from effects_kit import Bench

from cas_tui.effects import fingerprint
from cas_tui.effects.fingerprint import Change, Fingerprint, GitChange, changes, take
from cas_tui.protocol.requests import ABSENT


def paths_of(found: tuple[Change | GitChange, ...]) -> list[str]:
    return [item.path for item in found]


def test_nothing_changed_is_nothing_found_even_when_times_moved(bench: Bench) -> None:
    first = take(bench.ws)
    os.utime(bench.path / "README.md", (1, 1))
    second = take(bench.ws, first)
    assert changes(first, second) == ()
    assert first.complete


def test_every_kind_of_change_is_named_with_before_and_after(bench: Bench) -> None:
    (bench.path / "link").symlink_to("README.md")
    first = take(bench.ws)
    bench.write("README.md", b"other\n")
    bench.write("new/x", b"x\n")
    (bench.path / "docs" / "a b.md").unlink()
    (bench.path / "src" / "app.py").chmod(0o755)
    (bench.path / "link").unlink()
    (bench.path / "link").symlink_to("src")
    found = changes(first, take(bench.ws, first))
    assert paths_of(found) == ["README.md", "docs/a b.md", "link", "new/x", "src/app.py"]
    by_path = {item.path: item for item in found}
    assert by_path["docs/a b.md"].now == ABSENT
    assert by_path["new/x"].was == ABSENT
    assert by_path["src/app.py"].as_json()["now"]["mode"] == "0755"
    json.dumps([item.as_json() for item in found])


def test_a_change_of_the_same_size_with_the_times_put_back_is_found(bench: Bench) -> None:
    """The change time of an inode cannot be set back; a fresh file is hashed again anyway."""
    target = bench.path / "README.md"
    info = target.stat()
    first = take(bench.ws)
    with open(target, "r+b") as file:
        file.write(b"#")
        file.seek(0)
        file.write(b"%")
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert paths_of(changes(first, take(bench.ws, first))) == ["README.md"]


def test_git_changes_are_named(bench: Bench) -> None:
    first = take(bench.ws)
    bench.write("README.md", b"x\n")
    bench.git("commit", "-qam", "behind our back")
    bench.git("branch", "extra")
    found = changes(first, take(bench.ws, first))
    assert paths_of(found) == ["README.md", "git:head", "git:index", "git:refs/heads/extra", "git:refs/heads/main"]
    bench.git("checkout", "-q", "extra")
    assert paths_of(changes(take(bench.ws), take(bench.ws))) == []


def test_the_inside_of_git_and_the_memory_root_are_not_walked(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(memory="mem")
    first = take(bench.ws)
    bench.write("mem/STATE.json", b"{}")
    bench.write(".git/description", b"other")
    bench.write(".cas-tui-" + "0" * 32 + ".tmp", b"half")
    bench.write("state/x", b"an agent wrote here\n")
    assert paths_of(changes(first, take(bench.ws, first))) == ["state/x"]


def test_ignored_directories_are_not_entered_and_ignored_files_are_seen(bench: Bench) -> None:
    bench.write(".gitignore", b"build/\n*.key\n")
    first = take(bench.ws)
    bench.write("build/x", b"x")
    bench.write("a.key", b"k")
    assert paths_of(changes(first, take(bench.ws, first))) == ["a.key"]


def test_what_changed_can_be_put_back_from_the_store(bench: Bench) -> None:
    first = take(bench.ws, None, bench.store)
    bench.write("README.md", b"vandalised\n")
    (change,) = changes(first, take(bench.ws, first, bench.store))
    assert isinstance(change, Change)
    bench.do("fs_restore", path=change.path, image=change.was.sha256, mode=f"{change.was.mode:04o}")
    assert changes(first, take(bench.ws, first)) == ()


def test_a_bound_that_is_met_is_said_and_raises_no_false_change(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        bench.write(f"many/{number:02}", b"x")
    monkeypatch.setattr(fingerprint, "MAX_FILES", 10)
    first = take(bench.ws)
    assert not first.complete
    bench.write("aaa", b"new and early")
    bench.write("zzz", b"new and beyond")
    assert paths_of(changes(first, take(bench.ws, first))) == ["aaa"]


def test_a_fingerprint_survives_json(bench: Bench) -> None:
    (bench.path / os.fsdecode(b"\xff")).write_bytes(b"x")
    first = take(bench.ws)
    again = Fingerprint.from_json(json.loads(json.dumps(first.as_json())))
    assert again == first
    assert changes(again, take(bench.ws, again)) == ()


def test_a_workspace_without_git_is_looked_at_too(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench({})
    first = take(bench.ws)
    bench.write("x", b"x")
    assert paths_of(changes(first, take(bench.ws, first))) == ["x"]
