"""Consoles that draw colours, tables and bars: the drawing is ours, of each text nothing is left but its words."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from kernel_gate.cleaning import cleaned, uncleaned


class _CleanConsole(Console):
    """Cleans the text of every segment that is drawn."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=cleaned(segment.text, "terminal"))


def console(*, err: bool = False, markup: bool = False) -> Console:
    """A console on stdout or stderr. `[bold]` is markup only where all that is printed is ours or escaped."""
    stream = uncleaned(sys.stderr if err else sys.stdout)
    return _CleanConsole(file=stream, markup=markup, emoji=False, highlight=False)
