"""The runs of this window: what waits, runs and has ended, each with its verdict and the command that repeats it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

KEPT = 50
"""Runs that have ended; the oldest is forgotten."""


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    ACCEPTED = "accepted"
    RIGHT = "right"
    INCONCLUSIVE = "inconclusive"
    WRONG = "wrong"
    REJECTED = "rejected"
    REFUSED = "refused"
    UNCLEAR = "unclear"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Repeat:
    """The command that starts a run again."""

    command: str
    argument: dict[str, Any]


class Run:
    """One run. It is over when `end` was called or the block of `Runs.run` is left."""

    def __init__(
        self, number: int, title: str, repeat: Repeat | None, about: str, tell: Callable[[], None]
    ) -> None:
        self.id = f"run-{number}"
        self.title = title
        self.about = about
        self.repeat = repeat
        self.state = RunState.RUNNING
        self.message = "starting"
        """The stage, then the verdict in one line."""
        self.page = ""
        """Markdown: what came of it, at length; "" when there is none."""
        self.drawn = ""
        """The same as a page of HTML; "" when there is none."""
        self.started = time.time()
        self.ended: float | None = None
        self.stop: Callable[[], object] | None = None
        """Ends the run; None for one that cannot be."""
        self._tell = tell

    def stage(self, stage: str) -> None:
        """Say what it does now."""
        self.message = stage
        self._tell()

    def end(self, state: RunState, message: str, page: str = "", drawn: str = "") -> None:
        """Say what came of it."""
        self.state, self.message, self.page, self.drawn = state, message, page, drawn
        self.ended = time.time()
        self.stop = None
        self._tell()


class Runs:
    """Newest last."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._runs: dict[str, Run] = {}
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._runs.values()))

    def get(self, run: str) -> Run | None:
        """The run of that id, if it is still kept."""
        return self._runs.get(run)

    def ended_about(self, about: str) -> Run | None:
        """The last run about something, where it has ended."""
        return next((run for run in reversed(list(self)) if run.about == about and run.ended), None)

    @contextmanager
    def run(self, title: str, repeat: Repeat | None, about: str = "") -> Iterator[Run]:
        """A run for the time of a block. Those `about` the same that have ended make room for it; "" for none."""
        for other in self:
            if about and other.about == about and other.ended is not None:
                del self._runs[other.id]
        run = Run(next(self._numbers), title, repeat, about, self._changed)
        self._runs[run.id] = run
        self._changed()
        try:
            yield run
        except asyncio.CancelledError:
            run.end(RunState.CANCELLED, "cancelled")
            raise
        except Exception as error:
            run.end(RunState.FAILED, str(error))
            raise
        finally:
            if run.ended is None:
                run.end(RunState.CANCELLED, "cancelled")
            self._forget()

    def clear(self) -> None:
        """Forget what has ended."""
        for run in self:
            if run.ended is not None:
                del self._runs[run.id]
        self._changed()

    def _forget(self) -> None:
        over = [run.id for run in self if run.ended is not None]
        for old in over[:-KEPT]:
            del self._runs[old]
