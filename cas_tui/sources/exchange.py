"""The small files between host and agent: which input waits, whether an output does, the queue, the nonce.

PROTOCOL §2.1, §2.3. Only looks: it never consumes an output and decides nothing.
"""

from __future__ import annotations

import re
from typing import Final

from cas_tui.protocol.events import LoopFiles
from cas_tui.protocol.output import parse_frontmatter
from cas_tui.sources.folder import Fault, Folder, Signature, signature

INPUT: Final = "state/input.md"
OUTPUT: Final = "state/output.md"
QUEUE: Final = "state/queue"
NONCE_FILES: Final = ("run_nonce.txt", "STATE/run_nonce.txt")
MAX_QUEUE: Final = 1000
_INPUT_BYTES: Final = 64 << 10
_NONCE_BYTES: Final = 4096
_RECEIPTS_HEADING: Final = re.compile(r"^## Pass (\d{1,6}) Receipts\s*$", re.MULTILINE)


class Exchange:
    """The exchange of one root. `look` returns an event when anything about it changed."""

    def __init__(self, folder: Folder, *, root: str) -> None:
        self.bytes_read = 0
        self._folder = folder
        self._root = root
        self._last: LoopFiles | None = None
        self._input: tuple[Signature, str | None, int | None] | None = None
        self._nonce: tuple[str, Signature, str] | None = None

    def look(self) -> LoopFiles | None:
        """How the exchange stands, if that is new."""
        input_id, input_pass = self._read_input()
        queue = self._folder.names(QUEUE, ".md", MAX_QUEUE)
        now = LoopFiles(
            root=self._root,
            input_id=input_id,
            input_pass=input_pass,
            output_present=not isinstance(self._folder.stat(OUTPUT), Fault),
            queue=() if isinstance(queue, Fault) else tuple(name for name, _ in queue[0]),
            nonce_file=self._read_nonce(),
        )
        if now == self._last:
            return None
        self._last = now
        return now

    def _read_input(self) -> tuple[str | None, int | None]:
        found = self._folder.stat(INPUT)
        if isinstance(found, Fault):
            self._input = None
            return None, None
        if self._input is None or self._input[0] != signature(found):
            read = self._folder.read(INPUT, _INPUT_BYTES)
            if isinstance(read, Fault):
                self._input = None
                return None, None
            self.bytes_read += len(read[0])
            self._input = (read[1], *_id_and_pass(read[0].decode("utf-8", "surrogateescape")))
        return self._input[1], self._input[2]

    def _read_nonce(self) -> str | None:
        for file in NONCE_FILES:
            found = self._folder.stat(file)
            if isinstance(found, Fault):
                continue
            if self._nonce is None or self._nonce[:2] != (file, signature(found)):
                read = self._folder.read(file, _NONCE_BYTES)
                if isinstance(read, Fault):
                    continue
                self.bytes_read += len(read[0])
                self._nonce = (file, read[1], read[0].decode("utf-8", "surrogateescape").strip())
            return self._nonce[2] or None
        self._nonce = None
        return None


def _id_and_pass(text: str) -> tuple[str | None, int | None]:
    """The id of an input, and its pass: its own word for it, else one more than the newest pass it has receipts of."""
    front = parse_frontmatter(text)
    own = front.first("pass")
    if own is not None and own.isascii() and own.isdigit() and len(own) <= 6:
        return front.first("id"), int(own)
    passes = [int(number) for number in _RECEIPTS_HEADING.findall(front.body or "")]
    if passes:
        return front.first("id"), max(passes) + 1
    return front.first("id"), 1 if front.first("id") else None
