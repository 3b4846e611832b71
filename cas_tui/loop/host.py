"""The loop host: the one process per root that holds the lease, lets effects start and writes the agent zone.

It waits for three things: decisions in the ledger, the agent's files, the end of an agent's call. A host with an agent
is `run`; one without is `host`, which never consumes an output. A dying host loses no decision; a second one on the
same root is refused (PROTOCOL §5.3, SAFETY D08).
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cas_tui.effects.preimages import PreImageStore
from cas_tui.effects.workspace import Workspace
from cas_tui.ledger import LeaseHeld, Ledger, LedgerError, StaleLease, boot_id
from cas_tui.locations import RootPaths, runtime_paths, state_home
from cas_tui.loop import gate, ingest, messages, recover, unapproved, writeback
from cas_tui.loop.agent import Agent
from cas_tui.loop.commit import StateFile
from cas_tui.loop.context import Clock, Context, Ids
from cas_tui.loop.files import WriteFailed, read_regular
from cas_tui.loop.journal import Journal
from cas_tui.loop.locks import HostRefused, take_locks
from cas_tui.loop.operator import current_operator
from cas_tui.loop.passes import Passes
from cas_tui.loop.policy import PolicyError, load_policy
from cas_tui.loop.redact import Redactor
from cas_tui.protocol.decisions import Operator
from cas_tui.protocol.requests import RequestKind, RequestState
from cas_tui.protocol.state import State

BEAT_S = 1.0
STEP_S = 0.05
LOOK_S = 0.5
PLACE = "place"


@dataclass(slots=True)
class HostOptions:
    """What kind of host this is to be."""

    root: Path
    environ: Mapping[str, str]
    clock: Clock
    ids: Ids
    workspace: Path | None = None
    agent: Agent | None = None
    agent_name: str = ""
    command: Sequence[str] = ()
    message: str = ""
    once: bool = False
    drain: bool = False
    say: Callable[[str], None] = field(default=lambda line: None)


class Host:
    """One host over its life. Use as `with Host.start(options) as host: code = host.work()`."""

    def __init__(self, options: HostOptions, ctx: Context, passes: Passes | None, locks: contextlib.ExitStack) -> None:
        self.ctx = ctx
        self.options = options
        self.passes = passes
        self._locks = locks
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._phase = "idle"
        self._looked = 0.0
        self._signatures: dict[str, object] = {}
        self._fault = ""
        self._state_fault = ""
        self._beater = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._beater.start()

    @staticmethod
    def start(options: HostOptions) -> Host:
        """Take the lease, recover what an earlier host left, and be ready to work.

        Raises:
            HostRefused: the lease is held, the ledger is newer, or the root or workspace cannot be used.
        """
        if not options.root.is_dir():
            raise HostRefused(f"{options.root}: no such directory; `cas-tui init` makes a memory root", 6)
        locks = contextlib.ExitStack()
        try:
            return _open(options, locks)
        except BaseException as error:
            locks.close()
            if isinstance(error, PolicyError):
                raise HostRefused(f"{error}; nothing can be decided until it is mended", 7) from None
            if isinstance(error, LedgerError):
                raise HostRefused(str(error), 8 if isinstance(error, LeaseHeld) else 9) from None
            raise

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Ask the host to end after its present step; safe to call from a signal handler."""
        self._stop.set()

    def work(self) -> int:
        """Work until stopped, drained or (with once) finished; returns the exit code."""
        options = self.options
        while not self._stop.is_set():
            if self._lost.is_set():
                self.options.say("another host took the lease; this one ends")
                return 8
            busy = self._tick()
            if busy:
                continue
            if options.drain and not self._undone():
                return 0
            if options.once and self._finished():
                return 1 if self.passes is not None and self.passes.failed else 0
            if self._yielding():
                return 0
            self._wait()
        return 0

    def _wait(self) -> None:
        """Wait until the ledger was written by somebody else, an agent is to be watched, or it is time to look."""
        seen = self.ctx.ledger.data_version()
        while not self._stop.wait(STEP_S):
            due = time.monotonic() - self._looked >= LOOK_S
            watching = self.passes is not None and self.passes.running
            if due or watching or self._lost.is_set() or self.ctx.ledger.data_version() != seen:
                return

    def close(self) -> None:
        """End the agent, give the lease back, let go of the locks."""
        if self.passes is not None:
            self.passes.stop()
        self._stop.set()
        self._beater.join(timeout=5)
        with contextlib.suppress(LedgerError):
            self.ctx.ledger.lease.release(self.ctx.epoch)
        self.ctx.ledger.close()
        self._locks.close()

    # --- one look at everything ---------------------------------------------------------------------------------

    def _tick(self) -> bool:
        try:
            busy = self._work_once()
            self._fault = ""
        except StaleLease:
            self._lost.set()
            return False
        except (LedgerError, WriteFailed, PolicyError, OSError) as error:
            # A failed write is a failure: nothing is acknowledged, and the step is tried again when there is room.
            if str(error) != self._fault:
                self.options.say(f"cannot go on: {error}")
            self._fault = str(error)
            self._phase = f"error: {error}"
            self._stop.wait(1.0)
            return False
        return busy

    def _work_once(self) -> bool:
        ctx = self.ctx
        busy = False
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            self._looked = now
            busy |= bool(ingest.ingest(ctx))
            for request in ctx.ledger.expire_due(str(ctx.root)):
                writeback.close_expired(ctx, request)
                busy = True
            busy |= self._show_again()
            self._say_state(ctx.state.settle())
        for row in messages.undone(ctx):
            messages.carry_out(ctx, row)
            busy = True
        for decision in ctx.ledger.decisions.unprocessed():
            self._phase = "acting"
            busy |= writeback.process(ctx, decision)
        busy |= bool(gate.release_waiting(ctx))
        if self.passes is not None:
            busy |= self.passes.step()
            self._phase = self.passes.phase()
        else:
            self._phase = "idle"
        return busy

    def _say_state(self, faults: list[str]) -> None:
        """Say once why a change of STATE.json still waits."""
        if faults and faults[0] != self._state_fault:
            self.options.say(faults[0])
        self._state_fault = faults[0] if faults else ""

    def _show_again(self) -> bool:
        """Show a pending effect anew when what it would change has changed: its digest is another one then (E3)."""
        ctx = self.ctx
        if ctx.workspace is None:
            return False
        pending = ctx.ledger.requests.list(
            root=str(ctx.root), states=(RequestState.PENDING,), kinds=(RequestKind.EFFECT,)
        )
        changed = False
        for request in pending:
            seen = gate.signature(ctx, request)
            if self._signatures.get(request.request_id) == seen:
                continue
            self._signatures[request.request_id] = seen
            changed |= gate.show_again(ctx, request)
        known = {request.request_id for request in pending}
        self._signatures = {key: value for key, value in self._signatures.items() if key in known}
        return changed

    def _undone(self) -> bool:
        """Whether a host without an agent still has something to do."""
        ctx = self.ctx
        held = ctx.ledger.holds.is_held(str(ctx.root))
        for decision in ctx.ledger.decisions.unprocessed():
            if not held:
                return True
            if ctx.ledger.requests.get(decision.request_id).state is not RequestState.APPROVED:
                return True
        return bool(messages.undone(ctx)) or bool(self._fault)

    def _finished(self) -> bool:
        """Whether `--once` is satisfied: no trigger in hand, nothing queued, nobody asked and unanswered (§5.3)."""
        ctx = self.ctx
        if self.passes is None or self.passes.current() is not None:
            return False
        waiting = ctx.ledger.requests.list(root=str(ctx.root), undecided=True)
        if any(request.kind in (RequestKind.EFFECT, RequestKind.QUESTION) for request in waiting):
            return False
        if ctx.ledger.messages.undelivered(str(ctx.root)) or self._undone():
            return False
        # One more look at the files: a question may have been written a moment ago.
        return not ingest.ingest(ctx)

    def _yielding(self) -> bool:
        """A host without an agent hands the lease over when a `run` asks for it (PROTOCOL §5.3)."""
        if self.passes is not None:
            return False
        asked = [row for row in self.ctx.ledger.messages.undelivered(str(self.ctx.root)) if row["kind"] == "yield"]
        for row in asked:
            self.ctx.ledger.messages.delivered(row["id"], "yield")
        return bool(asked)

    def _beat(self) -> None:
        """Keep the lease alive from a thread of its own, so that a long effect does not look like a dead host."""
        runtime = runtime_paths(self.options.root, self.options.environ)
        ledger: Ledger | None = None
        while not self._stop.wait(BEAT_S):
            try:
                if ledger is None:
                    ledger = Ledger.open(runtime.ledger, clock=self.options.clock, ids=self.options.ids)
                ledger.lease.beat(self.ctx.epoch, self._phase)
            except StaleLease:
                self._lost.set()
                break
            except LedgerError:
                continue
        if ledger is not None:
            ledger.close()


def _open(options: HostOptions, locks: contextlib.ExitStack) -> Host:
    root = options.root
    runtime = runtime_paths(root, options.environ)
    runtime.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    runtime.directory.chmod(0o700)
    ledger = locks.enter_context(Ledger.create(runtime.ledger, clock=options.clock, ids=options.ids))
    take_locks(root, runtime.lock, ledger, locks, run=options.agent is not None)
    workspace = _workspace(options, ledger)
    agent_name = options.agent_name or default_agent_name(root)
    confinement = options.agent.confinement if options.agent is not None else ""
    epoch = ledger.lease.acquire(
        str(root),
        role="run" if options.agent is not None else "host",
        pid=os.getpid(),
        hostname=socket.gethostname(),
        boot_id=boot_id(),
        workspace=str(workspace.root_dir.path) if workspace else "",
        confinement=confinement,
        agent=agent_name,
        command=tuple(options.command),
    )
    paths = RootPaths(root)
    state = StateFile(paths, ledger, options.clock)
    ctx = Context(
        root=root,
        paths=paths,
        runtime=runtime,
        ledger=ledger,
        clock=options.clock,
        ids=options.ids,
        policy=load_policy(runtime.policy),
        journal=Journal(root, ledger),
        state=state,
        redactor=Redactor(options.environ),
        store=PreImageStore(runtime.pre_images),
        agent=agent_name,
        session_id=_session(options),
        run_nonce=_run_nonce(paths, state),
        epoch=epoch,
        workspace=workspace,
        confinement=confinement,
    )
    for line in recover.recover(ctx):
        options.say(line)
    ingest.note_session_start(ctx)
    passes = None
    if options.agent is not None:
        passes = Passes(ctx, options.agent, options.say)
        if confinement.startswith("unconfined"):
            options.say(f"{confinement}: this agent can act without asking")
        if options.message:
            ctx.ledger.messages.add(str(root), "message", options.message, _host_operator(), data={})
        if passes.current() is not None:
            unapproved.look(ctx, "while no host was there")
    return Host(options, ctx, passes, locks)


def _workspace(options: HostOptions, ledger: Ledger) -> Workspace | None:
    """The workspace given, or the one the last `run` had."""
    chosen = options.workspace
    if chosen is None:
        place = ledger.cursors.get(PLACE)
        if place is None:
            return None
        chosen = Path(str(place["workspace"]))
        if not chosen.is_dir():
            options.say(f"{chosen}: the workspace of the last run is gone; effects cannot run")
            return None
    chosen = chosen.expanduser().resolve()
    if not chosen.is_dir():
        raise HostRefused(f"{chosen}: no such workspace directory", 6)
    zone = state_home(options.environ)
    if chosen == zone or chosen in zone.parents or zone in chosen.parents:
        raise HostRefused(f"{chosen}: a workspace may not hold the runtime zone {zone}", 7)
    ledger.cursors.set(PLACE, {"workspace": str(chosen)})
    return Workspace.open(chosen, options.root)


def default_agent_name(root: Path) -> str:
    """The agent of a memory root by its place: `{agent}/memory`, else the directory's own name (PROTOCOL §1.1)."""
    return root.parent.name if root.name == "memory" and root.parent.name else root.name or "agent"


def _session(options: HostOptions) -> str:
    return f"s-{options.clock():%Y%m%d}-{options.ids()[:6]}"


def _run_nonce(paths: RootPaths, state: StateFile) -> str | None:
    """STATE.run_nonce, or the file's where STATE has none; a disagreement is shown elsewhere (PROTOCOL §4 row 7)."""
    read = state.read()
    if isinstance(read, State) and read.run_nonce:
        return read.run_nonce
    try:
        data = read_regular(paths.run_nonce, 4096)
    except WriteFailed:
        return None
    return data.decode("utf-8", "replace").strip() or None if data else None


def _host_operator() -> Operator:
    return current_operator("cli")
