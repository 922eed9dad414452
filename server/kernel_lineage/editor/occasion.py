"""What leads to a check, and so what is asked in it."""

from __future__ import annotations

from enum import Enum, auto


class Occasion(Enum):
    """Why a document is looked at by itself."""

    SHOWN = auto()
    """It was opened or saved, or a kernel that was not reached came into view."""
    TYPED = auto()
    """The typing has paused: only the cases are run."""
    RESTED = auto()
    """Nothing was typed since that check: only the source is asked."""
