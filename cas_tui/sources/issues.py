"""Surfaced issues: the markdown files of `state/mca/` (PROTOCOL §2.7), each read again only when it changed."""

from __future__ import annotations

from typing import Final

from cas_tui.protocol.events import Event, FileStatus, IssueFile, IssuesRead
from cas_tui.protocol.output import parse_frontmatter
from cas_tui.sources.folder import Fault, Folder, Signature

DIRECTORY: Final = "state/mca"
MAX_ISSUES: Final = 500
MAX_ISSUE_BYTES: Final = 64 << 10


class Issues:
    """All issue files of one root. More than `MAX_ISSUES`, or what cannot be read, is said as a file status."""

    def __init__(self, folder: Folder, *, root: str) -> None:
        self.bytes_read = 0
        self._folder = folder
        self._root = root
        self._known: dict[str, tuple[Signature, IssueFile]] = {}
        self._said: dict[str, tuple[str, str]] = {}
        self._first = True

    def look(self) -> tuple[Event, ...]:
        """The issues as they stand, when any changed; and statuses that changed."""
        listed = self._folder.names(DIRECTORY, ".md", MAX_ISSUES)
        if isinstance(listed, Fault):
            if listed.status != "missing":
                # What was known stays known: a directory that cannot be listed now does not settle its issues.
                return self._say(DIRECTORY, listed.status, listed.detail)
            listed = ([], 0)
        names, more = listed
        detail = f"{more} more files than the {MAX_ISSUES} shown" if more else ""
        events = list(self._say(DIRECTORY, "live", detail))
        changed = self._first or len(names) != len(self._known)
        self._first = False
        known: dict[str, tuple[Signature, IssueFile]] = {}
        for name, found in names:
            old = self._known.get(name)
            if old is not None and old[0] == found:
                known[name] = old
                continue
            read = self._folder.read(f"{DIRECTORY}/{name}", MAX_ISSUE_BYTES + 1)
            if isinstance(read, Fault):
                if read.status == "missing":
                    changed = changed or old is not None
                    continue
                events += self._say(f"{DIRECTORY}/{name}", read.status, read.detail)
                issue = old[1] if old else IssueFile(name, (), "")
                # A signature that no file has: this one is tried again at every look.
                known[name] = ((0, 0, 0, 0, 0), issue)
                changed = changed or old is None
                continue
            events += self._say(f"{DIRECTORY}/{name}", "live", _cut_note(read[0]))
            issue = self._parse(name, read[0])
            changed = changed or old is None or old[1] != issue
            known[name] = (found, issue)
        changed = changed or known.keys() != self._known.keys()
        self._known = known
        self._said = {file: said for file, said in self._said.items() if file == DIRECTORY or _name(file) in known}
        if changed:
            events.append(IssuesRead(self._root, tuple(issue for _, issue in known.values())))
        return tuple(events)

    def _parse(self, name: str, data: bytes) -> IssueFile:
        self.bytes_read += len(data)
        # Bytes that are not UTF-8 stay recognisable as such; the display makes them visible (A04).
        front = parse_frontmatter(data[:MAX_ISSUE_BYTES].decode("utf-8", "surrogateescape"))
        return IssueFile(name, front.entries, front.body or "")

    def _say(self, file: str, status: str, detail: str) -> tuple[Event, ...]:
        # Nothing is said about what was never in trouble.
        if self._said.get(file, ("live", "")) == (status, detail):
            return ()
        self._said[file] = (status, detail)
        return (FileStatus(self._root, file, status, detail),)


def _cut_note(data: bytes) -> str:
    return f"only the first {MAX_ISSUE_BYTES} bytes are shown" if len(data) > MAX_ISSUE_BYTES else ""


def _name(file: str) -> str:
    return file.removeprefix(f"{DIRECTORY}/")
