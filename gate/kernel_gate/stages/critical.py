"""Inputs at which both programs are about to decide otherwise: a comparison equal, a quotient half-way.

Both programs run on the emulated device, which tells how far each decision is from changing and which input element
the thread read last. Elements are moved by secants until a decision of one program is critical, and those are taken at
which one of the other is too, exactly: then the rule decides and not a rounding. `rintf(x * (1 / s))` may differ from
`rintf(x / s)` where only one of the quotients is half-way; `floorf(x / s + 0.5f)` differs where both are.

A scalar that threads compare with floats of their own is put at such a float, and just above it: of the numbers that
are drawn for the elements, `(r >> 16) < (unsigned)(p * 65536.0f)` is wrong only for those nearest to `p`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.around_constants import last_place
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case, constant_scalars
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedBuffer, EmulatedDevice
from kernel_gate.devices.opening import open_quiet
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.emulated.decisions import Decided, Decisions, Watched
from kernel_gate.execution import Execution
from kernel_gate.inputs import limits_of, make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements
from kernel_gate.variations import Variation
from kernel_gate.workload import Workload, WorkloadError

_SECONDS = 1.0
"""A processor's, for both programs together; what is not reached then is left out."""
_MOST_ELEMENTS = 1 << 14
_MOST_PLACED = 64
"""Elements of one input that a case places."""
_MOST_THRESHOLDS = 4
_NUDGE = 2.0**-7
"""Relative: the first move of every element at most, from which slopes are taken."""
_SECANTS = 4
_CLOSE = 2.0**-20
"""Distance from the decision, relative to its operands, from which an exactly critical value is looked for."""
_AROUND = 3
"""Units in the last place, to either side, in which it is looked for."""
_FAR = 64.0
"""Times its magnitude, how far an element may be moved."""


@dataclass(frozen=True, slots=True)
class _Aim:
    """For each element of an input the decision that it is moved to."""

    element: Array
    site: Array
    visit: Array
    thread: Array

    def distance(self, decided: Mapping[int, Decided]) -> Array:
        """How far each is from its decision, NaN where that was not reached."""
        return self._of(decided, "distance")

    def scale(self, decided: Mapping[int, Decided]) -> Array:
        """The magnitude of the operands of each."""
        return self._of(decided, "scale")

    def _of(self, decided: Mapping[int, Decided], what: str) -> Array:
        values = np.full(len(self.element), np.nan)
        for site in np.unique(self.site):
            here = self.site == site
            if site in decided:
                values[here] = getattr(decided[site], what)[self.visit[here], self.thread[here]]
        return values


def critical_cases(
    baseline: Built, candidate: Built, workload: Workload, dims: Mapping[str, int], seed: int
) -> list[Case]:
    """A case for each program and float input that decisions of both depend on, as far as the time allows."""
    if elements(workload, dims) > _MOST_ELEMENTS:
        return []
    device = open_quiet(_SECONDS)
    cases: list[Case] = []
    try:
        with ExitStack() as stack:
            both = []
            for built in (baseline, candidate):
                loaded = LoadedProgram(device, replace(built, build=None), workload)
                both.append(stack.enter_context(loaded.execution(dims)))
            # Of the processor: on a busy machine the same cases are found.
            deadline = time.process_time() + _SECONDS
            for number, own in enumerate(both):
                case = Case(dims, seed + number, Variation.CRITICAL, origin="hidden")
                search = _Search(device, own, both, workload, case, deadline)
                cases += [replace(case, placed=placed) for placed in search.placements()]
                cases += [replace(case, scalars=(scalar,)) for scalar in search.thresholds()]
    except (LaunchError, DeviceError, MemoryError, WorkloadError):
        pass  # what cannot be launched or has no inputs here is the check's to say
    finally:
        device.close()
    return cases


def _exact(decided: Mapping[int, Decided], name: str) -> set[tuple[int, int, int, int]]:
    """Elements of an input at which a decision is exactly critical, each with instruction, visit and thread."""
    exact: set[tuple[int, int, int, int]] = set()
    for site, one in decided.items():
        visits, threads = np.nonzero(one.distance == 0)
        places = zip(one.elements[name][visits, threads], visits, threads, strict=True)
        exact |= {(int(e), site, int(v), int(t)) for e, v, t in places}
    return exact


class _Search:
    """One program on one case; `both` are the programs at which what is found is looked at."""

    def __init__(
        self,
        device: EmulatedDevice,
        execution: Execution,
        both: Sequence[Execution],
        workload: Workload,
        case: Case,
        deadline: float,
    ) -> None:
        self._device, self._execution, self._both = device, execution, both
        self._case, self._deadline = case, deadline
        self._inputs = make_inputs(workload, case)
        self._workload = workload
        self._generator = np.random.default_rng([case.seed, 79])
        self._arguments = [
            a
            for a in workload.args
            if a.name in self._inputs
            and DTYPES[a.dtype].is_float
            and not a.has_structure
            and (a.has_free_values or a.has_limits)
            and self._inputs[a.name].size
        ]

    def thresholds(self) -> list[tuple[str, float]]:
        """Scalars at a float that a thread compares with them, and just above it."""
        numbers = self._workload.scalars(self._case.dims)
        usual = {name: float(np.float32(numbers[name])) for name in constant_scalars(self._workload)}
        near: dict[tuple[str, float], None] = {}
        for decided in self._decided({}).values() if usual else ():
            distance, scale = decided.distance[0], decided.scale[0]
            for name, value in usual.items():
                for others in (value + distance, value - distance):
                    # Only where the scalar is one of the operands are these the other.
                    there = np.maximum(np.abs(others), abs(value)) == scale
                    if not there.any() or (others[there] == others[there][0]).all():
                        continue
                    one = self._generator.choice(others[there][:_MOST_PLACED])
                    above = np.nextafter(np.float32(one), np.float32(np.inf))
                    near |= dict.fromkeys([(name, float(one)), (name, float(above))])
        return list(near)[:_MOST_THRESHOLDS]

    def placements(self) -> list[tuple[tuple[str, int, float], ...]]:
        """Elements of one input in turn with the values that make decisions critical."""
        if not self._arguments:
            return []
        before = self._decided({})
        if not before:
            return []
        placed = (self._placed(argument, before) for argument in self._arguments)
        return [one for one in placed if one]

    def _decided(
        self, changed: Mapping[str, Array], execution: Execution | None = None
    ) -> dict[int, Decided]:
        """Decisions of a run with other values of some inputs; none once the time is spent."""
        execution = execution or self._execution
        if time.process_time() > self._deadline:
            return {}
        watched = []
        for argument in self._arguments:
            buffer = execution.buffers[argument.name]
            assert isinstance(buffer, EmulatedBuffer)
            watched.append(
                Watched(argument.name, buffer.address, buffer.nbytes, DTYPES[argument.dtype].itemsize)
            )
        decisions = Decisions(tuple(watched))
        checks = self._device.checks
        try:
            self._device.checks = replace(checks, decisions=decisions)
            run = execution.run({**self._inputs, **changed}, 0)
        finally:
            self._device.checks = checks
        return {} if run.result.faults else decisions.decided

    def _placed(
        self, argument: Argument, before: Mapping[int, Decided]
    ) -> tuple[tuple[str, int, float], ...]:
        dtype = DTYPES[argument.dtype]
        start = dtype.wide(self._inputs[argument.name]).astype(np.float64).reshape(-1)
        # Each by a share of its own: what a row is divided by moves with it otherwise, and nothing is seen.
        share = (
            _NUDGE
            * self._generator.uniform(0.5, 1.0, start.shape)
            * self._generator.choice((-1, 1), start.shape)
        )
        moved = self._stored(argument, start + share * np.where(np.abs(start) > _NUDGE, start, 1.0))
        after = self._decided({argument.name: moved})
        aim, slope = self._aims(argument, before, after, start, self._wide(argument, moved))
        if aim is None:
            return ()
        values, distance = start.copy(), aim.distance(before)
        for _ in range(_SECANTS):
            near = values[aim.element]
            wanted = values.copy()
            wanted[aim.element] = self._within(argument, start[aim.element], near - distance / slope)
            stored = self._stored(argument, wanted)
            decided = self._decided({argument.name: stored})
            now = self._wide(argument, stored)
            there = aim.distance(decided)
            better = np.abs(there) < np.abs(distance)
            with np.errstate(divide="ignore", invalid="ignore"):
                fresh = (there - distance) / (now[aim.element] - near)
            slope = np.where(np.isfinite(fresh) & (fresh != 0) & better, fresh, slope)
            values[aim.element[better]] = now[aim.element[better]]
            distance = np.where(better, there, distance)
            if not better.any():
                break
        close = np.abs(distance) <= _CLOSE * np.maximum(aim.scale(before), np.abs(values[aim.element]))
        chosen = self._generator.permutation(aim.element[close])[:_MOST_PLACED]
        return self._critical_in_both(argument, start, values, chosen)

    def _critical_in_both(
        self, argument: Argument, start: Array, near: Array, chosen: Array
    ) -> tuple[tuple[str, int, float], ...]:
        """The chosen elements with the value near the one that is known at which both programs are exactly critical."""
        critical: dict[int, float] = {}
        scanned = []
        for units in range(-_AROUND, _AROUND + 1):
            values = start.copy()
            values[chosen] = near[chosen] + units * self._last_place(argument, near[chosen])
            stored = self._stored(argument, values)
            decided = [self._decided({argument.name: stored}, execution) for execution in self._both]
            if not all(decided):
                break
            scanned.append((self._wide(argument, stored), [_exact(d, argument.name) for d in decided]))
        if not scanned:
            return ()
        # What is equal wherever the element stands, such as a value and itself, is no decision about it.
        always = [set.intersection(*(exact[n] for _, exact in scanned)) for n in range(len(self._both))]
        for values, exact in scanned:
            fresh = [{place[0] for place in exact[n] - always[n]} for n in range(len(self._both))]
            for element in set.intersection(*fresh) & set(chosen.tolist()):
                critical.setdefault(element, float(values[element]))
        return tuple((argument.name, element, value) for element, value in sorted(critical.items()))

    def _aims(
        self,
        argument: Argument,
        before: Mapping[int, Decided],
        after: Mapping[int, Decided],
        start: Array,
        moved: Array,
    ) -> tuple[_Aim | None, Array]:
        """For each element one of the decisions that it moves, drawn among those that can be brought about."""
        rows = []
        for site, decided in before.items():
            if site not in after:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                element = decided.elements[argument.name]
                moves = element >= 0
                step = np.where(moves, moved[element] - start[element], np.nan)
                slope = (after[site].distance - decided.distance) / step
                wanted = -decided.distance / slope
                reach = _FAR * np.maximum(np.abs(start[element]), _NUDGE)
                usable = moves & np.isfinite(wanted) & (np.abs(wanted) <= reach) & (slope != 0)
            target = start[element] + np.where(usable, wanted, 0.0)
            usable &= self._within(argument, start[element], target) == target
            visit, thread = np.nonzero(usable)
            rows.append(np.stack([element[usable], np.full(len(visit), site), visit, thread, slope[usable]]))
        if not rows:
            return None, np.zeros(0)
        table = np.concatenate(rows, axis=1)
        table = table[:, self._generator.permutation(table.shape[1])]
        _, first = np.unique(table[0], return_index=True)
        if not len(first):
            return None, np.zeros(0)
        element, site, visit, thread = table[:4, first].astype(np.int64)
        return _Aim(element, site, visit, thread), table[4, first]

    def _within(self, argument: Argument, before: Array, wanted: Array) -> Array:
        """What is wanted, or what was before where that is not within the limits of the input."""
        numbers = {**self._case.dims, **self._workload.scalars(self._case.dims)}
        low, high = limits_of(argument, numbers) or (-np.inf, np.inf)
        largest = DTYPES[argument.dtype].largest
        inside = np.isfinite(wanted) & (wanted >= max(low, -largest)) & (wanted <= min(high, largest))
        return np.where(inside, wanted, before)

    def _last_place(self, argument: Argument, values: Array) -> Array:
        """A unit in the last place of each value in the input's type."""
        dtype = DTYPES[argument.dtype]
        if dtype.storage.kind == "f":
            return np.abs(np.spacing(dtype.narrow(values))).astype(np.float64)
        return last_place(dtype, values)

    def _stored(self, argument: Argument, values: Array) -> Array:
        dtype = DTYPES[argument.dtype]
        shape = self._inputs[argument.name].shape
        within = self._within(argument, self._wide(argument, self._inputs[argument.name]), values)
        stored: Array = dtype.narrow(within).reshape(shape)
        return stored

    def _wide(self, argument: Argument, stored: Array) -> Array:
        wide: Array = DTYPES[argument.dtype].wide(stored).astype(np.float64).reshape(-1)
        return wide
