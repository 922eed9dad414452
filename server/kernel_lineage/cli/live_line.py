"""A line of progress on a terminal that is written over by the next."""

from __future__ import annotations

import sys

from kernel_gate.cleaning import cleaned, uncleaned

_START_OF_LINE = "\r\x1b[K"


def show_line(text: str, width: int = 100) -> None:
    """Write over the last line of stderr, when that is a terminal; "" leaves it empty."""
    if sys.stderr.isatty():
        stream = uncleaned(sys.stderr)
        stream.write(_START_OF_LINE + cleaned(text, "terminal", lines=False)[:width])
        stream.flush()
