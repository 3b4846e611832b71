"""Policy: what may be asked at all, and how much friction an approval carries (PROTOCOL §5.4, SAFETY E6, E9).

Read from the runtime zone's `policy.toml` only; nothing in the agent zone can raise or enable anything. Evaluated when
a request is made and again just before its effect starts, with the version of both recorded.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from cas_tui.effects.flags import T3_FLAGS
from cas_tui.protocol.requests import Tier

DEFAULT_VERSION = "default"


class PolicyError(ValueError):
    """policy.toml cannot be used; the message is one clear line."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of `policy.toml`; each key has this name there.

    Attributes:
        denied_kinds: op kinds that are refused at the door (`policy_rejected`).
        max_passes: passes in a row without an operator's decision before a trigger ends.
        max_ops: typed ops in one output.
        agent_timeout_s: how long one call of the agent may take.
        agent_attempts: calls in a row that may fail before the input is set aside.
        t3_expires_s: after how many seconds a T3 request expires; other tiers wait without end. 0 is never.
        raw_limit_bytes: how much of the tail of an effect's output is kept in raw/.
        ask_unpredicted: whether an op without a prediction is asked for at all (as T3), or denied.
    """

    denied_kinds: tuple[str, ...] = ("exec", "obligation_register")
    max_passes: int = 5
    max_ops: int = 32
    agent_timeout_s: float = 1800.0
    agent_attempts: int = 3
    t3_expires_s: float = 1800.0
    raw_limit_bytes: int = 81920
    ask_unpredicted: bool = True
    version: str = field(default=DEFAULT_VERSION, compare=False)


def load_policy(path: Path) -> Policy:
    """The policy at `path`, or the default one where there is no file.

    Raises:
        PolicyError: unreadable, not TOML, an unknown key, or a value of the wrong type: nothing may be decided then.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Policy()
    except OSError as error:
        raise PolicyError(f"{path}: {error.strerror}") from None
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: {error}") from None
    known = {item.name: item.default for item in fields(Policy) if item.name != "version"}
    chosen: dict[str, object] = {}
    for name, value in values.items():
        if name not in known:
            raise PolicyError(f"{path}: unknown key {name}")
        chosen[name] = _checked(path, name, value, known[name])
    return Policy(**chosen, version="sha256:" + hashlib.sha256(data).hexdigest()[:16])  # type: ignore[arg-type]


def _checked(path: Path, name: str, value: object, default: object) -> object:
    if isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            # exec has no sandbox to run in yet, so no file can enable it.
            return tuple(dict.fromkeys([*value, *default]))
    elif isinstance(default, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(default, int | float) and isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0:
            raise PolicyError(f"{path}: {name} is below 0")
        return type(default)(value)
    raise PolicyError(f"{path}: {name} has the wrong type")


@dataclass(frozen=True, slots=True)
class Grading:
    """What a tier is decided from: facts computed by us about one effect, none of them in the agent's words."""

    op_kind: str
    predicted: bool
    reversible: bool
    flags: Sequence[str] = ()
    lessons_ignored: int = 0


T1_KINDS = frozenset({"fs_write", "fs_patch", "git_stage"})


def grade(facts: Grading) -> tuple[Tier, tuple[str, ...]]:
    """The tier of an effect and the reasons for it, in words of ours (PROTOCOL §5.4)."""
    grave = [flag for flag in facts.flags if flag in T3_FLAGS]
    if facts.op_kind == "exec":
        return Tier.T3, ("runs a program",)
    if not facts.predicted:
        return Tier.T3, ("UNPREDICTED: the agent said nothing about this act", *facts.flags)
    if grave:
        return Tier.T3, tuple(dict.fromkeys([*grave, *facts.flags]))
    reasons = list(facts.flags)
    if facts.lessons_ignored:
        reasons.append("a lesson waits and the prediction does not cite it")
    if facts.op_kind not in T1_KINDS:
        reasons.append("harder to undo")
    if not facts.reversible and facts.op_kind in T1_KINDS:
        reasons.append("cannot be put back")
    if reasons:
        return Tier.T2, (*reasons, "predicted")
    place = "in the index" if facts.op_kind == "git_stage" else "inside the workspace"
    return Tier.T1, ("reversible", place, "predicted")
