"""A time by which everything that is started inside must have ended, however deep it is started.

    with ends_within(60):
        draft_of(…)             # compilations, contained runs and launches inside ask `seconds_left`

A work that has several limits of its own, such as a compilation's, takes the nearest one. A stage of
the gate that it ends in the middle raises `TimeSpentError`. Where other work keeps the processors, `of_work` gives
back what that takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import ParamSpec, TypeVar

from kernel_gate.processor_seconds import processor_seconds

P = ParamSpec("P")
T = TypeVar("T")
_BY_THE_CLOCK = 4.0
"""Times the seconds of work that may pass by the clock."""


@dataclass(frozen=True, slots=True)
class _End:
    """When a work ends: by the clock; where it has seconds of work, when these are spent too, and at the latest."""

    clock: float = math.inf
    work: float | None = None
    latest: float = math.inf

    def left(self) -> float:
        now = time.monotonic()
        left = self.clock - now
        if self.work is not None:
            left = max(left, self.work - processor_seconds())
        return min(left, self.latest - now)


_NEVER = _End()
_END: ContextVar[_End] = ContextVar("end", default=_NEVER)


class TimeSpentError(Exception):
    """The deadline came in the middle of a work, which says nothing of what is worked on."""


@contextmanager
def ends_within(seconds: float, *, of_work: bool = False) -> Iterator[None]:
    """What runs inside has so many seconds, or what an outer deadline leaves of them.

    With `of_work`, and inside of such a deadline, it goes on where the clock says that they are over and processors
    have worked less for it, as they had other work; four times as long at most.
    """
    outer, now = _END.get(), time.monotonic()
    work, longest = outer.work, 1.0
    if of_work or work is not None:
        own = processor_seconds() + seconds
        work, longest = own if work is None else min(work, own), _BY_THE_CLOCK
    end = _End(min(outer.clock, now + seconds), work, min(outer.latest, now + longest * seconds))
    if of_work and outer.work is None:
        end = replace(end, latest=min(end.latest, outer.clock))
    token = _END.set(end)
    try:
        yield
    finally:
        _END.reset(token)


def seconds_left(most: float = math.inf) -> float:
    """The seconds until the nearest deadline, at most `most` and at least 0; `most` where there is no deadline."""
    return max(0.0, min(most, _END.get().left()))


class Threads(ThreadPoolExecutor):
    """Threads whose work has the deadline of who submits it; those of the standard library have none."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function by and by, under the deadline that holds now."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))
