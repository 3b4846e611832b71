"""Typed ops: what an agent may ask for in the `ops:` line, decoded strictly (PROTOCOL §2.5, §5.4).

Reading an op is a yes or a denial with the reason named; nothing is guessed, and an unknown member denies the op
(`unknown_field`), because an op is a request to act (SAFETY E6). One bad op does not spoil the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cas_tui.protocol.decode import Json, StrictError, brackets_of, decode_strict

SAFE_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
"""What an op_id or a trigger id may be, since it becomes part of a file name (PROTOCOL §2.12)."""


class OpClass(StrEnum):
    """Whether an op only looks (`observe`) or changes something (`effect`)."""

    OBSERVE = "observe"
    EFFECT = "effect"


@dataclass(frozen=True, slots=True)
class Predict:
    """What an op says will happen: the material of its Phase 4 prediction."""

    expected_observation: str
    confidence: float
    expected_failure_modes: tuple[str, ...] = ()
    falsifier: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """One valid op. `fields` holds the kind's own members, exactly as sent; `ordinal` its place in the manifest."""

    kind: str
    op_class: OpClass
    op_id: str
    ordinal: int
    fields: Mapping[str, Json]
    note: str = ""
    predict: Predict | None = None
    action_id: str | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """One element that will not run: its kind and op_id as far as they could be read, and the reason."""

    kind: str
    op_id: str | None
    reason: str
    ordinal: int
    op_class: OpClass | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The `ops:` line of one output: what may go on to policy, and what was denied at the door."""

    ops: tuple[Op, ...] = ()
    denials: tuple[Denial, ...] = ()

    @property
    def observes(self) -> tuple[Op, ...]:
        return tuple(op for op in self.ops if op.op_class is OpClass.OBSERVE)

    @property
    def effects(self) -> tuple[Op, ...]:
        return tuple(op for op in self.ops if op.op_class is OpClass.EFFECT)


Check = Callable[[Json], str | None]


def _text(value: Json) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _name(value: Json) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a string that is not empty"


def _natural(value: Json) -> str | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return None if ok else "must be a whole number, 0 or more"


def _positive(value: Json) -> str | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if ok else "must be a whole number above 0"


def _flag(value: Json) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _strings(value: Json) -> str | None:
    ok = isinstance(value, list) and value and all(isinstance(item, str) and item for item in value)
    return None if ok else "must be a list of strings"


def _object(value: Json) -> str | None:
    return None if isinstance(value, dict) else "must be an object"


@dataclass(frozen=True, slots=True)
class KindSpec:
    """One op kind: its class and its members, each with the check of its value."""

    op_class: OpClass
    required: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)


KINDS: Final[dict[str, KindSpec]] = {
    "fs_read": KindSpec(OpClass.OBSERVE, {"path": _text}, {"offset": _natural, "limit": _positive}),
    "fs_list": KindSpec(OpClass.OBSERVE, {"path": _text}),
    "fs_glob": KindSpec(OpClass.OBSERVE, {"pattern": _name}, {"base": _text}),
    "git_status": KindSpec(OpClass.OBSERVE),
    "git_diff": KindSpec(OpClass.OBSERVE, {}, {"rev": _name}),
    "git_log": KindSpec(OpClass.OBSERVE, {}, {"rev": _name, "max": _positive}),
    "git_grep": KindSpec(OpClass.OBSERVE, {"query": _name}, {"path": _text}),
    "fs_write": KindSpec(OpClass.EFFECT, {"path": _text, "content": _text}),
    "fs_patch": KindSpec(OpClass.EFFECT, {"path": _text, "unified_diff": _text}),
    "git_branch": KindSpec(OpClass.EFFECT, {"name": _name}),
    "git_stage": KindSpec(OpClass.EFFECT, {}, {"paths": _strings}),
    "git_commit": KindSpec(OpClass.EFFECT, {"message": _name}, {"allow_empty": _flag}),
    "exec": KindSpec(OpClass.EFFECT, {"argv": _strings}, {"stdin": _text}),
    "obligation_register": KindSpec(OpClass.EFFECT, {"obligation": _object}),
}
"""Every kind this protocol knows. Whether a host runs it is policy, not grammar."""

_MOST_NAME: Final = 80
"""Characters of an unknown member's name repeated in a reason."""

RESERVED: Final = frozenset({"kind", "op_id", "phase", "note", "predict", "action_id"})


def decode_ops(raw: str | None) -> Manifest:
    """The value of the `ops:` line as ops and denials, in manifest order. Never raises.

    A manifest that is not a JSON array yields one denial of kind `manifest` (PROTOCOL §2.5).
    """
    if raw is None:
        return Manifest()
    try:
        value = decode_strict(raw)
    except StrictError as error:
        return Manifest((), (Denial("manifest", None, _manifest_fault(raw.strip(), error), 0),))
    if not isinstance(value, list):
        return Manifest((), (Denial("manifest", None, "ops_not_array", 0),))
    ops: list[Op] = []
    denials: list[Denial] = []
    seen: set[str] = set()
    observes = 0
    for ordinal, element in enumerate(value):
        op = _decode_op(element, ordinal, observes)
        if isinstance(op, Op) and op.op_id in seen:
            op = Denial(op.kind, op.op_id, "duplicate_op_id", ordinal, op.op_class)
        if isinstance(op, Denial):
            denials.append(op)
            observes += op.op_class is OpClass.OBSERVE
            continue
        seen.add(op.op_id)
        observes += op.op_class is OpClass.OBSERVE
        ops.append(op)
    return Manifest(tuple(ops), tuple(denials))


def _manifest_fault(raw: str, error: StrictError) -> str:
    """Why a manifest is not JSON: cut off at the line's end (or begun on the next line), an object, or just not."""
    if raw in ("", "|", "|-", "|+", ">", ">-", ">+"):
        return "ops_not_single_line"
    if raw.startswith("{"):
        return "ops_not_array"
    if raw.startswith("[") and brackets_of(raw.encode("utf-8", "replace"))[1] > 0 and str(error) != "lone surrogate":
        return "ops_not_single_line"
    return f"parse_error: {error}"


def _decode_op(element: Json, ordinal: int, observes: int) -> Op | Denial:
    if not isinstance(element, dict):
        return Denial("unknown", None, "op_not_object", ordinal)
    op_id = element.get("op_id")
    shown_id = op_id if isinstance(op_id, str) else None
    kind = element.get("kind")
    if not isinstance(kind, str) or not kind:
        return Denial("unknown", shown_id, "missing_kind", ordinal)
    spec = KINDS.get(kind)
    if spec is None:
        return Denial(kind, shown_id, "unknown_op_kind", ordinal)

    def deny(reason: str) -> Denial:
        return Denial(kind, shown_id, reason, ordinal, spec.op_class)

    if "phase" in element:
        if element["phase"] not in ("observe", "effect"):
            return deny("invalid_phase")
        if element["phase"] != spec.op_class:
            return deny("phase_mismatch")
    if op_id is None:
        if spec.op_class is OpClass.EFFECT:
            return deny("missing_op_id")
        op_id = f"obs-{observes + 1:02d}"
    if not isinstance(op_id, str) or not SAFE_NAME.match(op_id) or op_id in (".", ".."):
        return deny("invalid_op_id")
    fields = {name: item for name, item in element.items() if name not in RESERVED}
    for name in fields:
        if name not in spec.required and name not in spec.optional:
            return deny(f"unknown_field: {name[:_MOST_NAME]}")
    for name, check in spec.required.items():
        if name not in fields:
            return deny(f"missing required field '{name}'")
        if fault := check(fields[name]):
            return deny(f"invalid_field: {name} {fault}")
    for name, check in spec.optional.items():
        if name in fields and (fault := check(fields[name])):
            return deny(f"invalid_field: {name} {fault}")
    note = element.get("note", "")
    if not isinstance(note, str):
        return deny("invalid_field: note must be a string")
    action_id = element.get("action_id")
    if action_id is not None and (not isinstance(action_id, str) or not action_id):
        return deny("invalid_field: action_id must be a string that is not empty")
    predict: Predict | None = None
    if "predict" in element:
        found = _predict(element["predict"])
        if isinstance(found, str):
            return deny(f"invalid_field: predict {found}")
        predict = found
    if predict is not None and action_id is not None:
        return deny("invalid_field: predict and action_id together")
    return Op(kind, spec.op_class, op_id, ordinal, fields, note, predict, action_id)


def _predict(value: Json) -> Predict | str:
    if not isinstance(value, dict):
        return "must be an object"
    for name in value:
        if name not in ("expected_observation", "confidence", "expected_failure_modes", "falsifier"):
            return f"has an unknown member {name[:_MOST_NAME]}"
    expected = value.get("expected_observation")
    if not isinstance(expected, str) or not expected.strip():
        return "needs expected_observation, a string that is not empty"
    confidence = value.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return "needs confidence, a number from 0 to 1"
    modes = value.get("expected_failure_modes", [])
    if not isinstance(modes, list) or not all(isinstance(mode, str) for mode in modes):
        return "expected_failure_modes must be a list of strings"
    falsifier = value.get("falsifier", "")
    if not isinstance(falsifier, str):
        return "falsifier must be a string"
    return Predict(expected, float(confidence), tuple(modes), falsifier)
