"""The three ways an op can end other than done, each with the reason a receipt carries (PROTOCOL §2.5).

This module knows no filesystem and no git; it only names outcomes.
"""

from __future__ import annotations

import errno
from typing import Final


class Refused(Exception):
    """The op was not done and nothing was changed.

    Attributes:
        reason: the word of PROTOCOL §2.5, as it goes into a receipt.
        detail: what exactly, in words for an operator; may name a path.
        status: the receipt status: `denied`, `error`, `skipped` or `contract_redirect`.
    """

    def __init__(self, reason: str, detail: str = "", *, status: str = "denied") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.status = status


class PreImageChanged(Refused):
    """The state is not the one the operator was shown (SAFETY E3); nothing was changed."""

    def __init__(self, detail: str) -> None:
        super().__init__("pre_image_changed", detail)


class Failed(Exception):
    """Something went wrong while acting.

    `partial` is True when a part of the effect may be in place; False when the workspace is as it was.
    """

    def __init__(self, reason: str, detail: str = "", *, partial: bool) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.partial = partial


_ESCAPES: Final = {errno.ELOOP, errno.EXDEV, errno.EAGAIN}


def refusal_of(error: OSError, rel: str, *, missing: str = "file_not_found") -> Refused:
    """An operating system error, before anything was changed, as a refusal with a reason."""
    if error.errno == errno.EEXIST:
        return PreImageChanged(f"{rel} appeared")
    if error.errno in _ESCAPES:
        return Refused("symlink_escape", rel)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Refused(missing, rel, status="error")
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return Refused("path_denied", f"{rel}: {error.strerror}")
    return Refused("io_error", f"{rel}: {error.strerror}", status="error")
