"""A time by which everything that is started inside must have ended, however deep it is started.

    with ends_within(60):
        draft_of(…)             # compilations, contained runs and launches inside ask `seconds_left`

A work that has several limits of its own, such as a compilation's, takes the nearest one. A stage of
the gate that it ends in the middle raises `TimeSpentError`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_END: ContextVar[float] = ContextVar("end", default=math.inf)


class TimeSpentError(Exception):
    """The deadline came in the middle of a work, which says nothing of what is worked on."""


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """What runs inside has so many seconds, or what an outer deadline leaves of them."""
    token = _END.set(min(_END.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _END.reset(token)


def seconds_left(most: float = math.inf) -> float:
    """The seconds until the nearest deadline, at most `most` and at least 0; `most` where there is no deadline."""
    return max(0.0, min(most, _END.get() - time.monotonic()))


class Threads(ThreadPoolExecutor):
    """Threads whose work has the deadline of who submits it; those of the standard library have none."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function by and by, under the deadline that holds now."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))
