"""What an approval is bound to: the digest recipe of PROTOCOL §5.4, and file hashes.

The recipe is a contract with everything outside this program that names a digest; its golden vectors are tests.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping, Sequence

from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import canonical

PATH_FIELDS = ("path", "base")
"""Op fields that hold one path; `paths` holds several. They are normalised before hashing."""


def sha256(data: bytes) -> str:
    """`sha256:` and the hex digest of `data`, the form used everywhere in the files."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def normalise_path(path: str) -> str:
    """A path as it enters the digest: `.` and `..` collapsed, no trailing slash; never made absolute."""
    return posixpath.normpath(path) if path else "."


def request_digest(
    *,
    root: str,
    trigger_id: str,
    op_id: str,
    kind: str,
    fields: Mapping[str, Json],
    cwd: str,
    env_names: Sequence[str],
    pre_image: Mapping[str, Json],
) -> str:
    """The digest an operator approves (E2).

    SHA-256 over the compact, key-sorted JSON of {root, trigger_id, op_id, kind, fields, cwd, env, pre_image}; paths in
    `fields` normalised, env names sorted. `note`, `predict` and `action_id` are not among the fields: prose about an
    act does not change the act.
    """
    return sha256(
        canonical(
            {
                "root": root,
                "trigger_id": trigger_id,
                "op_id": op_id,
                "kind": kind,
                "fields": normalised_fields(fields),
                "cwd": cwd,
                "env_names": sorted(env_names),
                "pre_image": dict(pre_image),
            }
        )
    )


def normalised_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The op's own fields with every path collapsed, in a new dict."""
    result = dict(fields)
    for name in PATH_FIELDS:
        if isinstance(result.get(name), str):
            result[name] = normalise_path(result[name])
    if isinstance(result.get("paths"), list):
        result["paths"] = [normalise_path(item) if isinstance(item, str) else item for item in result["paths"]]
    return result
