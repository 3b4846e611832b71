"""Watching real files by every method: what is written is seen, whatever is done to the directories (B07, B08, C31)."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sources_kit import FILE, ids, line, lines, now, said, source

from cas_tui.ledger import Ledger
from cas_tui.protocol.decisions import Operator
from cas_tui.protocol.events import IssuesRead, LedgerRead, LoopFiles, StateRead
from cas_tui.sources import watch as watch_module
from cas_tui.sources.run import RunSource
from cas_tui.sources.watch import watch

LINUX = sys.platform == "linux"
METHODS = [("inotify",), ("watchfiles",), ()] if LINUX else [("watchfiles",), ()]


class Watched:
    """A watch that runs in the background and collects what it yields."""

    def __init__(self, *sources: RunSource, sweep_s: float = 1.0, methods: tuple[str, ...] | None = None) -> None:
        self.sources = sources
        self.events: list[object] = []
        self.labels: list[str] = []
        self.stop = asyncio.Event()
        self._sweep_s, self._methods = sweep_s, methods

    async def __aenter__(self) -> Watched:
        self.task = asyncio.create_task(self._run())
        await self.until(lambda: bool(self.labels))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set()
        await asyncio.wait_for(self.task, 5)
        for run in self.sources:
            run.close()

    async def _run(self) -> None:
        batches = watch(
            self.sources, stop=self.stop, sweep_s=self._sweep_s, methods=self._methods, on_label=self.labels.append
        )
        async for batch in batches:
            self.events += batch

    async def until(self, true: Callable[[], bool], seconds: float = 15.0) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                assert not hasattr(self, "task") or not self.task.done(), self.task
                await asyncio.sleep(0.001)


def memory(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("methods", METHODS, ids=str)
async def test_what_is_appended_is_seen_by_every_method(tmp_path: Path, methods: tuple[str, ...]) -> None:
    root = memory(tmp_path / "memory")
    (root / FILE).write_bytes(line(0))
    async with Watched(source(root), methods=methods) as watched:
        for number in range(1, 6):
            with (root / FILE).open("ab") as file:
                file.write(line(number))
            await watched.until(lambda n=number: f"a{n}" in ids(watched.events))
        assert ids(watched.events) == [f"a{n}" for n in range(6)]
        expected = methods[0] if methods else "polling"
        assert watched.labels[-1].startswith(expected)


@pytest.mark.skipif(not LINUX, reason="inotify is Linux's")
async def test_changes_are_seen_without_any_sweep(tmp_path: Path) -> None:
    """The sweep is an hour away: all of this comes from the kernel's events."""
    root = memory(tmp_path / "memory")
    async with Watched(source(root), sweep_s=3600, methods=("inotify",)) as watched:
        await watched.until(lambda: bool(said(watched.events)))
        (root / FILE).write_bytes(line(0))
        await watched.until(lambda: ids(watched.events) == ["a0"])
        (root / "STATE.json").write_text("{}")
        await watched.until(lambda: any(isinstance(e, StateRead) and e.state for e in watched.events))
        memory(root / "state" / "mca")
        (root / "state" / "mca" / "a.md").write_text("one")
        await watched.until(lambda: any(isinstance(e, IssuesRead) and e.issues for e in watched.events))
        (root / "state" / "output.md").write_text("")
        await watched.until(lambda: any(isinstance(e, LoopFiles) and e.output_present for e in watched.events))


@pytest.mark.skipif(not LINUX, reason="inotify is Linux's")
async def test_a_watch_survives_directories_that_are_replaced(tmp_path: Path) -> None:
    root = memory(tmp_path / "memory")
    memory(root / "state" / "mca")
    async with Watched(source(root), sweep_s=3600, methods=("inotify",)) as watched:
        await watched.until(lambda: bool(said(watched.events)))
        for number in range(3):
            shutil.rmtree(root / "state")
            memory(root / "state" / "mca")
            (root / "state" / "mca" / f"{number}.md").write_text("again")
            await watched.until(
                lambda n=number: any(
                    isinstance(e, IssuesRead) and [i.name for i in e.issues] == [f"{n}.md"] for e in watched.events
                )
            )


@pytest.mark.parametrize("methods", METHODS, ids=str)
async def test_a_root_that_is_removed_and_made_again_is_found_by_the_sweep(
    tmp_path: Path, methods: tuple[str, ...]
) -> None:
    root = memory(tmp_path / "memory")
    (root / FILE).write_bytes(line(0))
    async with Watched(source(root), sweep_s=0.1, methods=methods) as watched:
        await watched.until(lambda: ids(watched.events) == ["a0"])
        shutil.rmtree(root)
        await watched.until(lambda: "missing" in said(watched.events))
        memory(root)
        (root / FILE).write_bytes(line(1))
        await watched.until(lambda: ids(watched.events) == ["a0", "a1"])
        with (root / FILE).open("ab") as file:
            file.write(line(2))
        await watched.until(lambda: ids(watched.events) == ["a0", "a1", "a2"])


async def test_a_watcher_that_never_reports_costs_only_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B08: no events at all, as on a network mount."""
    monkeypatch.setattr(watch_module.InotifyWaker, "woken", lambda self: frozenset())
    monkeypatch.setattr(watch_module.InotifyWaker, "_readable", lambda self: None)
    root = memory(tmp_path / "memory")
    async with Watched(source(root), sweep_s=0.05, methods=("inotify",)) as watched:
        await watched.until(lambda: bool(said(watched.events)))
        (root / FILE).write_bytes(line(0))
        await watched.until(lambda: ids(watched.events) == ["a0"])


async def test_used_up_watches_fall_back_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B07: first one library, then the next, then polling; each with its reason in the label."""

    def used_up(*_: object, **__: object) -> None:
        raise watch_module.OutOfWatches("the user's inotify watches are used up")

    monkeypatch.setattr(watch_module.InotifyWaker, "_watch", used_up)
    root = memory(tmp_path / "memory")
    async with Watched(source(root)) as watched:
        await watched.until(lambda: len(watched.labels) > (1 if LINUX else 0))
        (root / FILE).write_bytes(line(0))
        await watched.until(lambda: ids(watched.events) == ["a0"])
        assert watched.labels[-1].startswith("watchfiles")
        assert not LINUX or "used up" in watched.labels[-1]


async def test_a_second_library_that_fails_too_leaves_polling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object, **__: object):
        raise OSError(28, "OS file watch limit reached about [x]")
        yield

    import watchfiles

    monkeypatch.setattr(watchfiles, "awatch", fails)
    root = memory(tmp_path / "memory")
    async with Watched(source(root), sweep_s=0.05, methods=("watchfiles",)) as watched:
        await watched.until(lambda: watched.labels[-1].startswith("polling"))
        (root / FILE).write_bytes(line(0))
        await watched.until(lambda: ids(watched.events) == ["a0"])


async def test_many_roots_share_one_watch(tmp_path: Path) -> None:
    roots = [memory(tmp_path / f"r{number}") for number in range(20)]
    async with Watched(*(source(root) for root in roots), sweep_s=3600 if LINUX else 0.1) as watched:
        await watched.until(lambda: len(said(watched.events)) == 20)
        for number, root in enumerate(roots):
            (root / FILE).write_bytes(line(number))
        await watched.until(lambda: len(ids(watched.events)) == 20)
        assert {event.root for event in watched.events if ids([event])} == {str(root) for root in roots}


async def test_only_the_root_that_changed_is_looked_at(tmp_path: Path) -> None:
    roots = [memory(tmp_path / "one" / "memory"), memory(tmp_path / "two" / "memory")]
    runs = [source(root) for root in roots]
    looks = [0, 0]
    for number, run in enumerate(runs):

        def counting(number: int = number, poll: Callable[[], object] = run.poll) -> object:
            looks[number] += 1
            return poll()

        run.poll = counting  # type: ignore[method-assign]
    async with Watched(*runs, sweep_s=3600, methods=("inotify",)) as watched:
        await watched.until(lambda: len(said(watched.events)) == 2)
        before = looks[1]
        for number in range(10):
            with (roots[0] / FILE).open("ab") as file:
                file.write(line(number))
            await watched.until(lambda n=number: len(ids(watched.events)) == n + 1)
        assert looks[0] >= 10 and looks[1] <= before + 1


async def test_a_flood_comes_in_batches_complete_and_in_order(tmp_path: Path) -> None:
    """Coalescing: far fewer batches than appends, nothing lost, and other tasks run meanwhile."""
    root = memory(tmp_path / "memory")
    (root / FILE).write_bytes(b"")
    async with Watched(source(root)) as watched:
        with (root / FILE).open("ab", buffering=0) as file:
            for number in range(3000):
                file.write(line(number))
                if number % 100 == 0:
                    await asyncio.sleep(0)
        await watched.until(lambda: len(ids(watched.events)) == 3000)
        assert ids(watched.events) == [f"a{n}" for n in range(3000)]
        assert sum(1 for event in watched.events if ids([event])) < 300


async def test_a_large_backlog_is_read_in_slices_and_the_loop_stays_responsive(tmp_path: Path) -> None:
    """C16: between two slices other tasks get their turn."""
    root = memory(tmp_path / "memory")
    (root / FILE).write_bytes(b"")
    async with Watched(source(root)) as watched:
        await watched.until(lambda: "live" in said(watched.events))
        (root / FILE).write_bytes(lines(0, 10_000))
        seen: list[int] = []

        def enough() -> bool:
            seen.append(len(watched.events))
            return ids(watched.events[-1:])[-1:] == ["a9999"]

        await watched.until(enough, 30)
        assert ids(watched.events) == [f"a{n}" for n in range(10_000)]
        # Every few slices of 64 KiB this task had a turn: it never saw more than a few of them arrive at once.
        steps = [after - before for before, after in itertools.pairwise(seen)]
        assert max(steps) <= 4 and sum(1 for step in steps if step) >= 5


async def test_stopping_ends_the_watch_at_once(tmp_path: Path) -> None:
    async with Watched(source(memory(tmp_path / "memory")), sweep_s=3600) as watched:
        await watched.until(lambda: bool(said(watched.events)))
        watched.stop.set()
        await asyncio.wait_for(watched.task, 5)


@pytest.mark.skipif(not LINUX, reason="inotify is Linux's")
async def test_what_the_ledger_records_is_seen_without_any_sweep_and_reading_it_wakes_nobody(tmp_path: Path) -> None:
    """PROTOCOL §5.2: also a row that comes right after a look, when the next one has to wait for its 100 ms."""
    root, zone = memory(tmp_path / "memory"), tmp_path / "state" / "zone"
    zone.parent.mkdir()
    run = source(root, zone)
    looks = 0
    poll = run.poll

    def counting() -> tuple[object, ...]:
        nonlocal looks
        looks += 1
        return poll()

    run.poll = counting  # type: ignore[method-assign, assignment]
    async with Watched(run, sweep_s=3600, methods=("inotify",)) as watched:

        def holders() -> list[str]:
            return [event.held_by for event in watched.events if isinstance(event, LedgerRead) and event.held]

        await watched.until(lambda: bool(said(watched.events)))
        with Ledger.create(zone / "ledger.db", clock=now, ids=lambda: "id") as ledger:
            for name in ("a", "b", "c"):
                operator = Operator(name, 0, "here", "cli")
                ledger.holds.hold(str(root), operator)
                await watched.until(lambda name=name: holders()[-1:] == [name])
                ledger.holds.resume(str(root), operator)
            await watched.until(lambda: [e.held for e in watched.events if isinstance(e, LedgerRead)][-1:] == [False])
            before = looks
            for _ in range(300):
                await asyncio.sleep(0.001)
            assert looks <= before + 3
