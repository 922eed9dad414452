"""One program on one shape: poisoned outputs, guarded buffers, inputs that must not change."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.cases import ALLOCATED, Memory
from kernel_gate.devices.base import (
    Asserted,
    Buffer,
    Device,
    DeviceError,
    Fault,
    Image,
    LaunchResult,
    LoadedKernel,
    Place,
)
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.launching import (
    BoundLaunch,
    BoundMemset,
    BoundOperand,
    BoundPointer,
    BoundProgram,
    BoundStructure,
    Dim3,
)
from kernel_gate.processes.closing import Closing
from kernel_gate.program import FillStep, Program
from kernel_gate.workload import Workload

_HEADERS = re.compile(r'^#line \d+ "(.+)"$', re.MULTILINE)
SANITIZER_KINDS = frozenset({"race", "uninitialised"})
"""Faults that do not end a launch and can leave values right by luck; the sanitize stage judges them."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a program left behind."""

    outputs: Mapping[str, Array]
    """Stored elements in the workload's shapes."""
    faults: tuple[Fault, ...]
    result: LaunchResult


class Execution(Closing):
    """The buffers of one program on one shape. They stay at their addresses from launch to launch."""

    def __init__(
        self,
        device: Device,
        kernels: Sequence[tuple[LoadedKernel, Image]],
        workload: Workload,
        program: Program,
        bound: BoundProgram,
        lent: Mapping[str, Buffer] | None = None,
        memory: Memory = ALLOCATED,
    ) -> None:
        """`kernels` are those of the program's launches, in order; `lent` buffers stay their owner's."""
        self._kernels = kernels
        self._program = program
        self._bound = bound
        self._pointers = [a for a in (*workload.args, *bound.scratch) if a.is_pointer]
        self._shapes = {a.name: workload.extents(a, bound.dims) for a in self._pointers}
        self._buffers: dict[str, Buffer] = dict(lent or {})
        self._lent = frozenset(self._buffers)
        self._offsets = dict(memory.offsets)
        self._lies_in = dict([memory.alias]) if memory.alias is not None else {}
        """Output → the input whose buffer it shares."""
        try:
            for argument in self._pointers:
                if argument.name not in self._lent and argument.name not in self._lies_in:
                    self._buffers[argument.name] = self._allocate(device, argument)
            for output, source in self._lies_in.items():
                self._buffers[output] = self._buffers[source]
        except BaseException:
            self.close()
            raise

    def _allocate(self, device: Device, argument: Argument) -> Buffer:
        itemsize = DTYPES[argument.dtype].itemsize
        count = math.prod(self._shapes[argument.name])
        return device.allocate(count * itemsize, argument.name, itemsize, self._offsets.get(argument.name, 0))

    def close(self) -> None:
        """Give its own buffers back."""
        for output in self._lies_in:
            self._buffers.pop(output, None)
        while self._buffers:
            name, buffer = self._buffers.popitem()
            if name not in self._lent:
                buffer.free()

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """By name: arguments, and scratch of the program's own."""
        return self._buffers

    def fill(self, inputs: Mapping[str, Array], pattern: int) -> None:
        """Write inputs, poison outputs and scratch, and clear the scratch that a launcher clears."""
        for argument in self._pointers:
            dtype = DTYPES[argument.dtype]
            buffer = self._buffers[argument.name]
            if argument.name in self._lies_in:
                continue
            if argument.name in inputs:
                buffer.write(np.ascontiguousarray(inputs[argument.name]))
                if argument.kind == "input" and argument.name not in self._lies_in.values():
                    buffer.declare_input()
                continue
            if argument.is_cleared:
                buffer.write(np.zeros(math.prod(self._shapes[argument.name]), dtype.storage))
                continue
            buffer.write(dtype.poison(math.prod(self._shapes[argument.name]), pattern))
            buffer.declare_uninitialised()

    def _call(self, launch: BoundLaunch, image: Image) -> tuple[Dim3, Dim3, int, list[Buffer | np.generic]]:
        taken = image.parameters if image.parameters is not None else launch.order
        arguments = [self._argument(launch.operands[name]) for name in taken]
        threads = image.block_threads
        block = (threads, 1, 1) if threads else launch.block
        return launch.grid, block, launch.shared_bytes, arguments

    def _argument(self, operand: BoundOperand) -> Buffer | np.generic:
        if isinstance(operand, BoundStructure):
            return self._structure(operand)
        if not isinstance(operand, BoundPointer):
            return operand
        buffer = self._buffers[operand.buffer]
        return np.uint64(buffer.address + operand.offset) if operand.offset else buffer

    def _structure(self, structure: BoundStructure) -> np.void:
        """A structure as words that are as wide as its alignment, as far as there are such words."""
        data = bytearray(structure.nbytes)
        for at, operand in structure.fields:
            word = self._argument(operand)
            raw = word.tobytes() if isinstance(word, np.generic) else np.uint64(word.address).tobytes()
            data[at : at + len(raw)] = raw
        width = min(structure.align, 8)
        words = np.dtype([("words", f"u{width}", (structure.nbytes // width,))])
        structured: np.void = np.frombuffer(bytes(data), words)[0]
        return structured

    def overwrite_variables(self, seed: int) -> tuple[str, ...]:
        """Put random bytes into the variables that the program's modules keep between launches, if it changed any."""
        return tuple(
            dict.fromkeys(n for kernel, _ in self._kernels for n in kernel.overwrite_variables(seed))
        )

    def launch(self) -> LaunchResult:
        """Run once on what the buffers hold, and wait; the first step that fails is the last."""
        kernels = iter(self._kernels)
        several = len(self._kernels) > 1
        done = LaunchResult()
        for step in self._bound.steps:
            if isinstance(step, BoundMemset):
                self._buffers[step.buffer].memset(step.value, step.offset, step.nbytes)
                continue
            if isinstance(step, FillStep):
                try:
                    self._fills(step)()
                except DeviceError as error:
                    return replace(done, faults=(*done.faults, Fault("launch", str(error))))
                continue
            kernel, image = next(kernels)
            result = kernel.launch(*self._call(step, image))
            faults = [
                replace(f, message=f"{step.entry}: {f.message}") if several else f for f in result.faults
            ]
            counted = done.counted
            if result.counted is not None:
                counted = result.counted if counted is None else counted + result.counted
            done = LaunchResult(
                (*done.faults, *faults),
                _summed(done.counts, result.counts),
                counted,
                (*done.births, *result.births),
                added(done.asserted, result.asserted),
                tuple(dict.fromkeys((*done.tags_lost, *result.tags_lost))),
                result.device_lost,
                done.stopped or result.stopped,
            )
            if done.device_lost or any(f.kind not in SANITIZER_KINDS for f in faults):
                break
        return done

    def calls(self) -> Iterator[tuple[LoadedKernel, tuple[Dim3, Dim3, int, list[Buffer | np.generic]]]]:
        """Each kernel of one run with what it is launched with."""
        for launch, (kernel, image) in zip(self._bound.launches, self._kernels, strict=True):
            yield kernel, self._call(launch, image)

    @property
    def step_count(self) -> int:
        """Launches and memsets of one run: what the host queues."""
        return len(self._bound.steps)

    def launched(self) -> list[tuple[LoadedKernel, int, int]]:
        """The launches of one run: kernel, threads per block, bytes of dynamic shared memory."""
        return [(kernel, math.prod(call[1]), call[2]) for kernel, call in self.calls()]

    def prepare(self) -> Callable[[], None]:
        """A run that does not wait, for timing. Raises `DeviceError` on a device that cannot be timed."""
        kernels = iter(self._kernels)
        calls: list[Callable[[], None]] = []
        for step in self._bound.steps:
            if isinstance(step, BoundMemset):
                memset = self._buffers[step.buffer].memset
                calls.append(partial(memset, step.value, step.offset, step.nbytes))
                continue
            if isinstance(step, FillStep):
                calls.append(self._fills(step))
                continue
            kernel, image = next(kernels)
            prepared = getattr(kernel, "prepared", None)
            if prepared is None:
                raise DeviceError("this device cannot be timed")
            calls.append(prepared(*self._call(step, image)))
        if len(calls) == 1:
            return calls[0]

        def run_all() -> None:
            for call in calls:
                call()

        return run_all

    def _fills(self, step: FillStep) -> Callable[[], None]:
        """What fills a variable wherever a module has it. Raises `DeviceError` where none does."""
        buffer = self._buffers[step.buffer]
        own = [fill for kernel, _ in self._kernels if (fill := kernel.filling(step.variable, buffer))]
        if not own:
            raise DeviceError(f"{self._program.name or self._program.entry} has no variable {step.variable}")

        def fill_all() -> None:
            for fill in own:
                fill()

        return fill_all

    def outputs(self) -> dict[str, Array]:
        """What the outputs hold now."""
        return {
            a.name: self._buffers[a.name].read().view(DTYPES[a.dtype].storage).reshape(self._shapes[a.name])
            for a in self._pointers
            if a.kind in {"output", "inout"}
        }

    def run(self, inputs: Mapping[str, Array], pattern: int) -> Run:
        """Fill, launch, look at everything."""
        self.fill(inputs, pattern)
        result = self.launch()
        faults = [*(self._in_users_lines(f) for f in result.faults)]
        if any(f.kind not in SANITIZER_KINDS for f in faults):
            return Run({}, tuple(faults), result)
        faults += self.damage()
        outputs: dict[str, Array] = {}
        for argument in self._pointers:
            dtype = DTYPES[argument.dtype]
            if argument.kind == "scratch":
                continue
            held = (
                self._buffers[argument.name].read().view(dtype.storage).reshape(self._shapes[argument.name])
            )
            if argument.kind == "input":
                if argument.name in self._lies_in.values():
                    continue
                faults += self._overwritten(argument, inputs[argument.name], held)
            else:
                outputs[argument.name] = held
        return Run(outputs, tuple(faults), result)

    def _in_users_lines(self, fault: Fault) -> Fault:
        related = tuple(self.in_users_lines(place) for place in fault.related)
        line, inner = self._users_line(fault.line), self._in_header(fault.inner)
        return replace(fault, line=line, related=related, inner=inner)

    def in_users_lines(self, place: Place) -> Place:
        """A place in the program's text as one in the file that it is from."""
        return replace(place, line=self._users_line(place.line), inner=self._in_header(place.inner))

    def _in_header(self, inner: str) -> str:
        """A place in a file that a compiler names as one in a header of the program's; "" where it is in another."""
        file, _, line = inner.rpartition(":")
        for name in _HEADERS.findall(self._program.source) if file else ():
            if name != self._program.name and f"/{file}".endswith(f"/{name}"):
                return f"{name}:{line}"
        return ""

    def _users_line(self, line: int | None) -> int | None:
        return line + self._program.first_line - 1 if line is not None else None

    def damage(self) -> list[Fault]:
        """Writes beside a buffer that only its guard zone noticed."""
        faults = []
        for argument in self._pointers:
            offset = self._buffers[argument.name].damaged()
            if offset is not None:
                itemsize = DTYPES[argument.dtype].itemsize
                element = offset // itemsize
                extent = math.prod(self._shapes[argument.name])
                where = f"element {element} of {argument.name}, which has {extent}"
                faults.append(
                    Fault(
                        "out_of_bounds",
                        f"wrote outside its buffer: {where}",
                        buffer=argument.name,
                        element=element,
                    )
                )
        return faults

    @staticmethod
    def _overwritten(argument: Argument, before: Array, after: Array) -> list[Fault]:
        width = f"u{after.dtype.itemsize}"
        changed = np.ascontiguousarray(before).view(width).ravel() != after.view(width).ravel()
        if not changed.any():
            return []
        element = int(np.argmax(changed))
        index = ", ".join(str(int(i)) for i in np.unravel_index(element, after.shape)) if after.ndim else ""
        return [Execution.overwritten(argument.name, f"[{index}]", element)]

    @staticmethod
    def overwritten(name: str, index: str = "", element: int | None = None) -> Fault:
        """That an input is not what it was; at which element, where that is known."""
        message = f"changed its input {name}{index}; only output and inout arguments may be written"
        return Fault("input_changed", message, buffer=name, element=element)


def added(first: Sequence[Asserted], second: Sequence[Asserted]) -> tuple[Asserted, ...]:
    """What several launches say of the same invariants."""
    by_number = {assertion.number: assertion for assertion in first}
    for assertion in second:
        by_number[assertion.number] = (
            by_number[assertion.number] + assertion if assertion.number in by_number else assertion
        )
    return tuple(by_number.values())


def _summed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of two launches together: numbers are added, lists joined, tables summed by key."""
    total = dict(first)
    for key, value in second.items():
        before = total.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            total[key] = _summed(before, value)
        else:
            total[key] = value if before is None else before + value
    return total
