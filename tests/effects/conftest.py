"""Fixtures of the effects tests: a bench on a fresh workspace, for each way of opening a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from effects_kit import FILES, IDENTITY, WHEN, Bench

from cas_tui.effects.git import init_repository
from cas_tui.effects.preimages import PreImageStore
from cas_tui.effects.workspace import Workspace


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest) -> bool:
    """Both ways of the last step into the kernel; True is openat2."""
    return request.param == "openat2"


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    opened: list[Workspace] = []

    def make(files: Mapping[str, bytes] = FILES, *, use_openat2: bool | None = None, memory: str = "") -> Bench:
        path = tmp_path / "w"
        if files:
            init_repository(path, files, message="Begin", identity=IDENTITY, when=WHEN)
        path.mkdir(exist_ok=True)
        outside = tmp_path / "outside"
        outside.mkdir(exist_ok=True)
        (outside / "secret.txt").write_bytes(b"secret\n")
        root = path / memory if memory else tmp_path / "memory"
        root.mkdir(parents=True, exist_ok=True)
        ws = Workspace.open(path, root, use_openat2=use_openat2)
        opened.append(ws)
        return Bench(path, outside, ws, PreImageStore(tmp_path / "pre-images"))

    yield make
    for ws in opened:
        ws.close()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()


@pytest.fixture
def both(make_bench: Callable[..., Bench], way: bool) -> Bench:
    """A bench for each of the two ways."""
    return make_bench(use_openat2=way)
