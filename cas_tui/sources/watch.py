"""Waits for something to change in any of many roots, and reads it (CRAFT C31, SAFETY B07, B08, PERFORMANCE §4).

An event from the kernel only means *look again*; what changed is found by looking. A sweep looks at everything once a
second in any case, so an event that never comes costs at most that second. Directories are watched, not files, and
watched again when they are replaced. The only module that knows a watching library; each is loaded when it is used.
"""

from __future__ import annotations

import asyncio
import errno
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from cas_tui.protocol.events import Event
from cas_tui.sources.run import RunSource

POLL_S: Final = 0.25
"""How often everything is looked at when no watcher works."""

Wanted = Mapping[Path, frozenset[int]]
"""Directory -> numbers of the sources it belongs to."""


class OutOfWatches(Exception):
    """The system gives no (more) watches; the message says why, in words."""


class Waker(Protocol):
    """A way to learn that something changed. `label` says which, for health and doctor."""

    label: str
    sweep_s: float | None
    """A shorter sweep than usual that this way needs, or None."""
    stale: bool
    """Whether a directory came, went or was replaced, so that `cover` is due before the next sweep."""

    def cover(self, wanted: Wanted) -> frozenset[int]:
        """Watch these directories, as they stand now; the sources for which one was newly watched."""

    def woken(self) -> frozenset[int] | None:
        """The sources that changed since the last call; None means any of them may have."""

    async def close(self) -> None:
        """Stop watching."""


class InotifyWaker:
    """asyncinotify: one descriptor for all roots, read only after it became readable."""

    label = "inotify"
    sweep_s: float | None = None
    stale = False

    def __init__(self, wake: Callable[[], None]) -> None:
        import asyncinotify

        self._wake = wake
        self._mask: Any = (
            asyncinotify.Mask.MODIFY
            | asyncinotify.Mask.CREATE
            | asyncinotify.Mask.DELETE
            | asyncinotify.Mask.MOVE
            | asyncinotify.Mask.ATTRIB
            | asyncinotify.Mask.DELETE_SELF
            | asyncinotify.Mask.MOVE_SELF
            | asyncinotify.Mask.ONLYDIR
            | asyncinotify.Mask.DONT_FOLLOW
        )
        self._overflow = asyncinotify.Mask.Q_OVERFLOW
        self._directory: Any = (
            asyncinotify.Mask.ISDIR
            | asyncinotify.Mask.DELETE_SELF
            | asyncinotify.Mask.MOVE_SELF
            | asyncinotify.Mask.IGNORED
        )
        try:
            self._inotify = asyncinotify.Inotify(sync_timeout=0)
        except OSError as error:
            raise OutOfWatches(_why(error)) from None
        self._watches: dict[Path, tuple[tuple[int, int], Any]] = {}
        self._sources: dict[int, frozenset[int]] = {}
        self._loop = asyncio.get_running_loop()
        self._listening = False
        self._listen()

    def _listen(self) -> None:
        if not self._listening:
            self._loop.add_reader(self._inotify.fd, self._readable)
            self._listening = True

    def _readable(self) -> None:
        # Not read here: events that pile up until the next look are merged by the kernel.
        self._loop.remove_reader(self._inotify.fd)
        self._listening = False
        self._wake()

    def cover(self, wanted: Wanted) -> frozenset[int]:
        self.stale = False
        new: set[int] = set()
        by_watch: dict[int, frozenset[int]] = {}
        alive = frozenset(watch.wd for watch in self._inotify.watches)
        for path, sources in wanted.items():
            watch = self._watch(path, alive)
            if watch is None:
                continue
            if watch not in self._sources:
                new |= sources
            by_watch[watch] = by_watch.get(watch, frozenset()) | sources
        for path in self._watches.keys() - wanted.keys():
            self._drop(path)
        self._sources = by_watch
        return frozenset(new)

    def _watch(self, path: Path, alive: frozenset[int]) -> int | None:
        """The number of the watch on the directory that is at `path` now, or None."""
        try:
            found = path.lstat()
        except OSError:
            self._drop(path)
            return None
        identity = (found.st_dev, found.st_ino)
        known = self._watches.get(path)
        if known is not None and known[0] == identity and known[1].wd in alive:
            return int(known[1].wd)
        self._drop(path)
        try:
            watch = self._inotify.add_watch(path, self._mask)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
                raise OutOfWatches(_why(error)) from None
            return None  # not there, not a directory, no permission: the sweep asks again
        self._watches[path] = (identity, watch)
        return int(watch.wd)

    def _drop(self, path: Path) -> None:
        known = self._watches.pop(path, None)
        if known is None or any(other[1].wd == known[1].wd for other in self._watches.values()):
            return
        with suppress(OSError):
            self._inotify.rm_watch(known[1])

    def woken(self) -> frozenset[int] | None:
        changed: set[int] = set()
        every = False
        while (event := self._inotify.sync_get()) is not None:
            if event.mask & self._directory:
                self.stale = True
            if event.watch is None or event.mask & self._overflow:
                every = True
            else:
                changed |= self._sources.get(event.watch.wd, frozenset())
        self._listen()
        return None if every else frozenset(changed)

    async def close(self) -> None:
        if self._listening:
            self._loop.remove_reader(self._inotify.fd)
            self._listening = False
        self._inotify.close()


class WatchfilesWaker:
    """watchfiles, where there is no inotify of our own to be had."""

    sweep_s: float | None = None
    stale = False

    def __init__(self, wake: Callable[[], None], reason: str) -> None:
        import watchfiles

        self._awatch = watchfiles.awatch
        self._wake = wake
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._paths: tuple[Path, ...] = ()
        self.label = f"watchfiles ({reason})"
        self.failed = ""

    def cover(self, wanted: Wanted) -> frozenset[int]:
        if self.failed:
            raise OutOfWatches(self.failed)
        paths = tuple(path for path in wanted if path.is_dir() and not path.is_symlink())
        if paths == self._paths:
            return frozenset()
        self._paths = paths
        self._stop.set()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._follow(paths, self._stop)) if paths else None
        return frozenset().union(*wanted.values())

    async def _follow(self, paths: tuple[Path, ...], stop: asyncio.Event) -> None:
        try:
            changes = self._awatch(
                *paths, watch_filter=None, debounce=50, step=10, stop_event=stop, recursive=False, rust_timeout=1000
            )
            async for _ in changes:
                self._wake()
        except Exception as error:  # the library raises its own types, and plain OSError, for exhausted watches
            if not stop.is_set():
                self.failed = str(error).partition(" about ")[0] or type(error).__name__
                self._wake()

    def woken(self) -> frozenset[int] | None:
        return None

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


class PollWaker:
    """No watcher at all: everything is looked at four times a second."""

    sweep_s: float | None = POLL_S
    stale = False

    def __init__(self, reason: str) -> None:
        self.label = f"polling every {POLL_S:g} s ({reason})"

    def cover(self, wanted: Wanted) -> frozenset[int]:
        return frozenset()

    def woken(self) -> frozenset[int] | None:
        return None

    async def close(self) -> None:
        return None


def _why(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "the user's inotify watches are used up"
    if error.errno == errno.EMFILE:
        return "the user's inotify instances or this program's files are used up"
    return str(error.strerror or error).lower()


class _Watching:
    """The loop's state: which way is used, which sources are due."""

    def __init__(self, sources: Sequence[RunSource], methods: Sequence[str], on_label: Callable[[str], None]) -> None:
        self.sources = sources
        self.wake = asyncio.Event()
        self._methods = list(methods)
        self._on_label = on_label
        self._reason = "no other way was allowed"
        self.waker: Waker = PollWaker(self._reason)
        self.due: set[int] = set(range(len(sources)))
        self._clock = asyncio.get_running_loop().time
        self._swept = self._looked = self._clock()

    async def next_method(self, reason: str = "") -> None:
        """Take the next way that can be begun; polling is always the last."""
        await self.waker.close()
        self._reason = reason or self._reason
        while self._methods:
            method = self._methods.pop(0)
            try:
                if method == "inotify":
                    self.waker = InotifyWaker(self.wake.set)
                else:
                    self.waker = WatchfilesWaker(self.wake.set, self._reason)
                break
            except (ImportError, OutOfWatches) as error:
                self._reason = str(error)
        else:
            self.waker = PollWaker(self._reason)
        self._on_label(self.waker.label)

    async def cover(self) -> None:
        wanted: dict[Path, frozenset[int]] = {}
        for number, source in enumerate(self.sources):
            for path in source.directories():
                wanted[path] = wanted.get(path, frozenset()) | {number}
        while True:
            try:
                # What happened in a directory before it was watched is found by looking once more.
                self.due |= self.waker.cover(wanted)
                return
            except OutOfWatches as error:
                await self.next_method(str(error))

    def take_due(self) -> list[int]:
        """The numbers of the sources to look at now."""
        self._looked = self._clock()
        due, self.due = sorted(self.due), set()
        return due

    async def pause(self, coalesce_s: float, sweep_s: float, stop: asyncio.Event) -> None:
        """Wait until there is something to look at (not at all while a file has more to read), and note what."""
        sweep = self.waker.sweep_s or sweep_s
        if not any(source.behind for source in self.sources):
            left = [wait for source in self.sources if (wait := source.due_in) is not None]
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(self._swept + sweep - self._clock(), *left, sweep))):
                    await self.wake.wait()
            if stop.is_set():
                return
            await asyncio.sleep(max(0.0, self._looked + coalesce_s - self._clock()))
        self.wake.clear()
        woken = self.waker.woken()
        every = frozenset(range(len(self.sources)))
        self.due |= every if woken is None else woken
        self.due |= {number for number, source in enumerate(self.sources) if source.due_in == 0}
        if self._clock() - self._swept >= sweep:
            self._swept = self._clock()
            self.due |= every
            await self.cover()
        elif self.waker.stale:
            await self.cover()


def methods_here() -> tuple[str, ...]:
    """The ways to watch on this platform, best first; polling always comes after them."""
    return ("inotify", "watchfiles") if sys.platform == "linux" else ("watchfiles",)


async def watch(
    sources: Sequence[RunSource],
    *,
    stop: asyncio.Event,
    coalesce_s: float = 0.02,
    sweep_s: float = 1.0,
    on_label: Callable[[str], None] = lambda label: None,
    methods: Iterable[str] | None = None,
) -> AsyncIterator[tuple[Event, ...]]:
    """Batches of events as they come, until `stop` is set.

    The first change is read at once; what follows within `coalesce_s` seconds comes as one batch. Long reads are
    given in slices, and other tasks run between them. `on_label` is told which way of watching is used, at the start
    and whenever it changes; `methods` limits the choice (polling is always the last resort).
    """
    watching = _Watching(sources, tuple(methods_here() if methods is None else methods), on_label)
    stopping = asyncio.ensure_future(stop.wait())
    stopping.add_done_callback(lambda _: watching.wake.set())
    try:
        await watching.next_method()
        await watching.cover()
        while not stop.is_set():
            for number in watching.take_due():
                events = sources[number].poll()
                if events:
                    yield events
                if stop.is_set():
                    return
                await asyncio.sleep(0)
            await watching.pause(coalesce_s, sweep_s, stop)
    finally:
        stopping.cancel()
        await watching.waker.close()
