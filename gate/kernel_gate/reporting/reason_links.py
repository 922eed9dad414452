"""Where the page of reason codes explains a reason code: a link for an editor."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kernel_gate.reasons import Reason

_PAGE = "reason-codes.md"
_PLACES = (Path(__file__).with_name(_PAGE), Path(__file__).parents[3] / "docs" / _PAGE)
"""In an installed package, and in a checkout."""


def link_to(reason: Reason | str) -> str | None:
    """A `file:` link to the line of the code's section; None where the page is not installed or lacks the code."""
    sections = _sections()
    line = sections[1].get(str(reason)) if sections is not None else None
    return f"{sections[0]}#L{line}" if sections is not None and line is not None else None


@cache
def _sections() -> tuple[str, dict[str, int]] | None:
    """The page's address, and for each heading of a code its line."""
    for path in _PLACES:
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError:
            continue
        headings = {line[4:]: number for number, line in enumerate(lines, 1) if line.startswith("### ")}
        return path.as_uri(), headings
    return None
