"""Several calls within a moment as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_SECONDS = 0.2


class Soon:
    """Calls what it was made with, once, a moment after it was called."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._waits = False

    def __call__(self) -> None:
        """Within the event loop."""
        if not self._waits:
            self._waits = True
            asyncio.get_running_loop().call_later(_SECONDS, self._now)

    def _now(self) -> None:
        self._waits = False
        self._act()
