"""What is launched, in which order, and what a launch tells.

Each program is loaded twice, and a block holds each of the four once: A B B A or B A A B. Baseline against candidate
and one copy against the other are then two contrasts of the same four samples that do not depend on each other: what
the copies differ by is what identical code differs by here (a 2² factorial design, a block's drift taken out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kernel_gate.reasons import Reason
from kernel_gate.timing.intervals import Floats, midmean

BASELINE, CANDIDATE = 0, 1
PROGRAMS = ("baseline", "candidate")


@dataclass(frozen=True, slots=True)
class Launch:
    """One timed launch."""

    program: int
    """`BASELINE` or `CANDIDATE`."""
    copy: int
    """Which of the two loaded copies."""
    buffers: int
    """Which set of buffers."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one timed launch told."""

    micros: float
    sm_mhz: float | None
    """The SM clock beside it; None when nothing tells."""


class LaunchFailed(Exception):  # noqa: N818
    """A timed launch that failed or did not end; one is in flight at a time, so it is known whose."""

    def __init__(self, program: int, code: Reason, why: str) -> None:
        super().__init__(why)
        self.program, self.code = program, code


class Sampler(Protocol):
    """Times launches one after the other."""

    buffer_sets: int
    """How many sets of buffers the launches can take turns on."""

    def time(self, launch: Launch) -> Sample:
        """Time one launch. Raises `LaunchFailed`."""

    def state(self) -> dict[str, float]:
        """What the device says of itself now: temperature, power, throttle reasons; empty when nothing tells."""


def draw_block(generator: np.random.Generator, buffer_sets: int) -> tuple[Launch, ...]:
    """The four launches of one block in a drawn order, all on the same drawn buffers."""
    buffers = int(generator.integers(buffer_sets))
    outer = int(generator.integers(2))
    copies = generator.integers(2, size=2)
    programs = (outer, 1 - outer, 1 - outer, outer)
    return tuple(
        Launch(program, int(copies[program]) ^ int(position >= 2), buffers)
        for position, program in enumerate(programs)
    )


@dataclass(slots=True)
class Blocks:
    """The samples of all blocks."""

    micros: list[tuple[float, ...]] = field(default_factory=list)
    """Per block: baseline copy 0 and 1, candidate copy 0 and 1."""
    sm_mhz: list[tuple[float | None, ...]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.micros)

    def add(self, launches: Sequence[Launch], samples: Sequence[Sample]) -> None:
        """Keep one block."""
        at = {(launch.program, launch.copy): sample for launch, sample in zip(launches, samples, strict=True)}
        ordered = [at[program, copy] for program in (BASELINE, CANDIDATE) for copy in (0, 1)]
        self.micros.append(tuple(sample.micros for sample in ordered))
        self.sm_mhz.append(tuple(sample.sm_mhz for sample in ordered))

    def thinned(self, most: int) -> Blocks:
        """At most so many of the blocks, evenly spread from the first to the last."""
        total = len(self)
        if total <= most:
            return self
        kept = [number * (total - 1) // (most - 1) for number in range(most)]
        return Blocks([self.micros[k] for k in kept], [self.sm_mhz[k] for k in kept])

    def log_ratios(self) -> Floats:
        """Per block: log of baseline time over candidate time."""
        logs = np.log(np.asarray(self.micros))
        ratios: Floats = (logs[:, 0] + logs[:, 1] - logs[:, 2] - logs[:, 3]) / 2
        return ratios

    def log_twins(self) -> Floats:
        """Per block: log of the first copies' time over the second copies', which run the same code."""
        logs = np.log(np.asarray(self.micros))
        twins: Floats = (logs[:, 0] - logs[:, 1] + logs[:, 2] - logs[:, 3]) / 2
        return twins

    def clock_ratio(self) -> float | None:
        """Mean SM clock beside the candidate's samples over that beside the baseline's."""
        complete = [row for row in self.sm_mhz if None not in row]
        if not complete:
            return None
        means = np.asarray(complete, dtype=np.float64).mean(axis=0)
        return float(means[2:].sum() / means[:2].sum())

    def of(self, program: int) -> list[float]:
        """All samples of one program in µs, block after block."""
        return [micros for row in self.micros for micros in row[2 * program : 2 * program + 2]]

    def clocks_of(self, program: int) -> list[float | None]:
        """The SM clock beside each of these samples in MHz."""
        return [mhz for row in self.sm_mhz for mhz in row[2 * program : 2 * program + 2]]

    def cycles(self, program: int) -> float | None:
        """Clock cycles of one program's launches: time × SM clock, as no code of a kernel is to be changed."""
        pairs = zip(self.of(program), self.clocks_of(program), strict=True)
        per_launch = [micros * mhz for micros, mhz in pairs if mhz is not None]
        return midmean(per_launch) if per_launch else None
