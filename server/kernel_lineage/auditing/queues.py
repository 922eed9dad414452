"""`torch.cuda`'s streams, events and graphs where all work runs in the order in which it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_lineage.auditing.tensors import NotEvaluableError, Tensor

Step = Callable[[], None]


class Recorder:
    """What is asked for while a graph is captured: each step can be done again, into the tensors that it gave first."""

    def __init__(self) -> None:
        self.steps: list[Step] | None = None
        """The steps of the graph that is captured; None while none is."""

    def repeatable(self, make: Callable[[], Any]) -> Any:
        """What `make` gives. A replay makes it again."""
        steps, self.steps = self.steps, None
        try:
            made = make()
        finally:
            self.steps = steps
        if steps is not None:
            steps.append(lambda: _copy(made, make()))
        return made


def _copy(first: Any, again: Any) -> None:
    if isinstance(first, Tensor):
        if first is not again and first.values.flags.writeable:
            first.values[...] = again.values
    elif isinstance(first, list | tuple):
        for one, other in zip(first, again, strict=True):
            _copy(one, other)


class Stream:
    """A stream: there is one order of all work."""

    cuda_stream = 0

    def __init__(self, *_args: object, **_options: object) -> None:
        """There is one device."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_error: object) -> None:
        """Work goes on in the same order."""

    def synchronize(self, *_other: object) -> None:
        """All work is done."""

    wait_stream = wait_event = synchronize

    def query(self) -> bool:
        """All work is done."""
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """An event at this point."""
        return event or Event()


class Event(Stream):
    """An event: what was asked for before it is done."""

    def record(self, *_stream: object) -> None:
        """The event happens."""

    wait = record

    def elapsed_time(self, _end: Event) -> float:
        """Nothing is timed. Raises `NotEvaluableError`."""
        raise NotEvaluableError("a time between torch.cuda.Events, which needs a GPU")


class Graph:
    """`torch.cuda.CUDAGraph`: its launches run when it is replayed, and not while it is captured."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def begin(self, recorder: Recorder) -> None:
        """Take what `recorder` is asked for from now on."""
        self._steps = recorder.steps = []

    def replay(self) -> None:
        """Do all steps again."""
        for step in self._steps:
            step()

    def reset(self) -> None:
        """Forget the steps."""
        self._steps = []

    def pool(self) -> None:
        """Memory is not shared between graphs."""


class Capture:
    """`with torch.cuda.graph(…)`."""

    def __init__(self, recorder: Recorder, graph: Graph, *_args: object, **_options: object) -> None:
        self._recorder, self._graph = recorder, graph

    def __enter__(self) -> None:
        self._graph.begin(self._recorder)

    def __exit__(self, *_error: object) -> None:
        self._recorder.steps = None
