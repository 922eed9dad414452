"""A host function that launches kernels, read as a program: its launches, memsets and allocations in order."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.expressions import Number as Plain
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Pointer, Scratch
from kernel_gate.program import Value as Constant
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Parameter, SourceFile
from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.functions import HostCode, bare_type
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched
from kernel_lineage.workloads.following.library import ALLOCATORS, buffer_at, library_call
from kernel_lineage.workloads.following.sequence import Sequence, Unreadable
from kernel_lineage.workloads.following.sizes import BLOCK_SIZES
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Value,
    divided,
    made,
    plain,
    times,
)
from kernel_lineage.workloads.following.values import Pointer as Address
from kernel_lineage.workloads.following.workspaces import CLEARS
from kernel_lineage.workloads.following.written import tidy
from kernel_lineage.workloads.host_program import HostProgram

STREAM = "cudaStream_t"
"""A type of parameters of which a workload has none."""


def read_host_function(
    source: SourceFile, unit: Unit, file: Unit, name: str, workload: Workload
) -> HostProgram:
    """What a host function of a unit launches, over the workload's arguments. Raises `Unreadable`.

    `file` is the source without its headers, which tells lines.
    """
    reading = Reading(source, unit, file, workload)
    (function, *_) = (f for f in unit.functions[name] if f.of_host)
    reading.to_end(function, reading.arguments_of(function))
    if not any(isinstance(step, LaunchStep) for step in reading.steps):
        raise Unreadable(file.functions[name][0].node.start_point[0] + 1, f"`{name}` launches no kernel")
    return HostProgram(tuple(reading.steps), tuple(reading.scratch))


class Reading(Sequence):
    """Collects what functions do, with numbers over the workload's arguments and dims."""

    def __init__(self, source: SourceFile, unit: Unit, file: Unit, workload: Workload) -> None:
        super().__init__(unit, file)
        self.steps: list[LaunchStep | MemsetStep] = []
        self.scratch: list[Scratch] = []
        self._source, self.workload = source, workload
        self.memory: dict[Buffer, str] = {}
        """Memory of the device by its names."""
        self.shapes: list[dict[str, Plain]] = [
            {**dims, **workload.scalars(dims)}
            for dims in itertools.chain(workload.shapes(), workload.profile_dims)
        ]

    def arguments_of(self, function: HostCode) -> Mapping[str, Value]:
        """The function's parameters as the workload's arguments: by name where all are known, else by position."""
        workload = self.workload
        names = {a.name for a in workload.args} | set(workload.dims)
        parameters = [p for p in function.parameters if p.type != STREAM]
        by_name = all(p.name in names or p.name.lower() in BLOCK_SIZES for p in parameters)
        if not by_name and len(parameters) != len(workload.args):
            raise Unreadable(
                self._line_of(function.node) or 1,
                f"`{function.name}` takes {', '.join(p.name for p in parameters)}; the workload declares "
                f"{', '.join(a.name for a in workload.args)}; make them agree",
            )
        values: dict[str, Value] = {}
        for position, parameter in enumerate(parameters):
            name = parameter.name if by_name else workload.args[position].name
            argument = workload.argument(name)
            if argument is not None and argument.is_pointer:
                kind = alias_of(bare_type(parameter.type), self.unit)
                buffer = Buffer(name, dtype=kind if bytes_of(kind) else "")
                self.memory[buffer] = name
                values[parameter.name] = Address(buffer, buffer.dtype)
            elif name in names:
                values[parameter.name] = Number(self.shapes[0][name], (name,))
            else:
                values[parameter.name] = self._threads()
        return values

    def _threads(self) -> Number:
        """How many threads a block of the workload has."""
        total = plain(1)
        for extent in map(str, self.workload.launch.block):
            value = evaluate(extent, self.shapes[0])
            total = times(total, plain(value) if extent.isdigit() else made(value, extent))
        return total

    def decided(self, number: Number) -> Plain:
        if number.is_constant:
            return number.value
        text = self.expression(number)
        values = {evaluate(text, shape) for shape in self.shapes}
        if len(values) > 1:
            raise NotFollowed(f"`{text}`, which is not the same for all shapes,")
        return values.pop()

    def expression(self, value: Value) -> str:
        """A number as an expression of the workload. Raises `NotFollowed`."""
        number = self._as_number(value)
        text = tidy(number.text)
        try:
            for shape in self.shapes:
                evaluate(text, shape)
        except ExpressionError as error:
            raise NotFollowed(f"`{text}`, of which {str(error).partition(': ')[2]},") from error
        return text

    def _reached(self, launch: Launched) -> Value:
        callee, arguments = launch.callee, launch.arguments
        kernel = self._source.kernel(callee.name)
        if kernel is None:
            raise NotFollowed(f"the launch of `{callee.name}`, which is no kernel of this file,")
        grid, block = (tuple(map(self.expression, extents)) for extents in (launch.grid, launch.block))
        spec = LaunchSpec(grid, block, self.expression(launch.shared))
        parameters = [*kernel.parameters, *[None] * len(arguments)]
        operands = tuple(self._operand(a, p) for a, p in zip(arguments, parameters, strict=False))
        self.steps.append(LaunchStep(callee.name, spec, operands, callee.template))
        return plain(0)

    def _operand(self, operand: LaunchArgument, parameter: Parameter | None) -> Operand:
        buffer = buffer_at(operand.value)
        if isinstance(operand.value, (Address, Buffer)):
            if buffer not in self.memory:
                raise NotFollowed(f"`{operand.written}`, which points to nothing that is allocated here,")
            offset = operand.value.offset if isinstance(operand.value, Address) else None
            if offset is None or (offset.is_constant and offset.value == 0):
                return self.memory[buffer]
            return Pointer(
                self.memory[buffer], self.expression(times(offset, plain(self._itemsize(operand.value))))
            )
        text = self.expression(operand.value)
        kind = parameter and (parameter.dtype or dtype_of(alias_of(bare_type(parameter.type), self.unit)))
        argument = self.workload.argument(text)
        if argument is not None and argument.kind == "scalar" and kind in (None, argument.dtype):
            return argument.name
        return Constant(text, kind or "int32")

    def _itemsize(self, pointer: Value) -> int:
        """Bytes of one element of what a pointer points to."""
        buffer = buffer_at(pointer)
        kind = pointer.dtype if isinstance(pointer, Address) else ""
        argument = self.workload.argument(self.memory[buffer]) if buffer in self.memory else None
        one = bytes_of(kind) or (DTYPES[argument.dtype].itemsize if argument is not None else None)
        if one is None:
            raise NotFollowed(f"a pointer to `{kind}`")
        return one

    def runtime(self, name: str, args: list[Value]) -> bool:
        if name in ALLOCATORS and len(args) >= 2:
            library_call(name, args, self.sizes)
            buffer = buffer_at(args[0])
            if buffer is None or buffer.size is None:
                raise NotFollowed(f"the size of `{name}()`")
            kind = dtype_of(buffer.dtype) or "uint8"
            count = divided(buffer.size, plain(DTYPES[kind].itemsize))
            self.memory[buffer] = f"{buffer.name}_{len(self.scratch)}"
            self.scratch.append(Scratch(self.memory[buffer], kind, (self.expression(count),)))
            return True
        if name in CLEARS and len(args) >= 3:
            target = args[0]
            buffer = buffer_at(target)
            if buffer not in self.memory:
                raise NotFollowed(f"`{name}()` of what is not known here")
            offset = target.offset if isinstance(target, Address) else None
            start = (
                self.expression(times(offset, plain(self._itemsize(target)))) if offset is not None else "0"
            )
            value = int(self.decided(self._as_number(args[1]))) & 0xFF
            self.steps.append(MemsetStep(self.memory[buffer], value, self.expression(args[2]), start))
            return True
        return False

    @staticmethod
    def _as_number(value: Value) -> Number:
        if isinstance(value, Number):
            return value
        raise NotFollowed(getattr(value, "why", "") or "something else than a number")
