"""Both programs on one profiled shape, ready to be timed: loaded twice each, on sets of buffers that they share.

Baseline and candidate run on the same buffers in turns, because where a buffer lies in memory changes a kernel's time
by up to a percent. Before every launch, outputs and scratch are filled with a byte that changes from launch to launch
and arguments in place are restored, so that no launch finds an answer that another has left. What is compared stays on
the device: the candidate's first outputs are compared with the baseline's element by element, later ones with its own
first ones bit by bit, and element by element again only where a bit differs.
"""

import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.compare import measure
from kernel_gate.devices.base import Buffer
from kernel_gate.devices.timed import TimedDevice, TimedKernel
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.execution import Execution
from kernel_gate.inputs import perturbed
from kernel_gate.processes.closing import Closing
from kernel_gate.reasons import FAULT_REASONS
from kernel_gate.stages.depth import Depths
from kernel_gate.stages.held_bytes import HeldBytes
from kernel_gate.stages.timed_outputs import Leeway, Outputs, difference, difference_of
from kernel_gate.timing.cuda_sampler import TimedProgram
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Launch, LaunchFailed
from kernel_gate.tolerance import Errors, coarsest_rounding
from kernel_gate.workload import Workload

_MOST_SETS = 3
_SHARE_OF_MEMORY, _SHARE_WITH_COPIES = 0.5, 0.75
"""Shares of the device's memory: for the sets of buffers, and for these with the copies to compare with."""
_COPIES = 3
"""The most copies of all arguments: inputs as they were, outputs of the baseline, outputs of the candidate."""
_BYTES = (0xFF, 0x7F, 0xAA, 0x55)
"""Fillings; the first two are NaN in every floating-point format."""
_INSPECTIONS = (2.0, 4.0)
"""Each inspection comes after so many times as many launches as the one before."""
_DRAWS = 3
_LEAST_LIMIT, _TIMES_ONE_LAUNCH = 2.0, 50
"""Seconds that any timed launch may take, and how many times what one took before: clocks and caches vary less."""


class TimedPrograms(Closing):
    """The programs, their buffers, and what was seen of the timed launches' outputs."""

    def __init__(
        self,
        device: TimedDevice,
        baseline: Built,
        candidate: Built,
        workload: Workload,
        case: Case,
        seed: int,
        inputs: Mapping[str, Array],
        *,
        same_expression: bool = False,
    ) -> None:
        """`inputs` are those of the case; `same_expression` is what algebra says of the programs.

        Raises `LaunchFailed`, `LaunchError` and `DeviceError`.
        """
        self.programs: dict[Launch, TimedProgram] = {}
        self.executions: dict[Launch, Execution] = {}
        self.buffer_sets = 1
        self.inputs = inputs
        """What every set of buffers holds."""
        self.workload, self.case = workload, case
        self.labels = (baseline.label, candidate.label)
        self._device = device
        self._built = (baseline, candidate)
        self._same_expression = same_expression
        self._leeway: Leeway | None = None
        """For the inputs that the buffers hold."""
        self._stretched = False
        self._on_device = True
        self._pristine: dict[str, HeldBytes] = {}
        """Inputs and arguments in place, as they are before a launch."""
        self._expected: Outputs = {}
        self._own: Outputs = {}
        self._fillings = itertools.cycle(_BYTES)
        self._filling = _BYTES[0]
        self._generator = np.random.default_rng(seed)
        self._launches, self._next_inspection = 0, 2 + int(self._generator.integers(10))
        self.seen_wrong = ""
        """What is wrong with the outputs of a launch that was looked at; "" while nothing is."""
        self._stack = ExitStack()
        try:
            self._load()
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        self._stack.close()

    def _load(self) -> None:
        copies = [
            [LoadedProgram(self._device, built, self.workload) for _ in range(2)] for built in self._built
        ]
        limits: dict[int, float] = {}
        number = 0
        while number < self.buffer_sets:
            for program, copy in itertools.product((BASELINE, CANDIDATE), (0, 1)):
                key = Launch(program, copy, number)
                execution = copies[program][copy].execution(self.case.dims, self._lent(key))
                self._stack.callback(execution.close)
                self.executions[key] = execution
                if key == Launch(BASELINE, 0, number):
                    self._put_inputs(number)
                renew = self._renewal(execution)
                if number == 0 and copy == 0:
                    limits[program] = self._first_run(key, renew)
                self.programs[key] = TimedProgram(
                    execution.prepare(), renew, execution.step_count, limits[program]
                )
            if number == 0:
                room = self._device.describe()["memory_bytes"] * _SHARE_OF_MEMORY
                self.buffer_sets = max(1, min(_MOST_SETS, int(room / self._needed())))
            number += 1

    def _needed(self) -> int:
        return max(1, *(self.peak_bytes(program) for program in (BASELINE, CANDIDATE)))

    def _put_inputs(self, number: int) -> None:
        """The inputs into a set of buffers: into the first from here, into the others from the copies that stay."""
        buffers = self.arguments(number)
        if number == 0:
            whole = self._device.describe()["memory_bytes"] * _SHARE_WITH_COPIES
            self._on_device = self.peak_bytes(BASELINE) * (_MOST_SETS + _COPIES) <= whole
            for name, values in self.inputs.items():
                buffers[name].write(np.ascontiguousarray(values))
                self._pristine[name] = self._held(buffers[name])
            return
        for name, held in self._pristine.items():
            held.restore(buffers[name])

    def arguments(self, number: int) -> Mapping[str, Buffer]:
        """The arguments' buffers of one set."""
        return self.executions[Launch(BASELINE, 0, number)].buffers

    def resources(self, program: int) -> list[dict[str, Any]]:
        """Registers, shared and local memory, spills and occupancy of each launch of a program."""
        launched = self.executions[Launch(program, 0, 0)].launched()
        multiprocessor = self._device.multiprocessor()
        return [
            kernel.resources(block_threads, shared_bytes, multiprocessor)
            for kernel, block_threads, shared_bytes in launched
            if isinstance(kernel, TimedKernel)
        ]

    def peak_bytes(self, program: int) -> int:
        """Bytes of all buffers that one run of a program needs, its scratch included."""
        return sum(buffer.nbytes for buffer in self.executions[Launch(program, 0, 0)].buffers.values())

    def _held(self, buffer: Buffer) -> HeldBytes:
        held = HeldBytes(self._device, buffer, on_device=self._on_device)
        self._stack.callback(held.free)
        return held

    def _lent(self, key: Launch) -> Mapping[str, Buffer]:
        """The buffers that this copy shares: all of its program's first copy, else the arguments of the baseline."""
        if key.copy:
            return self.executions[Launch(key.program, 0, key.buffers)].buffers
        if key.program == BASELINE:
            return {}
        owner = self.arguments(key.buffers)
        return {a.name: owner[a.name] for a in self.workload.args if a.is_pointer}

    def _renewal(self, execution: Execution) -> Callable[[], None]:
        kinds = {a.name: a.kind for a in self.workload.args}
        buffers = execution.buffers
        cleared = {a.name for a in self.workload.args if a.is_cleared}
        worthless = [
            (b, name in cleared)
            for name, b in buffers.items()
            if kinds.get(name, "scratch") in {"output", "scratch"}
        ]
        restored = [(self._pristine[name], b) for name, b in buffers.items() if kinds.get(name) == "inout"]

        def renew() -> None:
            self._filling = next(self._fillings)
            for buffer, zeros in worthless:
                buffer.memset(0 if zeros else self._filling, 0, buffer.nbytes)
            for pristine, buffer in restored:
                pristine.restore(buffer)

        return renew

    def _first_run(self, key: Launch, renew: Callable[[], None]) -> float:
        """One run that is looked at, and one that the host times: seconds after which a launch hangs."""
        self.launch(key, renew)
        if damage := self.executions[key].damage() + self.changed_inputs(0):
            self._fail(key, damage[0].kind, damage[0].message)
        if key.program == BASELINE:
            self._expected = self.outputs(key)
        elif all(held.same(self.arguments(0)[name]) for name, held in self._expected.items()):
            self._own = self._expected
        else:
            self._own = self.outputs(key)
            self.seen_wrong = difference(self.workload, self.case, self._own, self._expected, self.leeway())
        started = time.monotonic()
        self.launch(key, renew)
        seconds = time.monotonic() - started
        return min(self._device.launch_seconds, _LEAST_LIMIT) + _TIMES_ONE_LAUNCH * seconds

    def launch(self, key: Launch, renew: Callable[[], None] | None = None) -> None:
        """One more launch, on renewed buffers, and wait. Raises `LaunchFailed`."""
        (renew or self.programs[key].renew)()
        faults = self.executions[key].launch().faults
        if faults:
            self._fail(key, faults[0].kind, faults[0].message)

    def _fail(self, key: Launch, kind: str, message: str) -> None:
        raise LaunchFailed(key.program, FAULT_REASONS[kind], f"{self.labels[key.program]}: {message}")

    def changed_inputs(self, number: int) -> list[Any]:
        """The inputs of a set of buffers that are not what they were, as faults."""
        kinds = {a.name: a.kind for a in self.workload.args}
        buffers = self.arguments(number)
        return [
            Execution.overwritten(name)
            for name, held in self._pristine.items()
            if kinds[name] == "input" and not held.same(buffers[name])
        ]

    def replace_inputs(self, inputs: Mapping[str, Array]) -> None:
        """Other data at the same addresses, in every set of buffers."""
        self._stretched = self.stretched
        self.inputs, self._leeway = inputs, None
        buffers = self.arguments(0)
        for name, values in inputs.items():
            buffers[name].write(np.ascontiguousarray(values))
            self._pristine[name].keep(buffers[name])
        for number in range(1, self.buffer_sets):
            self._put_inputs(number)

    def outputs(self, key: Launch) -> Outputs:
        """What the outputs hold after a launch."""
        buffers = self.executions[key].buffers
        names = [a.name for a in self.workload.args if a.kind in {"output", "inout"}]
        return {name: self._held(buffers[name]) for name in names}

    def leaves_elements(self) -> bool:
        """Whether the baseline leaves some element of an output as it was: no caller comes with such a shape."""
        names = [a.name for a in self.workload.args if a.kind == "output"]
        left = {name: self._filled(name, self._expected[name], _BYTES[0]) for name in names}
        if not any(elements.any() for elements in left.values()):
            return False
        key = Launch(BASELINE, 0, 0)
        self.launch(key)
        if self._filling == _BYTES[0]:
            self.launch(key)
        again = self.outputs(key)
        return any((left[name] & self._filled(name, again[name], self._filling)).any() for name in names)

    def _filled(self, name: str, held: HeldBytes, filling: int) -> npt.NDArray[np.bool_]:
        """Which elements of a buffer hold what it was filled with."""
        argument = self.workload.argument(name)
        assert argument is not None
        bytes_of_each = held.read().reshape(-1, DTYPES[argument.dtype].itemsize)
        return np.asarray((bytes_of_each == filling).all(axis=1), np.bool_)

    def leeway(self) -> Leeway:
        """What differences between the two programs are held to, on the inputs that the buffers hold."""
        if self._leeway is None:
            self._leeway = Leeway(self.depth(), self._condition, self._in_another_order())
        return self._leeway

    def _in_another_order(self) -> bool:
        """Whether the programs differ in the order of sums alone: none that this shape uses rounds more coarsely."""
        if not self._same_expression:
            return False
        baseline, candidate = (
            max(
                coarsest_rounding(built.image(launch.unit, self.case.dims).ptx)
                for launch in built.bound(self.workload, self.case.dims).launches
            )
            for built in self._built
        )
        return candidate <= baseline

    @property
    def stretched(self) -> bool:
        """Whether a difference passed for another order of sums alone."""
        return self._stretched or (self._leeway is not None and self._leeway.stretched)

    def depth(self) -> int:
        """The terms of the baseline's largest sum."""
        return Depths(self._built[BASELINE], self.workload).of(self.case.dims)

    def _condition(self) -> Mapping[str, Errors]:
        """What one unit in the last place of the inputs does to the baseline's outputs; asked a few times."""
        key, errors = Launch(BASELINE, 0, 0), dict[str, Errors]()
        execution, buffers = self.executions[key], self.arguments(0)
        self.launch(key)
        before = execution.outputs()
        for draw in range(_DRAWS):
            for name, values in perturbed(self.workload, self.case, self.inputs, draw).items():
                buffers[name].write(np.ascontiguousarray(values))
            self.launch(key)
            for name, got in execution.outputs().items():
                argument = self.workload.argument(name)
                assert argument is not None
                moved = measure(got, before[name], DTYPES[argument.dtype])
                errors[name] = moved.larger(errors.get(name))
        for name, held in self._pristine.items():
            held.restore(buffers[name])
        return errors

    def inspect(self, launch: Launch) -> None:
        """Look at the outputs of some timed launches of the candidate; which ones is drawn."""
        if launch.program != CANDIDATE or self.seen_wrong:
            return
        self._launches += 1
        if self._launches < self._next_inspection:
            return
        self._next_inspection = int(self._launches * self._generator.uniform(*_INSPECTIONS)) + 1
        self.seen_wrong = self.wrong_outputs(launch)

    def wrong_outputs(self, key: Launch) -> str:
        """What is wrong with the outputs that a launch has just left; "" when nothing is."""
        buffers = self.executions[key].buffers
        return difference_of(self.workload, self.case, buffers, self._own, self._expected, self.leeway())
