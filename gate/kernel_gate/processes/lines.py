"""The lines that a process of somebody else writes, as fast as they are taken: it cannot fill our memory with them."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import IO

from kernel_gate.processes.python import ANSWER_BYTES

_WAITING = 2
"""Lines that are read before they are asked for; a longer one than an answer may be is cut into several."""
_POLL_SECONDS = 0.2


class Lines:
    """Reads a stream in a thread of its own."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._closed = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self, seconds: float) -> bytes | None:
        """The next line; None at the end. Raises `queue.Empty` when none came within some seconds."""
        return self._lines.get(timeout=seconds)

    def close(self) -> None:
        """Take no more."""
        self._closed.set()

    def _read(self) -> None:
        with suppress(ValueError, OSError):  # the stream was closed
            while line := self._stream.readline(ANSWER_BYTES):
                if not self._put(line):
                    return
        self._put(None)

    def _put(self, line: bytes | None) -> bool:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._lines.put(line, timeout=_POLL_SECONDS)
                return True
        return False
