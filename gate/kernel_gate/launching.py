"""A program, bound to one shape: its launches, memsets and scratch buffers as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.build.errors import BuildError
from kernel_gate.build.unit import Unit, extent_name
from kernel_gate.cases import ALLOCATED, Case, Memory
from kernel_gate.compile_time import Constant, constant
from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, Number, evaluate, evaluate_int
from kernel_gate.program import (
    STAGES_MOST,
    WARPS_MOST,
    FillStep,
    LaunchSpec,
    LaunchStep,
    Operand,
    Pointer,
    Program,
    Step,
    Structure,
    Value,
    Word,
)
from kernel_gate.reasons import Reason
from kernel_gate.workload import Workload

GRID_MOST = (2**31 - 1, 65535, 65535)
BLOCK_MOST = (1024, 1024, 64)
THREADS_MOST = 1024
"""What a block has at the most (CUDA programming guide, table of compute capabilities)."""
_TRITON_DIVISOR = 16
"""Triton's launcher specialises addresses and integers that are multiples of this."""

Dim3 = tuple[int, int, int]


class LaunchError(Exception):
    """A launch that no device takes, or that cannot be computed; the message names the expression."""

    def __init__(self, message: str, *, code: Reason = Reason.LAUNCH_IMPOSSIBLE) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class BoundPointer:
    """An address: a buffer's, plus bytes."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class BoundStructure:
    """A structure by value: what lies at which of its bytes."""

    fields: tuple[tuple[int, BoundPointer | np.generic], ...]
    nbytes: int
    align: int


BoundOperand = BoundPointer | BoundStructure | np.generic


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """All that one launch needs besides its buffers."""

    entry: str
    grid: Dim3
    block: Dim3
    """Ignored for Triton: the image says how many threads."""
    shared_bytes: int
    order: tuple[str, ...]
    """Names of the arguments, in the kernel's order."""
    operands: Mapping[str, BoundOperand]
    """What each name stands for."""
    unit: Unit


@dataclass(frozen=True, slots=True)
class BoundMemset:
    """Bytes of a buffer that are set to one value."""

    buffer: str
    value: int
    offset: int
    nbytes: int


BoundStep = BoundLaunch | BoundMemset | FillStep


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """What a program does on one shape."""

    dims: Mapping[str, int]
    steps: tuple[BoundStep, ...]
    scratch: tuple[Argument, ...] = ()
    """The program's own buffers, with extents as numbers."""

    @property
    def launches(self) -> tuple[BoundLaunch, ...]:
        """The steps that launch a kernel."""
        return tuple(step for step in self.steps if isinstance(step, BoundLaunch))


def bind(
    workload: Workload, program: Program, dims: Mapping[str, int], memory: Memory = ALLOCATED
) -> BoundProgram:
    """The launches of a program for one shape, with buffers that lie so. Raises `LaunchError`."""
    label = program.name or program.entry
    try:
        names = workload.numbers(dims, dict(memory.offsets))
        scratch = tuple(
            Argument(
                name=own.name,
                kind="scratch",
                dtype=own.dtype,
                shape=tuple(evaluate_int(extent, names) for extent in own.shape),
            )
            for own in program.scratch
        )
        binding = _Binding(workload, program, dims, names, scratch, dict(memory.offsets))
        if steps := program.steps or _sequence(workload, program):
            bound = tuple(binding.step(step) for step in steps)
        else:
            order = program.arguments or tuple(a.name for a in workload.args)
            bound = (binding.single(program.launch or workload.launch.spec(), order),)
    except ExpressionError as error:
        message = f"{label}: the launch cannot be computed: {error}"
        raise LaunchError(message, code=Reason.LAUNCH_NOT_COMPUTABLE) from error
    except OverflowError as error:
        message = f"{label}: a scalar argument cannot be passed: {error}"
        raise LaunchError(message, code=Reason.LAUNCH_NOT_COMPUTABLE) from error
    except LaunchError as error:
        raise LaunchError(f"{label}: {error}", code=error.code) from error
    return BoundProgram(dims, bound, scratch)


def _sequence(workload: Workload, program: Program) -> tuple[Step, ...]:
    """The workload's sequence, for a program that brings no launch of its own."""
    return workload.steps if program.launch is None else ()


@dataclass(frozen=True, slots=True)
class _Binding:
    """What expressions and names of one program mean on one shape."""

    workload: Workload
    program: Program
    dims: Mapping[str, int]
    names: Mapping[str, Number]
    scratch: tuple[Argument, ...]
    offsets: Mapping[str, int]
    """Bytes that a buffer starts past a multiple of 256, where it does."""

    def argument(self, name: str) -> Argument:
        """An argument of the workload or a scratch buffer. Raises `LaunchError` for any other name."""
        argument = self.workload.argument(name) or next((a for a in self.scratch if a.name == name), None)
        if argument is None:
            message = f"the workload has no argument named {name}"
            raise LaunchError(message, code=Reason.ARGUMENTS_DIFFER)
        return argument

    def nbytes(self, name: str) -> int:
        """The size of a buffer."""
        argument = self.argument(name)
        return math.prod(self.workload.extents(argument, self.dims)) * DTYPES[argument.dtype].itemsize

    def step(self, step: Step) -> BoundStep:
        """One step of a sequence, as numbers."""
        if isinstance(step, LaunchStep):
            unit = Unit(entry=step.entry, template_arguments=step.template_arguments, by_position=True)
            return self._launch(step.launch, step.arguments, unit)
        if isinstance(step, FillStep):
            return step
        offset = evaluate_int(step.offset, self.names)
        size = self.nbytes(step.buffer)
        nbytes = size - offset if step.nbytes is None else evaluate_int(step.nbytes, self.names)
        if offset < 0 or nbytes < 0 or offset + nbytes > size:
            raise LaunchError(
                f"the memset of {step.buffer} sets bytes {offset} to {offset + nbytes}; it has {size}"
            )
        return BoundMemset(step.buffer, step.value, offset, nbytes)

    def single(self, launch: LaunchSpec, order: tuple[str, ...]) -> BoundLaunch:
        """The launch of a program that is one launch."""
        return self._launch(launch, order, Unit())

    def _launch(self, launch: LaunchSpec, arguments: tuple[Operand, ...], unit: Unit) -> BoundLaunch:
        names = dict(self.names)
        constants: dict[str, Constant] = {}
        for name, text in launch.constexpr.items():
            value = constants[name] = constant(text, names)
            if isinstance(value, (int, float)):
                names[name] = value
        grid = _three(launch.grid, names, "grid", GRID_MOST)
        block = _three(launch.block, names, "block", BLOCK_MOST)
        if self.program.language == "cuda" and math.prod(block) > THREADS_MOST:
            raise LaunchError(f"a block of {block} has more than {THREADS_MOST} threads")
        shared_bytes = evaluate_int(launch.shared_bytes, names)
        order, operands, dtypes = [], {}, []
        for position, operand in enumerate(arguments):
            name = operand if isinstance(operand, str) else f"argument {position}"
            order.append(name)
            operands[name], dtype = self._operand(operand)
            dtypes.append(dtype)
            for extent, number in self._extents(operand):
                order.append(extent)
                operands[extent] = number
                dtypes.append("int32")
        if self.program.language == "triton":
            unit = self._triton_unit(unit, launch, constants, names, order, operands, dtypes)
        elif constants:
            unit = replace(unit, constexpr=tuple(constants.items()))
        entry = unit.entry or self.program.entry
        return BoundLaunch(entry, grid, block, shared_bytes, tuple(order), operands, unit)

    def _extents(self, operand: Operand) -> Iterator[tuple[str, np.generic]]:
        """Names and values of the extents of a buffer that is passed by a tensor descriptor."""
        argument = self.workload.argument(operand) if isinstance(operand, str) else None
        if argument is not None and argument.descriptor:
            for axis, extent in enumerate(self.workload.extents(argument, self.dims)):
                yield extent_name(argument.name, axis), np.int32(extent)

    def _descriptors(self, names: Mapping[str, Number]) -> Iterator[tuple[str, tuple[int, ...]]]:
        for argument in self.workload.args:
            if argument.descriptor:
                yield argument.name, tuple(evaluate_int(block, names) for block in argument.descriptor)

    def _operand(self, operand: Operand) -> tuple[BoundOperand, str]:
        """What an argument is, and its dtype; with a `*` for pointers."""
        return (self._structure(operand), "") if isinstance(operand, Structure) else self._word(operand)

    def _structure(self, structure: Structure) -> BoundStructure:
        """Raises `LaunchError` for a field that does not lie within the structure, and behind the one before it."""
        fields: list[tuple[int, BoundPointer | np.generic]] = []
        end = 0
        for at, word in sorted(structure.fields, key=lambda field: field[0]):
            bound, _ = self._word(word)
            if (
                at < end
                or (end := at + (8 if isinstance(bound, BoundPointer) else bound.nbytes)) > structure.nbytes
            ):
                shown = word if isinstance(word, str) else f"what lies at {at}"
                raise LaunchError(f"{shown} does not fit into its structure of {structure.nbytes} bytes")
            fields.append((at, bound))
        return BoundStructure(tuple(fields), structure.nbytes, structure.align)

    def _word(self, operand: Word) -> tuple[BoundPointer | np.generic, str]:
        match operand:
            case Value(value, name):
                if name not in DTYPES:
                    raise LaunchError(f"`{value}` has the dtype {name!r}; known are {', '.join(DTYPES)}")
                return DTYPES[name].scalar(evaluate(value, self.names)), name
            case Pointer(buffer, offset):
                dtype = self.argument(buffer).dtype
                return BoundPointer(buffer, evaluate_int(offset, self.names)), f"*{dtype}"
        argument = self.argument(operand)
        if argument.is_pointer:
            return BoundPointer(operand), f"*{argument.dtype}"
        return DTYPES[argument.dtype].scalar(self.names[operand]), argument.dtype

    def _triton_unit(
        self,
        unit: Unit,
        launch: LaunchSpec,
        constants: Mapping[str, Constant],
        names: Mapping[str, Number],
        order: list[str],
        operands: Mapping[str, BoundOperand],
        dtypes: list[str],
    ) -> Unit:
        """What Triton's launcher would specialise on: it looks at the addresses and integers of each call."""
        arguments, divisible, ones = [], [], []
        for name, dtype in zip(order, dtypes, strict=True):
            operand = operands[name]
            if name in constants and not unit.by_position:
                continue
            star = "*" if dtype.startswith("*") else ""
            kind = DTYPES[dtype.removeprefix("*")]
            arguments.append((name, f"{star}{kind.triton}"))
            if isinstance(operand, BoundPointer):
                address = self.offsets.get(operand.buffer, 0) + operand.offset
                if address % _TRITON_DIVISOR == 0:
                    divisible.append(name)
            elif isinstance(operand, np.generic) and not kind.is_float and kind.name != "bool":
                if operand == 1:
                    ones.append(name)
                elif operand.item() % _TRITON_DIVISOR == 0:
                    divisible.append(name)
        return Unit(
            entry=unit.entry,
            by_position=unit.by_position,
            constexpr=tuple(constants.items()),
            num_warps=_option("num_warps", launch.num_warps, names, WARPS_MOST),
            num_stages=_option("num_stages", launch.num_stages, names, STAGES_MOST),
            arguments=tuple(arguments),
            divisible=tuple(divisible),
            ones=tuple(ones),
            descriptors=tuple(self._descriptors(names)),
        )


def _option(what: str, expression: int | str, names: Mapping[str, Number], most: int) -> int:
    value = evaluate_int(expression, names)
    if not 1 <= value <= most:
        raise LaunchError(f"{what} = {expression} is {value}; Triton takes 1 to {most}")
    return value


def _three(expressions: tuple[str, ...], names: Mapping[str, Number], what: str, most: Dim3) -> Dim3:
    values = [evaluate_int(e, names) for e in expressions]
    values += [1] * (3 - len(values))
    if any(not 1 <= value <= limit for value, limit in zip(values, most, strict=True)):
        raise LaunchError(
            f"{what} = [{', '.join(expressions)}] is {tuple(values)}; a device takes 1 to {most}"
        )
    return values[0], values[1], values[2]


def units_for(
    workload: Workload, program: Program, shapes: Iterable[Mapping[str, int]], cases: Iterable[Case] = ()
) -> list[Unit]:
    """The units that these shapes and cases need; what cannot be bound is the check's to report.

    Raises `BuildError` where nothing can be bound and no unit stands for it: a sequence, a kernel of Triton.
    """
    units: dict[Unit, None] = {}
    why = ""
    for dims, memory in (*((d, ALLOCATED) for d in shapes), *((c.dims, c.memory) for c in cases)):
        try:
            units |= dict.fromkeys(launch.unit for launch in bind(workload, program, dims, memory).launches)
        except LaunchError as error:
            why = why or f"{error}; {', '.join(f'{name} {size}' for name, size in dims.items())}"
    if not units and why and (program.steps or program.language == "triton"):
        raise BuildError(why, code=Reason.LAUNCH_IMPOSSIBLE)
    return list(units) or [Unit()]
