"""One program's launches on one shape: poisoned outputs, guarded buffers, inputs that must not change."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from kernel_gate.devices.base import Buffer, Device, DeviceError, Fault, Image, LaunchResult, LoadedKernel
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.launching import BoundLaunch, Dim3
from kernel_gate.program import Program
from kernel_gate.workload import Argument, Workload

SANITIZER_KINDS = frozenset({"race", "uninitialised"})
"""Faults that do not end a launch and can leave values right by luck; the sanitize stage judges them."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one launch left behind."""

    outputs: Mapping[str, Array]
    """Stored elements in the workload's shapes."""
    poison: Mapping[str, Array]
    """What pure outputs were filled with before."""
    faults: tuple[Fault, ...]
    result: LaunchResult


class Execution:
    """The buffers of one program on one shape. They stay at their addresses from launch to launch."""

    def __init__(
        self,
        device: Device,
        kernel: LoadedKernel,
        image: Image,
        workload: Workload,
        program: Program,
        bound: BoundLaunch,
    ) -> None:
        self._kernel = kernel
        self._image = image
        self._program = program
        self._bound = bound
        self._pointers = [a for a in workload.args if a.is_pointer]
        self._shapes = {a.name: workload.extents(a, bound.dims) for a in self._pointers}
        self._buffers: dict[str, Buffer] = {}
        try:
            for argument in self._pointers:
                self._buffers[argument.name] = self._allocate(device, argument)
        except BaseException:
            self.close()
            raise

    def _allocate(self, device: Device, argument: Argument) -> Buffer:
        itemsize = DTYPES[argument.dtype].itemsize
        count = math.prod(self._shapes[argument.name])
        return device.allocate(count * itemsize, argument.name, itemsize)

    def __enter__(self) -> Execution:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the buffers back."""
        while self._buffers:
            self._buffers.popitem()[1].free()

    def fill(self, inputs: Mapping[str, Array], pattern: int) -> dict[str, Array]:
        """Write inputs, and poison outputs and scratch; the poison of the outputs."""
        poison: dict[str, Array] = {}
        for argument in self._pointers:
            dtype = DTYPES[argument.dtype]
            buffer = self._buffers[argument.name]
            if argument.name in inputs:
                buffer.write(np.ascontiguousarray(inputs[argument.name]))
                continue
            array = dtype.poison(math.prod(self._shapes[argument.name]), pattern)
            buffer.write(array)
            buffer.declare_uninitialised()
            if argument.kind == "output":
                poison[argument.name] = array
        return poison

    def _call(self) -> tuple[Dim3, Dim3, int, list[Buffer | np.generic]]:
        taken = self._image.parameters if self._image.parameters is not None else self._bound.order
        arguments: list[Buffer | np.generic] = [
            self._buffers[name] if name in self._buffers else self._bound.scalars[name] for name in taken
        ]
        threads = self._image.block_threads
        block = (threads, 1, 1) if threads else self._bound.block
        return self._bound.grid, block, self._bound.shared_bytes, arguments

    def launch(self) -> LaunchResult:
        """Run once on what the buffers hold, and wait."""
        return self._kernel.launch(*self._call())

    def prepare(self) -> Callable[[], None]:
        """A launch that does not wait, for timing. Raises `DeviceError` on a device that cannot be timed."""
        prepared = getattr(self._kernel, "prepared", None)
        if prepared is None:
            raise DeviceError("this device cannot be timed")
        call: Callable[[], None] = prepared(*self._call())
        return call

    def outputs(self) -> dict[str, Array]:
        """What the outputs hold now."""
        return {
            a.name: self._buffers[a.name].read().view(DTYPES[a.dtype].storage).reshape(self._shapes[a.name])
            for a in self._pointers
            if a.kind in {"output", "inout"}
        }

    def run(self, inputs: Mapping[str, Array], pattern: int) -> Run:
        """Fill, launch, look at everything."""
        poison = self.fill(inputs, pattern)
        result = self.launch()
        faults = [*(self._in_users_lines(f) for f in result.faults)]
        if any(f.kind not in SANITIZER_KINDS for f in faults):
            return Run({}, poison, tuple(faults), result)
        faults += self._damage()
        outputs: dict[str, Array] = {}
        for argument in self._pointers:
            dtype = DTYPES[argument.dtype]
            if argument.kind == "scratch":
                continue
            held = (
                self._buffers[argument.name].read().view(dtype.storage).reshape(self._shapes[argument.name])
            )
            if argument.kind == "input":
                faults += self._overwritten(argument, inputs[argument.name], held)
            else:
                outputs[argument.name] = held
        return Run(outputs, poison, tuple(faults), result)

    def _in_users_lines(self, fault: Fault) -> Fault:
        line = fault.line + self._program.first_line - 1 if fault.line is not None else None
        return Fault(fault.kind, fault.message, line, fault.block, fault.thread, fault.buffer, fault.element)

    def _damage(self) -> list[Fault]:
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
        message = (
            f"changed its input {argument.name}[{index}]; only output and inout arguments may be written"
        )
        return [Fault("input_changed", message, buffer=argument.name, element=element)]
