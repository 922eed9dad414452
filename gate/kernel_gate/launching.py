"""A launch, bound: a program's launch expressions over one shape, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernel_gate.build.unit import Unit
from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, Number, evaluate, evaluate_int
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.workload import Workload

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK = (1024, 1024, 64)
_MAX_THREADS = 1024
_TRITON_DIVISOR = 16
"""Triton's launcher specialises addresses and integers that are multiples of this."""

Dim3 = tuple[int, int, int]


class LaunchError(Exception):
    """A launch that no device takes, or that cannot be computed; the message names the expression."""


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """All that one launch needs besides its buffers."""

    dims: Mapping[str, int]
    grid: Dim3
    block: Dim3
    """Ignored for Triton: the image says how many threads."""
    shared_bytes: int
    order: tuple[str, ...]
    """The workload's arguments in the kernel's order."""
    scalars: Mapping[str, np.generic]
    unit: Unit


def launch_of(workload: Workload, program: Program) -> LaunchSpec:
    """The program's own launch, else the workload's."""
    return program.launch or workload.launch.spec()


def _three(expressions: tuple[str, ...], names: Mapping[str, Number], what: str, most: Dim3) -> Dim3:
    values = [evaluate_int(e, names) for e in expressions]
    values += [1] * (3 - len(values))
    if any(not 1 <= value <= limit for value, limit in zip(values, most, strict=True)):
        raise LaunchError(
            f"{what} = [{', '.join(expressions)}] is {tuple(values)}; a device takes 1 to {most}"
        )
    return values[0], values[1], values[2]


def bind(workload: Workload, program: Program, dims: Mapping[str, int]) -> BoundLaunch:
    """The launch of a program for one shape. Raises `LaunchError`."""
    launch = launch_of(workload, program)
    label = program.name or program.entry
    try:
        scalars = workload.scalars(dims)
        names: dict[str, Number] = {**dims, **scalars}
        for name, text in launch.constexpr.items():
            names[name] = evaluate(text, names)
        grid = _three(launch.grid, names, "grid", _MAX_GRID)
        block = _three(launch.block, names, "block", _MAX_BLOCK)
        shared_bytes = evaluate_int(launch.shared_bytes, names)
    except ExpressionError as error:
        raise LaunchError(f"{label}: the launch cannot be computed: {error}") from error
    except LaunchError as error:
        raise LaunchError(f"{label}: {error}") from error
    if program.language == "cuda" and block[0] * block[1] * block[2] > _MAX_THREADS:
        raise LaunchError(f"{label}: a block of {block} has more than {_MAX_THREADS} threads")
    order = program.arguments or tuple(a.name for a in workload.args)
    if unknown := [name for name in order if workload.argument(name) is None]:
        raise LaunchError(f"{label}: the workload has no argument named {', '.join(unknown)}")
    stored = {a.name: DTYPES[a.dtype].scalar(scalars[a.name]) for a in workload.args if a.kind == "scalar"}
    constants = tuple((name, names[name]) for name in launch.constexpr)
    unit = (
        _triton_unit(workload, launch, order, scalars, constants) if program.language == "triton" else Unit()
    )
    return BoundLaunch(dims, grid, block, shared_bytes, order, stored, unit)


def _triton_unit(
    workload: Workload,
    launch: LaunchSpec,
    order: tuple[str, ...],
    scalars: Mapping[str, Number],
    constants: tuple[tuple[str, Number], ...],
) -> Unit:
    """What Triton's launcher would specialise on. Addresses count as divisible only where the workload promises it."""
    arguments, divisible, ones = [], [], []
    for name in order:
        argument = workload.argument(name)
        if argument is None or name in dict(constants):
            continue
        dtype = DTYPES[argument.dtype]
        arguments.append((name, f"*{dtype.triton}" if argument.is_pointer else dtype.triton))
        if argument.is_pointer:
            if argument.align is not None and argument.align % _TRITON_DIVISOR == 0:
                divisible.append(name)
        elif not dtype.is_float and dtype.name != "bool":
            if scalars[name] == 1:
                ones.append(name)
            elif scalars[name] % _TRITON_DIVISOR == 0:
                divisible.append(name)
    return Unit(
        constexpr=constants,
        num_warps=launch.num_warps,
        num_stages=launch.num_stages,
        arguments=tuple(arguments),
        divisible=tuple(divisible),
        ones=tuple(ones),
    )
