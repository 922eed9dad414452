"""The callers' sizes without a GPU: one extent at a time, then all together as far as time allows, then single blocks.

A kernel that is wrong from column 512 on is right on every small shape. So each extent of `profile_dims` is taken at
the callers' size with the others small; then all grow together while the time lasts; and a few blocks of the whole
callers' launch are run alone, where both programs use the same grid of one kernel. Integers are alike once where the
longest extent is the callers', and once at the largest shape that was reached. What the time did not allow is told.

The time is that of a processor, so that other work on the machine takes none of it; by the clock it ends, too, at some
times as much.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.compare import compare
from kernel_gate.deadline import TimeSpentError, ends_within, seconds_left
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedBuffer, EmulatedDevice
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.execution import SANITIZER_KINDS
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.shapes import elements, is_valid, named_shapes, typical_shape
from kernel_gate.stages.check_case import check_case
from kernel_gate.stages.check_state import (
    CheckState,
    Dropped,
    Stop,
    Who,
    argument_of,
    execution_of,
    say,
)
from kernel_gate.stages.conditions import is_condition
from kernel_gate.stages.judge_outputs import wrong_element
from kernel_gate.tolerance import derive
from kernel_gate.variations import Variation, may_be_alike
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 22
_MOST_WHOLE = 1 << 26
"""Elements of all buffers of a launch of which single blocks are run."""
_SMALL = 1 << 15
"""Elements of a case for which there is room whatever the cases before it took, as a small one takes little."""
_BY_THE_CLOCK = 4.0
"""Times the seconds of a processor that it may take by the clock."""
_CALM = 1e-7
"""Seconds for each element at least: what is expected of a case that has not been run."""
_SEED = 6000


@dataclass(slots=True)
class Reached:
    """How far the callers' sizes were checked."""

    callers: Mapping[str, int]
    largest: dict[str, int] = field(default_factory=dict)
    whole: bool = False
    """Whether the callers' shape itself was checked."""
    together: Mapping[str, int] = field(default_factory=dict)
    """The shape with the most elements that was checked."""
    blocks: int = 0
    """Blocks of the callers' own launch that were run alone."""
    why_not: str = ""
    elsewhere: str = ""
    """What blocks of the candidate write elsewhere than those of the baseline."""
    left_out: list[Case] = field(default_factory=list)
    """Cases for which there was no time, or which are too large."""

    def include(self, dims: Mapping[str, int]) -> None:
        """A shape on which everything agreed."""
        self.whole |= all(dims.get(name) == extent for name, extent in self.callers.items())
        if math.prod(dims.values()) > math.prod(self.together.values()):
            self.together = dict(dims)
        for name, extent in dims.items():
            self.largest[name] = max(self.largest.get(name, 0), extent)

    def document(self) -> dict[str, Any]:
        """For the stage's details."""
        about = {
            "callers": dict(self.callers),
            "largest": self.largest,
            "together": dict(self.together),
            "blocks_at_full_size": self.blocks,
            "left_out": [str(case) for case in self.left_out],
        }
        return {**about, "not_at_full_size": self.why_not} if self.why_not else about

    def __str__(self) -> str:
        alike = [str(c) for c in self.left_out if c.variation is not Variation.DECLARED]
        return self._largest() + (f"; no time for {alike[0]}" if alike else "")

    def _largest(self) -> str:
        sizes = ", ".join(
            f"{name} {min(self.largest.get(name, 0), extent)} of {extent}"
            for name, extent in self.callers.items()
        )
        if self.whole:
            return ""
        sizes += "; together " + ", ".join(f"{name} {extent}" for name, extent in self.together.items())
        blocks = f", and {self.blocks} blocks of the full size" if self.blocks else ""
        return f"; largest checked: {sizes}{blocks}"


def check_callers(run: CheckState, seed: int, seconds: float, left: float) -> Reached | None:
    """Check what fits into `seconds` of a processor and `left` by the clock; a case is begun when it should fit.

    None without callers' sizes, or time. Raises `Stop` with the case as its `case`.
    """
    named = named_shapes(run.workload)
    if not run.workload.profile_dims or not named or run.device.kind != "emulated" or min(seconds, left) <= 0:
        return None
    callers = max(run.workload.profile_dims, key=lambda d: elements(run.workload, d))
    reached = Reached(callers)
    for case in run.passed:
        reached.include(case.dims)
    clock = min(left, _BY_THE_CLOCK * seconds)
    room = _Room(time.thread_time() + seconds, time.monotonic() + clock)
    _grow(run, seed, callers, typical_shape(named), reached, room)
    if not reached.whole:
        with ends_within(clock):
            check_blocks(run, Case(callers, seed + _SEED + 900, origin="hidden"), reached)
    return reached


@dataclass(frozen=True, slots=True)
class _Room:
    """Until when a case may begin."""

    of_thread: float
    by_clock: float

    def has(self, seconds: float) -> bool:
        """Whether a case fits that takes so long."""
        by_clock = min(self.by_clock - time.monotonic(), seconds_left())
        return by_clock > 0 and time.thread_time() + seconds <= self.of_thread


def _grow(
    run: CheckState,
    seed: int,
    callers: Mapping[str, int],
    small: Mapping[str, int],
    reached: Reached,
    room: _Room,
) -> None:
    """Check ever larger shapes as long as there is room. Raises `Stop`."""
    pace = _CALM
    alike = _alike(run.workload)
    waiting: deque[Case] = deque()
    for number, (dims, longest) in enumerate(_growing(run, callers, small)):
        waiting.append(Case(dims, seed + _SEED + number, origin="hidden"))
        if longest:
            waiting += [Case(dims, seed + _SEED + 800, variation, "hidden") for variation in alike]
    last = list(alike)
    while waiting or last:
        if last and (reached.whole or not waiting):
            case = Case(dict(reached.together), seed + _SEED + 801, last.pop(0), "hidden")
        else:
            case = waiting.popleft()
        size = elements(run.workload, case.dims)
        started = time.thread_time()
        if size > _MOST_ELEMENTS or not room.has(pace * size if size > _SMALL else 0.0):
            reached.left_out.append(case)
            continue
        try:
            check_case(run, case, again=False)
            reached.include(case.dims)
        except Dropped as dropped:
            run.dropped.append(f"{case}: {dropped.code}: {dropped}")
        except TimeSpentError:
            reached.left_out.append(case)
        except Stop as stop:
            if not is_condition(run, stop, case):
                stop.case = case
                raise
        pace = max(pace, (time.thread_time() - started) / size)


def _alike(workload: Workload) -> list[Variation]:
    """Integers that are alike: counts and sums of them may not fit. Infinities that fill a tile of a long row. A single
    place that differs, which what looks at a part of the values does not see.
    """
    every = [a for a in workload.args if a.kind in {"input", "inout"}]
    floats, inputs = ([a for a in every if DTYPES[a.dtype].is_float is kind] for kind in (True, False))
    variations = [Variation.INFINITE] if any(a.has_free_values for a in floats) else []
    if any(a.has_limits for a in inputs):
        variations += [Variation.LOWEST, Variation.UPPER]
    if any(a.has_free_values for a in inputs):
        variations.append(Variation.CONSTANT)
    return [*variations, Variation.LONE] if any(map(may_be_alike, every)) else variations


def _growing(
    run: CheckState, callers: Mapping[str, int], small: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], bool]]:
    """One extent at the callers' size, the longest last, which is told; then all together, twice as far each time."""
    done = [dict(case.dims) for case in run.passed]
    proposals = [{**small, name: extent} for name, extent in sorted(callers.items(), key=lambda kv: kv[1])]
    longest = proposals[-1]
    factor = 2
    while any(small[name] * factor < 2 * extent for name, extent in callers.items()):
        proposals.append({name: min(extent, small[name] * factor) for name, extent in callers.items()})
        factor *= 2
    for dims in proposals:
        if dims not in done and is_valid(run.workload, dims):
            done.append(dims)
            yield dims, dims is longest


def check_blocks(run: CheckState, case: Case, reached: Reached) -> None:
    """Single blocks of the callers' own launch: faults, and what both programs write. Raises `Stop`.

    A launch ends at the deadline that holds.
    """
    if elements(run.workload, case.dims) > _MOST_WHOLE:
        reached.why_not = "its buffers are too large here"
        return
    if any(b.program.steps for b in (run.baseline, run.candidate)):
        reached.why_not = "single blocks are run of programs of one kernel only"
        return
    assert isinstance(run.device, EmulatedDevice)
    checks = run.device.checks
    try:
        # Races of blocks that run alone are not to be seen, and looking for them takes the longest.
        run.device.checks = replace(checks, races=False)
        inputs = make_inputs(run.workload, case)
        before = _blocks(run, "baseline", case, inputs)
        alone = run.is_beside_itself or before is None
        after = before if alone else _blocks(run, "candidate", case, inputs)
    except TimeSpentError:
        reached.why_not = "the sampled blocks did not end in their time"
        return
    except (LaunchError, DeviceError, MemoryError) as error:
        reached.why_not = str(error)
        return
    finally:
        run.device.only_blocks, run.device.checks = None, checks
    if before is None or after is None or before.grid != after.grid:
        reached.why_not = "the blocks of the two programs do not correspond"
        return
    compared = 0
    for name, got in after.written.items():
        want = before.written[name]
        places, mine, theirs = np.intersect1d(got.places, want.places, return_indices=True)
        if len(places) < len(want.places):
            missing = len(want.places) - len(places)
            reached.elsewhere = f"{missing} elements of {name} are not written by the same blocks; {case}"
        compared += len(places)
        argument = argument_of(run.workload, name)
        dtype = DTYPES[argument.dtype]
        allowed = derive(run.workload, argument, run.depths.of(case.dims), None, None, run.arithmetic)
        wrong = compare(name, got.values[mine], want.values[theirs], dtype, allowed)
        if wrong:
            shape = run.workload.extents(argument, case.dims)
            index = tuple(int(i) for i in np.unravel_index(int(places[wrong.index[0]]), shape))
            stop = wrong_element(run, case, replace(wrong, index=index))
            stop.case = case
            raise stop
    if compared:
        reached.blocks = after.blocks
    else:
        reached.why_not = "the sampled blocks wrote nothing that both programs write"


@dataclass(frozen=True, slots=True)
class _Written:
    """The elements of one output that sampled blocks wrote."""

    places: Array
    """Flat indices, ascending."""
    values: Array


@dataclass(slots=True)
class _Sampled:
    grid: tuple[int, int, int]
    blocks: int
    written: dict[str, _Written]


def _blocks(run: CheckState, who: Who, case: Case, inputs: Mapping[str, Array]) -> _Sampled | None:
    """Some blocks of a launch; None where they do not run alone. Raises `Stop` for a fault of the candidate."""
    assert isinstance(run.device, EmulatedDevice)
    with execution_of(run, who, case) as execution:
        grid = next(call[0] for _, call in execution.calls())
        last = grid[0] * grid[1] * grid[2] - 1
        drawn = np.random.default_rng(case.seed).integers(0, last + 1, 2)
        run.device.only_blocks = tuple(sorted({0, last, *map(int, drawn)}))
        execution.fill(inputs, 0)
        result = execution.launch()
        hard = next((f for f in result.faults if f.kind not in SANITIZER_KINDS), None)
        if hard is not None:
            if hard.kind == "timeout":
                raise TimeSpentError(hard.message)
            if who == "baseline" or hard.kind == "unsupported":
                return None
            raise _stop(run, case, hard)
        written = {}
        for argument in run.workload.args:
            if argument.kind not in {"output", "inout"}:
                continue
            buffer = execution.buffers[argument.name]
            assert isinstance(buffer, EmulatedBuffer)
            flags = buffer.written_bytes()
            if flags is None:
                return None
            dtype = DTYPES[argument.dtype]
            places = np.flatnonzero(flags.view(f"u{dtype.itemsize}"))
            values = buffer.segment.contents.view(dtype.storage)[places]
            written[argument.name] = _Written(places, values)
        return _Sampled(grid, len(run.device.only_blocks), written)


def _stop(run: CheckState, case: Case, fault: Any) -> Stop:
    about = {"fault": fault.kind, **fault.where()}
    reason = FAULT_REASONS.get(fault.kind, Reason.LAUNCH_FAILED)
    stop = Stop("candidate", reason, say(fault, run.candidate.label, case), about)
    stop.case = case
    return stop
