"""What the parts of a stage took, so that its details say where the time went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Parts:
    """Seconds by the name of a part; a part that comes again is added."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What happens within is that part."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - started

    def seconds(self) -> dict[str, float]:
        """For a stage's details, under `seconds_of`."""
        return {name: round(value, 4) for name, value in self._seconds.items()}
