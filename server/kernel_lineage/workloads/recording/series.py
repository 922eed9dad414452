"""One launch of a kernel at several sizes, and what of it follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from time import monotonic

from kernel_lineage.workloads.recording.build import RecordingError
from kernel_lineage.workloads.recording.fitting import expression, moving
from kernel_lineage.workloads.recording.launches import Launch

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Series:
    """The launches of one kernel that are the same but for sizes; the first one is at the base sizes."""

    sizes: Mapping[str, int]
    """As the code has them; those of the first sample may be smaller."""
    samples: tuple[tuple[Mapping[str, int], Launch], ...]
    way: str
    """The function that led to the launch."""
    given: bool = False
    """Whether the buffers that have a shape were made for the call: they say nothing of what the kernel needs."""
    shaped: frozenset[str] = frozenset()
    """Tensors that were made for the call, and whose extents the code checks or uses, each of them."""
    said: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    """Conditions over sizes without which the launch is another one, or none."""
    beside: tuple[Launch, ...] = ()
    """The kernel's other launches in the run at the base sizes."""
    ends: frozenset[str] = frozenset()
    """Sizes that the program comes to by the others: no run changes one of them alone."""

    @property
    def first(self) -> Launch:
        """The launch at the base sizes."""
        return self.samples[0][1]


@dataclass(slots=True)
class Fitted:
    """The expressions of a series' quantities over those of its sizes by which all of them are told."""

    series: Series
    steady: set[str] = field(default_factory=set)
    """Sizes that are left as they are: with them, something is no expression that is known."""
    used: dict[str, None] = field(default_factory=dict)
    end: float = field(default_factory=lambda: monotonic() + _SECONDS)

    @property
    def samples(self) -> list[tuple[Mapping[str, int], Launch]]:
        """Those in which the steady sizes are the base's."""
        base = self.series.samples[0][0]
        return [(d, run) for d, run in self.series.samples if all(d[n] == base[n] for n in self.steady)]

    def whole(self, quantity: Callable[[Launch], int | None]) -> str | None:
        """A whole number as an expression; where there is none, the sizes that it changes with become steady."""
        text = self.tried(quantity)
        if text is not None:
            return text
        values = [(d, value) for d, run in self.samples if (value := quantity(run)) is not None]
        if not values:
            return None
        more = set(moving(values, self.series.ends)) or {n for n in self.series.sizes if n not in self.steady}
        # One that stays may be enough: a number that sizes are divided by.
        for name in sorted(more, key=self.series.sizes.__getitem__) if len(more) > 1 else ():
            if Fitted(self.series, self.steady | {name}, end=self.end).tried(quantity) is not None:
                self.steady.add(name)
                return None
        # A grid that is shared out among blocks of a size is an expression where that size stays.
        of_blocks = {
            n
            for i in range(3)
            for n in moving([(d, run.block[i]) for d, run in self.samples], self.series.ends)
        }
        self.steady |= (more & of_blocks) - self.steady or more
        return None

    def tried(self, quantity: Callable[[Launch], int | None]) -> str | None:
        """A whole number as an expression, if it is one. Raises `RecordingError` when that takes too long."""
        if monotonic() > self.end:
            raise RecordingError(
                f"what {self.series.first.name} is launched with is too much to be told within {_SECONDS:g} s"
            )
        values = [(d, value) for d, run in self.samples if (value := quantity(run)) is not None]
        if not values or len(values) != len(self.samples):
            return None
        block = self.series.first.block
        likely = [c for c in (prod(block), *block, block[0] * 4, block[0] * 2) if c > 1]
        return expression(values, likely, self.series.ends)


def steadied(series: Series, quantities: list[Callable[[Launch], int | None]]) -> Fitted:
    """The fit of a series in which every quantity is an expression, with as many sizes left free as that allows."""
    fit = Fitted(series)
    while True:
        before = set(fit.steady)
        for quantity in quantities:
            fit.whole(quantity)
            if fit.steady != before:
                break
        if fit.steady == before:
            return fit
