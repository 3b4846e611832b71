"""The palette offers the names of the command table and nothing from data (SAFETY T2)."""

from __future__ import annotations

from textual.command import DiscoveryHit, Hit, Hits, Provider

from cas_tui.console import content
from cas_tui.console.commands import Command, named


class Commands(Provider):
    """Every command that has a name."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for command in named():
            yield DiscoveryHit(self._words(command), self._run(command), help=command.help)

    async def search(self, query: str) -> Hits:
        """Those that match what was typed."""
        matcher = self.matcher(query)
        for command in named():
            words = self._words(command)
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, content.plain(words), self._run(command), help=command.help)

    @staticmethod
    def _words(command: Command) -> str:
        return f"{command.name}  ({command.shown})" if command.shown else command.name

    def _run(self, command: Command):  # type: ignore[no-untyped-def]
        async def run() -> None:
            await self.app.run_command(command)  # type: ignore[attr-defined]

        return run
