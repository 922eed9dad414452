"""Both programs on one profiled shape, ready to be timed: loaded twice each, on sets of buffers that they share.

Baseline and candidate run on the same buffers in turns, because where a buffer lies in memory changes a kernel's time
by up to a percent. Before every launch, outputs and scratch are filled with a byte that changes from launch to launch
and arguments in place are restored, so that no launch finds an answer that another has left. After the last timed
launch the same addresses get new data: what a program has learned while it was timed must not be its answer.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.compare import compare
from kernel_gate.devices.base import Buffer, DeviceError
from kernel_gate.devices.timed import TimedBuffer, TimedDevice, TimedKernel
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.execution import Execution
from kernel_gate.inputs import make_inputs, other_inputs
from kernel_gate.reasons import FAULT_REASONS
from kernel_gate.timing.cuda_sampler import TimedProgram
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Launch, LaunchFailed
from kernel_gate.tolerance import derive
from kernel_gate.workload import Workload

_MOST_SETS = 3
_SHARE_OF_MEMORY = 0.5
_BYTES = (0xFF, 0x7F, 0xAA, 0x55)
"""Fillings; the first two are NaN in every floating-point format."""
_INSPECTIONS = (2.0, 4.0)
"""Each inspection comes after so many times as many launches as the one before."""
_LEAST_LIMIT, _TIMES_ONE_LAUNCH = 2.0, 50
"""Seconds that any timed launch may take, and how many times what one took before: clocks and caches vary less."""


class TimedPrograms:
    """The programs, their buffers, and what was seen of the timed launches' outputs."""

    def __init__(
        self,
        device: TimedDevice,
        baseline: Built,
        candidate: Built,
        workload: Workload,
        case: Case,
        seed: int,
    ) -> None:
        """Raises `LaunchFailed`, `LaunchError` and `DeviceError` when one of them cannot run."""
        self.programs: dict[Launch, TimedProgram] = {}
        self.buffer_sets = 1
        self._device, self._workload, self._case = device, workload, case
        self._inputs = make_inputs(workload, case)
        self._candidate = candidate
        self._built = (baseline, candidate)
        self._executions: dict[Launch, Execution] = {}
        self._fillings = itertools.cycle(_BYTES)
        self._generator = np.random.default_rng(seed)
        self._launches, self._next_inspection = 0, 2 + int(self._generator.integers(10))
        self._expected: Mapping[str, Array] = {}
        self._wrong = ""
        self._stack = ExitStack()
        try:
            self._load()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> TimedPrograms:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _load(self) -> None:
        copies = [
            [LoadedProgram(self._device, built, self._workload) for _ in range(2)] for built in self._built
        ]
        self._in_place = {a.name: self._kept(a.name) for a in self._workload.args if a.kind == "inout"}
        limits: dict[int, float] = {}
        number = 0
        while number < self.buffer_sets:
            for program, copy in itertools.product((BASELINE, CANDIDATE), (0, 1)):
                key = Launch(program, copy, number)
                lent = self._lent(key)
                execution = copies[program][copy].execution(self._case.dims, lent)
                self._stack.callback(execution.close)
                self._executions[key] = execution
                if number == 0 and copy == 0:
                    limits[program] = self._first_run(key)
                self.programs[key] = TimedProgram(
                    execution.prepare(), self._renewal(execution), execution.step_count, limits[program]
                )
            self._executions[Launch(BASELINE, 0, number)].fill(self._inputs, 0)
            if number == 0:
                needed = max(1, self.peak_bytes(BASELINE), self.peak_bytes(CANDIDATE))
                room = self._device.describe()["memory_bytes"] * _SHARE_OF_MEMORY
                self.buffer_sets = max(1, min(_MOST_SETS, int(room / needed)))
            number += 1

    def resources(self, program: int) -> list[dict[str, Any]]:
        """Registers, shared and local memory, spills and occupancy of each launch of a program."""
        launched = self._executions[Launch(program, 0, 0)].launched()
        multiprocessor = self._device.multiprocessor()
        return [
            kernel.resources(block_threads, shared_bytes, multiprocessor)
            for kernel, block_threads, shared_bytes in launched
            if isinstance(kernel, TimedKernel)
        ]

    def peak_bytes(self, program: int) -> int:
        """Bytes of all buffers that one run of a program needs, its scratch included."""
        return sum(buffer.nbytes for buffer in self._executions[Launch(program, 0, 0)].buffers.values())

    def _kept(self, name: str) -> Buffer:
        """A copy of an argument's values, from which it is restored."""
        values = np.ascontiguousarray(self._inputs[name])
        buffer = self._device.allocate(values.nbytes, f"the values of {name}", values.itemsize)
        self._stack.callback(buffer.free)
        buffer.write(values)
        return buffer

    def _lent(self, key: Launch) -> Mapping[str, Buffer]:
        """The buffers that this copy shares: all of its program's first copy, else the arguments of the baseline."""
        if key.copy:
            return self._executions[Launch(key.program, 0, key.buffers)].buffers
        if key.program == BASELINE:
            return {}
        owner = self._executions[Launch(BASELINE, 0, key.buffers)].buffers
        return {a.name: owner[a.name] for a in self._workload.args if a.is_pointer}

    def _renewal(self, execution: Execution) -> Callable[[], None]:
        kinds = {a.name: a.kind for a in self._workload.args}
        buffers = execution.buffers
        worthless = [b for name, b in buffers.items() if kinds.get(name, "scratch") in {"output", "scratch"}]
        restored = [(buffers[name], kept) for name, kept in self._in_place.items()]

        def renew() -> None:
            filling = next(self._fillings)
            for buffer in worthless:
                buffer.memset(filling, 0, buffer.nbytes)
            for buffer, kept in restored:
                if not isinstance(buffer, TimedBuffer):
                    raise DeviceError(f"{buffer.name} cannot be restored on this device")
                buffer.copy_from(kept)

        return renew

    def _first_run(self, key: Launch) -> float:
        """One run with everything looked at, and one that is timed by the host: seconds after which one hangs."""
        execution, label = self._executions[key], self._built[key.program].label
        run = execution.run(self._inputs, 0)
        faults = run.faults
        if not faults:
            started = time.monotonic()
            faults = execution.launch().faults
            seconds = time.monotonic() - started
        if faults:
            raise LaunchFailed(key.program, FAULT_REASONS[faults[0].kind], f"{label}: {faults[0].message}")
        if key.program == BASELINE:
            self._expected = run.outputs
        return min(self._device.launch_seconds, _LEAST_LIMIT) + _TIMES_ONE_LAUNCH * seconds

    def inspect(self, launch: Launch) -> None:
        """Look at the outputs of some timed launches of the candidate; which ones is drawn."""
        if launch.program != CANDIDATE or self._wrong:
            return
        self._launches += 1
        if self._launches < self._next_inspection:
            return
        self._next_inspection = int(self._launches * self._generator.uniform(*_INSPECTIONS)) + 1
        self._wrong = self._difference(self._executions[launch].outputs(), self._expected)

    def wrong(self) -> str:
        """What is wrong with the candidate's outputs: of inspected launches, of one after them, and of new data."""
        wrong = self._wrong or self._once_more() or self._with_new_data()
        return f"{wrong}; {self._case}; {self._candidate.label}" if wrong else ""

    def _once_more(self) -> str:
        run = self._executions[Launch(CANDIDATE, 0, 0)].run(self._inputs, 1)
        return run.faults[0].message if run.faults else self._difference(run.outputs, self._expected)

    def _with_new_data(self) -> str:
        """What is wrong when the addresses that were timed hold other data: each copy, on each set of buffers.

        The candidate comes first, so that nothing of the baseline's is left to be found.
        """
        changed = other_inputs(self._workload, self._case, self._inputs)
        for name, kept in self._in_place.items():
            kept.write(np.ascontiguousarray(changed[name]))
        for buffers in range(self.buffer_sets):
            for name, values in changed.items():
                self._executions[Launch(BASELINE, 0, buffers)].buffers[name].write(values)
        first = Launch(CANDIDATE, 0, 0)
        got = self._outputs_of(first)
        expected = self._outputs_of(Launch(BASELINE, 0, 0))
        keys = [first, *(key for key in self._executions if key.program == CANDIDATE and key != first)]
        for key in keys:
            if wrong := self._difference(got if key == first else self._outputs_of(key), expected):
                return f"with new data at the same addresses, {wrong}"
        return ""

    def _outputs_of(self, key: Launch) -> Mapping[str, Array]:
        """What one more launch gives. Raises `LaunchFailed`."""
        self.programs[key].renew()
        faults = self._executions[key].launch().faults
        if faults:
            label = self._built[key.program].label
            raise LaunchFailed(key.program, FAULT_REASONS[faults[0].kind], f"{label}: {faults[0].message}")
        return self._executions[key].outputs()

    def _difference(self, got: Mapping[str, Array], expected_outputs: Mapping[str, Array]) -> str:
        """The first element that differs from the baseline's by more than its tolerance."""
        for name, values in got.items():
            argument = self._workload.argument(name)
            expected = np.asarray(expected_outputs[name])
            if argument is None or np.array_equal(expected.view(np.uint8), values.view(np.uint8)):
                continue
            dtype = DTYPES[argument.dtype]
            tolerance = derive(self._workload, argument, self._case.dims, None)
            if wrong := compare(name, values, dtype.wide(expected), dtype, tolerance):
                return str(wrong)
        return ""
