"""Discovery: a memory root or hub here or above, the agents' home, the config file's list (PROTOCOL §5.6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cas_tui.sources.root import discover, is_hub, is_memory_root


def made(path: Path, *files: str) -> Path:
    for file in files:
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text("{}")
    return path


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


@pytest.mark.parametrize("mark", ["STATE.json", "STATE/STATE.json", "predictions.jsonl", "learning.jsonl"])
def test_the_nearest_memory_root_here_or_above_is_found(tmp_path: Path, mark: str) -> None:
    root = made(tmp_path / "echo" / "memory", mark)
    deep = root / "raw" / "session"
    deep.mkdir(parents=True)
    assert is_memory_root(root)
    assert discover([], cwd=deep, environ=environ(tmp_path)) == (root,)


@pytest.mark.parametrize("mark", [".cn/config.yaml", ".cn/config.json", "state/peers.md"])
def test_a_hub_here_or_above_is_found(tmp_path: Path, mark: str) -> None:
    hub = made(tmp_path / "hub", mark)
    (hub / "threads").mkdir()
    assert is_hub(hub)
    assert discover([], cwd=hub / "threads", environ=environ(tmp_path)) == (hub,)


def test_a_placement_wins_over_the_marks_beside_it(tmp_path: Path) -> None:
    hub = made(tmp_path / "nested", ".cn/config.json")
    work = made(tmp_path / "work", ".cn/config.json")
    (work / ".cn" / "placement.json").write_text('{"mode": "attached", "hub_root": "../nested"}')
    assert discover([], cwd=work, environ=environ(tmp_path)) == (hub,)


@pytest.mark.parametrize("content", ["[]", "{", '{"hub_root": 3}', '{"hub_root": "/nowhere/at/all"}', "[" * 5000])
def test_a_broken_placement_is_passed_over(tmp_path: Path, content: str) -> None:
    work = made(tmp_path / "work", ".cn/config.json")
    (work / ".cn" / "placement.json").write_text(content)
    assert discover([], cwd=work, environ=environ(tmp_path)) == (work,)


def test_every_agent_of_the_agents_home_is_found_each_once(tmp_path: Path) -> None:
    one, two = tmp_path / "agents" / "a" / "memory", tmp_path / "agents" / "b" / "memory"
    made(one, "STATE.json")
    two.mkdir(parents=True)
    (tmp_path / "agents" / "c").mkdir()
    chosen = {**environ(tmp_path), "CURSOR_AGENTS_ROOT": str(tmp_path / "agents")}
    assert discover([], cwd=tmp_path, environ=chosen) == (one, two)
    assert discover([], cwd=one, environ=chosen) == (one, two)


def test_the_agents_home_is_below_the_home_directory_when_not_named(tmp_path: Path) -> None:
    root = made(tmp_path / ".cursor" / "agents" / "echo" / "memory", "STATE.json")
    assert discover([], cwd=tmp_path, environ=environ(tmp_path)) == (root,)


def test_the_list_of_the_config_file_comes_last(tmp_path: Path) -> None:
    here = made(tmp_path / "here", "STATE.json")
    listed = made(tmp_path / "listed", "STATE.json")
    config = tmp_path / ".config" / "cas-tui" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'roots = ["~/listed", "{here}", "gone"]')
    found = discover([], cwd=here, environ=environ(tmp_path))
    assert found == (here, listed, config.parent / "gone")


def test_a_broken_config_file_finds_nothing(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "cas-tui" / "config.toml"
    config.parent.mkdir(parents=True)
    for content in ("roots = [", "roots = 3", "\udcff"):
        config.write_text(content, errors="surrogateescape")
        assert discover([], cwd=tmp_path, environ=environ(tmp_path)) == ()


def test_named_paths_are_taken_as_they_are_and_resolved(tmp_path: Path) -> None:
    made(tmp_path / "above", "STATE.json")
    (tmp_path / "link").symlink_to("above")
    (tmp_path / "loop").symlink_to("loop")
    found = discover(
        [Path("link"), Path("above"), Path("gone"), Path("~/above"), Path("loop")],
        cwd=tmp_path,
        environ=environ(tmp_path),
    )
    assert found == (tmp_path / "above", tmp_path / "gone", tmp_path / "loop")
