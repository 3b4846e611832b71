"""The N-pass loop: one trigger from its input to its last output, a step at a time (PROTOCOL §2.11, §5.3).

Where a trigger stands is durable before each step, and every step may be run again: a host that comes back goes on
where the last one stopped. Nothing here waits; `step` looks once and returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cas_tui.effects.limits import Limits
from cas_tui.loop import coordination, exchange, gate, observe, settle, unapproved
from cas_tui.loop.agent import Agent, Call, Ended, Running
from cas_tui.loop.context import Context
from cas_tui.loop.exchange import Evidence, Inbound
from cas_tui.loop.files import WriteFailed, remove_file
from cas_tui.protocol.decode import Json
from cas_tui.protocol.ops import Manifest, decode_ops
from cas_tui.protocol.output import Coordination, Output, parse_output
from cas_tui.protocol.receipts import Receipt
from cas_tui.protocol.requests import Request

BACK_OFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


@dataclass(frozen=True, slots=True)
class Trigger:
    """Where the current trigger stands: what the ledger keeps between two steps."""

    inbound: Inbound
    pass_no: int
    phase: str
    session_id: str
    receipts: tuple[Mapping[str, Json], ...] = ()
    requests: tuple[Mapping[str, Json], ...] = ()
    decisions: tuple[Mapping[str, Json], ...] = ()
    carried: tuple[Mapping[str, Json], ...] = ()
    asked: bool = False
    effects_failed: bool = False
    unattended: int = 0
    attempts: int = 0
    fault: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "sender": self.inbound.sender,
            "message": self.inbound.message,
            "session_id": self.session_id,
            "receipts": list(self.receipts),
            "requests": list(self.requests),
            "decisions": list(self.decisions),
            "carried": list(self.carried),
            "asked": self.asked,
            "effects_failed": self.effects_failed,
            "unattended": self.unattended,
            "attempts": self.attempts,
            "fault": self.fault,
        }

    @staticmethod
    def from_row(trigger_id: str, pass_no: int, phase: str, data: Mapping[str, Json]) -> Trigger:
        return Trigger(
            Inbound(trigger_id, data["sender"], data["message"]),
            pass_no,
            phase,
            data["session_id"],
            tuple(data["receipts"]),
            tuple(data["requests"]),
            tuple(data["decisions"]),
            tuple(data["carried"]),
            data["asked"],
            data["effects_failed"],
            data["unattended"],
            data["attempts"],
            data["fault"],
        )


@dataclass(slots=True)
class Passes:
    """The agent's side of the host. `say` is told, in one line, what an operator may want to know."""

    ctx: Context
    agent: Agent
    say: Callable[[str], None]
    limits: Limits = field(default_factory=Limits)
    failed: bool = False
    _running: Running | None = None
    _retry_at: float = 0.0
    _booted: bool = False
    _taken: Path | None = None

    def current(self) -> Trigger | None:
        """The trigger in hand, or None when the loop is idle."""
        row = self.ctx.ledger.passes.current(str(self.ctx.root))
        return None if row is None else Trigger.from_row(row.trigger_id, row.pass_no, row.phase, row.data)

    def phase(self) -> str:
        """One word for the fleet: what the loop does now."""
        trigger = self.current()
        if trigger is None:
            return "idle"
        return {"agent": "agent", "gate": "gate"}.get(trigger.phase, "acting")

    def step(self) -> bool:
        """Do the next thing, if there is one; returns whether anything was done."""
        trigger = self.current()
        if trigger is None:
            return self._begin()
        work = {
            "input": self._give_input,
            "agent": self._run_agent,
            "output": self._take_output,
            "insert": self._insert,
            "gate": self._wait,
            "settle": self._settle,
        }[trigger.phase]
        return work(trigger)

    @property
    def running(self) -> bool:
        """Whether a call of the agent is under way."""
        return self._running is not None

    def stop(self) -> None:
        """End a running agent and everything it started."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    # --- from nothing to an input -------------------------------------------------------------------------------

    def _begin(self) -> bool:
        ctx = self.ctx
        inbound = self._adopted() or self._queued() or self._answered()
        if inbound is None:
            return False
        if ctx.ledger.passes.get(str(ctx.root), inbound.trigger_id, 1) is not None:
            # The same id was a trigger before: its archive and receipts must not be overwritten.
            inbound = replace(inbound, trigger_id=f"{inbound.trigger_id[:100]}-{ctx.ids()}")
            if self._taken is not None:
                ctx.ledger.cursors.set(f"queued:{self._taken.name}", {"trigger_id": inbound.trigger_id})
        unapproved.rebase(ctx)
        self._save(Trigger(inbound, 1, "input", ctx.session_id))
        if self._taken is not None:
            remove_file(self._taken)
            self._taken = None
        self.say(f"trigger {inbound.trigger_id} from {inbound.sender}")
        return True

    def _adopted(self) -> Inbound | None:
        front = exchange.read_input(self.ctx.paths)
        return None if front is None else exchange.inbound_of(front, f"in-{self.ctx.ids()}")

    def _queued(self) -> Inbound | None:
        ctx = self.ctx
        while (path := exchange.next_queued(ctx.paths)) is not None:
            inbound = exchange.inbound_of(exchange.parse_file(path), path.stem[-128:])
            key = f"queued:{path.name}"
            taken = ctx.ledger.cursors.get(key)
            if taken is None:
                ctx.ledger.cursors.set(key, {"trigger_id": inbound.trigger_id})
                self._taken = path
                return inbound
            if ctx.ledger.passes.get(str(ctx.root), str(taken["trigger_id"]), 1) is None:
                self._taken = path
                return inbound
            # It was taken before a crash: the trigger it became is on record, only the file was left.
            remove_file(path)
        return None

    def _answered(self) -> Inbound | None:
        waiting = [row for row in self.ctx.ledger.messages.undelivered(str(self.ctx.root)) if row["kind"] == "answer"]
        if not waiting:
            return None
        return Inbound(
            f"answers-{waiting[0]['id']}", f"operator:{waiting[0]['operator']['name']}", "Answers to your questions."
        )

    # --- a pass -------------------------------------------------------------------------------------------------

    def _give_input(self, trigger: Trigger) -> bool:
        ctx = self.ctx
        waiting = [row for row in ctx.ledger.messages.undelivered(str(ctx.root)) if row["kind"] == "answer"]
        evidence = Evidence(
            [settle.with_excerpt(ctx, receipt) for receipt in trigger.receipts],
            trigger.decisions,
            [row["data"] for row in waiting],
        )
        entries = [("session_id", trigger.session_id), ("date", ctx.now())]
        if ctx.run_nonce:
            entries.append(("run_nonce", ctx.run_nonce))
        plain = trigger.pass_no == 1 and not waiting
        data = exchange.compose_input(trigger.inbound, trigger.pass_no, tuple(entries), None if plain else evidence)
        exchange.write_input(ctx.paths, data)
        for row in waiting:
            ctx.ledger.messages.delivered(row["id"], trigger.inbound.trigger_id)
        self._booted = True
        self._save(replace(trigger, phase="agent", receipts=(), requests=(), decisions=(), asked=False, fault=""))
        return True

    def _run_agent(self, trigger: Trigger) -> bool:
        if self._running is None:
            return self._start_agent(trigger)
        ended = self._running.poll()
        if ended is None:
            return False
        self._running = None
        unapproved.look(self.ctx, "while the agent ran")
        try:
            written = exchange.read_output(self.ctx.paths) is not None
        except WriteFailed as error:
            # A link, a pipe or a flood in its place is no output; it goes, so that the next call finds it free.
            remove_file(self.ctx.paths.output_md)
            return self._no_output(trigger, ended, f"left an output that cannot be used ({error})")
        if written:
            self._save(replace(trigger, phase="output", attempts=0))
            return True
        return self._no_output(trigger, ended, "wrote no output.md")

    def _start_agent(self, trigger: Trigger) -> bool:
        ctx = self.ctx
        if not self._booted:
            # After a restart: an output that is there was asked for by this input, and is finalized (§2.10).
            self._booted = True
            if exchange.read_output(ctx.paths) is not None:
                self._save(replace(trigger, phase="output"))
                return True
        if ctx.clock().timestamp() < self._retry_at or ctx.ledger.holds.is_held(str(ctx.root)):
            return False
        assert ctx.workspace is not None
        unapproved.look(ctx, "before the agent was called")
        self.say(f"pass {trigger.pass_no}: calling the agent")
        call = Call(
            ctx.root,
            ctx.workspace.root_dir.path,
            trigger.inbound.trigger_id,
            trigger.pass_no,
            trigger.session_id,
            ctx.agent,
            ctx.policy.agent_timeout_s,
        )
        self._running = self.agent.start(call)
        return True

    def _no_output(self, trigger: Trigger, ended: Ended, what: str) -> bool:
        how = "timed out" if ended.timed_out else f"ended with exit code {ended.exit_code}"
        if ended.signal is not None:
            how = f"was ended by signal {ended.signal}"
        attempts = trigger.attempts + 1
        words = ended.output.decode("utf-8", "replace").strip().splitlines()
        last = f": {words[-1][:200]}" if words else ""
        fault = self.ctx.redactor.redact(f"the agent {how} and {what}{last}").text
        if attempts >= self.ctx.policy.agent_attempts:
            self.say(f"{fault}; set aside after {attempts} attempts")
            self.failed = True
            self._finish(replace(trigger, attempts=attempts, fault=fault))
            return True
        pause = BACK_OFF_S[min(attempts - 1, len(BACK_OFF_S) - 1)]
        self._retry_at = self.ctx.clock().timestamp() + pause
        self.say(f"{fault}; again in {pause:.0f} s")
        self._save(replace(trigger, attempts=attempts, fault=fault))
        return True

    def _take_output(self, trigger: Trigger) -> bool:
        ctx, trigger_id, pass_no = self.ctx, trigger.inbound.trigger_id, trigger.pass_no
        ctx.refresh_policy()
        raw = exchange.read_output(ctx.paths)
        if raw is None:
            self._save(replace(trigger, phase="agent"))
            return True
        source = exchange.archive_pair(ctx.paths, trigger_id, pass_no, raw)
        output = parse_output(raw)
        manifest, receipts = self._manifest(trigger, output)
        asked = bool(manifest.ops or receipts)
        requests: tuple[Request, ...] = ()
        if manifest.observes:
            receipts += observe.run_observes(ctx, trigger_id, pass_no, manifest.observes, self.limits)
            receipts += [settle.skipped(ctx, op, pass_no, "observe_pass_requires_followup") for op in manifest.effects]
        elif not ctx.ledger.requests.of_pass(str(ctx.root), trigger_id, pass_no):
            gated = gate.make_requests(
                ctx, trigger_id, pass_no, manifest.effects, {"file": source["output"], "offset": 0}
            )
            requests, receipts = gated.requests, receipts + list(gated.receipts)
        carried = list(trigger.carried)
        if not settle.held(receipts):
            now = [op for op in output.coordination if op.key in coordination.ALWAYS]
            receipts += coordination.run(ctx, trigger_id, pass_no, now, output.body, last=False, effects_failed=False)
            carried += [settle.carry(op) for op in output.coordination if op.key not in coordination.ALWAYS]
        self._save(
            replace(
                trigger,
                phase="insert",
                receipts=tuple(receipt.as_json() for receipt in receipts),
                requests=tuple(request.as_json() for request in requests),
                carried=tuple(carried),
                asked=asked,
            )
        )
        return True

    def _manifest(self, trigger: Trigger, output: Output) -> tuple[Manifest, list[Receipt]]:
        """The ops of this output and the denials at the door; an output that answers something else is held whole."""
        ctx, pass_no, at = self.ctx, trigger.pass_no, self.ctx.now()
        if output.id != trigger.inbound.trigger_id:
            found = "no id" if output.id is None else f"id {output.id!r}"
            self.say(f"output held: it has {found}, the input is {trigger.inbound.trigger_id!r}")
            return Manifest(), [Receipt(str(pass_no), None, "manifest", "denied", "id_mismatch", at, at)]
        manifest = decode_ops(output.ops)
        receipts = [gate.denial_receipt(denial, pass_no, at) for denial in manifest.denials]
        receipts += [
            Receipt(str(pass_no), None, "manifest", "denied", f"{item.code}: {item.detail}", at, at)
            for item in output.diagnostics
            if item.code in ("coordination_malformed", "frontmatter_unclosed", "ops_repeated")
            or (item.code == "ops_in_body" and not manifest.ops)
        ]
        allowed, over = manifest.ops[: ctx.policy.max_ops], manifest.ops[ctx.policy.max_ops :]
        receipts += [Receipt(str(pass_no), op.op_id, op.kind, "denied", "budget_exceeded", at, at) for op in over]
        return Manifest(allowed, manifest.denials), receipts

    def _insert(self, trigger: Trigger) -> bool:
        ctx = self.ctx
        requests = [Request.from_json(value) for value in trigger.requests]
        if requests and not ctx.ledger.requests.of_pass(str(ctx.root), trigger.inbound.trigger_id, trigger.pass_no):
            ctx.ledger.requests.insert_pass(requests)
            for request in requests:
                self.say(f"asks: {request.title} ({request.tier or 'waiting'}) {request.request_id}")
        self._save(replace(trigger, phase="gate", requests=()))
        return True

    def _wait(self, trigger: Trigger) -> bool:
        ctx = self.ctx
        requests = ctx.ledger.requests.of_pass(str(ctx.root), trigger.inbound.trigger_id, trigger.pass_no)
        if any(request.state in gate.UNDECIDED for request in requests):
            return False
        if not settle.written_back(ctx, requests):
            return False
        self._save(replace(trigger, phase="settle"))
        return True

    def _settle(self, trigger: Trigger) -> bool:
        ctx, trigger_id, pass_no = self.ctx, trigger.inbound.trigger_id, trigger.pass_no
        if ctx.ledger.passes.get(str(ctx.root), trigger_id, pass_no + 1) is not None:
            self._save(replace(trigger, phase="finished"))
            return True
        requests = ctx.ledger.requests.of_pass(str(ctx.root), trigger_id, pass_no)
        known = {(receipt["op_id"], receipt["kind"]) for receipt in trigger.receipts}
        fresh = [receipt.as_json() for receipt in settle.receipts_of(ctx, requests, pass_no)]
        receipts = (*trigger.receipts, *(item for item in fresh if (item["op_id"], item["kind"]) not in known))
        failed = trigger.effects_failed or any(settle.is_failure(item) for item in receipts)
        trigger = replace(
            trigger,
            receipts=receipts,
            decisions=tuple(settle.decisions_of(ctx, requests)),
            effects_failed=failed,
            unattended=0 if requests else trigger.unattended + 1,
        )
        if trigger.asked and trigger.unattended < ctx.policy.max_passes:
            settle.write_receipts(ctx, trigger_id, pass_no, receipts)
            # The next pass is on record before this one is closed, so a crash in between loses neither.
            self._save(replace(trigger, phase="input", pass_no=pass_no + 1))
            self._save(replace(trigger, phase="finished"))
            return True
        if trigger.asked:
            self.say(f"stopped after {trigger.unattended} passes without a decision (max_passes_reached)")
        self._finish(self._last(trigger))
        return True

    def _last(self, trigger: Trigger) -> Trigger:
        ops: list[Coordination] = [settle.carried(value) for value in trigger.carried]
        ended = coordination.run(
            self.ctx,
            trigger.inbound.trigger_id,
            trigger.pass_no,
            ops,
            None,
            last=True,
            effects_failed=trigger.effects_failed,
        )
        receipts = (*trigger.receipts, *(receipt.as_json() for receipt in ended))
        return replace(trigger, receipts=receipts)

    def _finish(self, trigger: Trigger) -> None:
        settle.write_receipts(self.ctx, trigger.inbound.trigger_id, trigger.pass_no, trigger.receipts)
        settle.mark_finalized(self.ctx, trigger.inbound.trigger_id)
        exchange.clear(self.ctx.paths)
        self._save(replace(trigger, phase="finished"))
        self.say(f"trigger {trigger.inbound.trigger_id} ended after pass {trigger.pass_no}")

    def _save(self, trigger: Trigger) -> None:
        self.ctx.ledger.passes.put(
            str(self.ctx.root), trigger.inbound.trigger_id, trigger.pass_no, trigger.phase, trigger.as_json()
        )
