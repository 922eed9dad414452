"""Questions that nobody waits for any more: Z3 is interrupted at the one that it is at, and is asked no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_LOOK_SECONDS = 0.05
_STOP: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


class StoppedError(Exception):
    """A question was stopped, which says nothing of what it asks."""


@contextmanager
def asked_until(stop: Callable[[], bool]) -> Iterator[None]:
    """Every question inside raises `StoppedError` soon after `stop()` is true. It is called from another thread."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


@contextmanager
def interruptible(context: Any) -> Iterator[None]:
    """What Z3 does inside, in one of its contexts, ends when it is to be stopped. Raises `StoppedError`."""
    stop = _STOP.get()
    if stop is None:
        yield
        return
    if stop():
        raise StoppedError
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            if stop():
                context.interrupt()  # again, as it goes by where Z3 has not begun

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    if stop():
        raise StoppedError
