"""How busy the machine is on which checks run."""

from __future__ import annotations

import os

_MOST = 4.0
"""A check waits no longer than so many times its seconds."""


def crowding() -> float:
    """How many times as long as on a quiet machine work takes here now: tasks that want a processor, for each.

    The seconds of a check are what it may cost, and on a busy machine it costs no more for taking longer.
    """
    try:
        wanting = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows counts none
        return 1.0
    return min(max(wanting / (os.cpu_count() or 1), 1.0), _MOST)
