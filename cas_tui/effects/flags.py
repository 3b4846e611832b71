"""The words `prepare` may put beside a request; policy makes tiers of them (PROTOCOL §5.4).

Words only: which flag leads to which tier is not decided here.
"""

from __future__ import annotations

from typing import Final

NEW_PATH: Final = "new path"
PROTECTED: Final = "protected path: runs later"
"""A file that some program will run or obey later (SAFETY G07)."""
DELETION: Final = "deletion"
REMOVES_FILES: Final = "removes files"
"""A stage or commit that records a deletion."""
MODE_CHANGE: Final = "mode change"
BINARY: Final = "binary"
OVERSIZE: Final = "oversize"
NOT_UTF8: Final = "not UTF-8"
BIDI: Final = "bidi"
INVISIBLE: Final = "invisible characters"
CONTROL: Final = "control characters"
NO_FINAL_NEWLINE: Final = "no final newline"
FILTER_NOT_RUN: Final = "filter not run"
"""The repository names a content filter for this path; we never run one (SAFETY J02)."""
SKIPPED: Final = "some changes left out"
"""A stage of everything that leaves changed files out, because they may not be touched."""
EMPTY_COMMIT: Final = "empty commit"
SUBMODULE: Final = "submodule"
RESTORE: Final = "restores an earlier version"

T3_FLAGS: Final = frozenset({PROTECTED, DELETION, BINARY, OVERSIZE})
"""Flags of the dangerous kind, for policy's convenience (PROTOCOL §5.4)."""
