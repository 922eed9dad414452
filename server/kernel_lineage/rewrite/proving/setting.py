"""A workload and a program as the setting of a proof."""

from __future__ import annotations

from functools import reduce

from kernel_gate.arguments import Argument
from kernel_gate.compile_time import is_word
from kernel_gate.dtypes import DTYPES
from kernel_gate.expr.parsing import Reading
from kernel_gate.expr.terms import (
    Num,
    Term,
    Var,
    add,
    at_most,
    conjunction,
    equal,
    maximum,
    minimum,
    mod,
    mul,
)
from kernel_gate.program import Program
from kernel_gate.workload import Workload, address_name
from kernel_lineage.code.setting import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_THREADS,
    BufferSetting,
    LaunchSetting,
    Setting,
)
from kernel_lineage.code.values import INTEGERS
from kernel_lineage.kernels.source import Kernel

_ALLOCATORS_ALIGN = 256
"""Bytes: what CUDA's allocators give; a workload's `align` says otherwise."""


def setting_of(kernel: Kernel, workload: Workload, program: Program) -> Setting:
    """What the workload and the program's launch promise of the kernel's arguments, by its own parameter names."""
    dims: dict[str, Term] = {name: Var(name) for name in workload.dims}
    addresses = {address_name(a.name): _lies(a) for a in workload.args if a.is_pointer}
    reading = Reading({**{name: Var(name) for name in addresses}, **dims})
    assumptions = [reading.read(promise) for promise in workload.promises]
    integers = {
        a.name: reading.read(a.value)
        for a in workload.args
        if a.kind == "scalar" and a.value is not None and a.dtype in INTEGERS
    }
    for argument in workload.args:
        if argument.name in integers:
            type_, value = INTEGERS[argument.dtype], integers[argument.name]
            assumptions.append(conjunction(at_most(Num(type_.least), value), at_most(value, Num(type_.most))))
    names: dict[str, Term] = {**reading.known, **integers}
    launch_reading = Reading(names, reading.facts, reading.unknowns, reading.naturals)
    spec = program.launch or workload.launch.spec()
    for name, text in spec.constexpr.items():
        if not is_word(text):
            names[name] = launch_reading.read(text)
    launch = LaunchSetting(
        _three(spec.grid, launch_reading),
        _three(spec.block, launch_reading) if program.language == "cuda" else (Num(1), Num(1), Num(1)),
        launch_reading.read(spec.shared_bytes),
    )
    assumptions += launchable(launch)
    order = program.arguments or tuple(a.name for a in workload.args)
    parameters = [p.name for p in kernel.parameters if not p.constexpr and p.name not in spec.constexpr]
    by_parameter = {p: workload.argument(a) for p, a in zip(parameters, order, strict=False)}
    constants, types = _template(kernel, program, launch_reading)
    constants |= {name: names[name] for name, text in spec.constexpr.items() if not is_word(text)}
    return Setting(
        tuple(dims),
        (*assumptions, *reading.facts),
        {p: _buffer(p, a, reading) for p, a in by_parameter.items() if a is not None and a.is_pointer},
        {p: integers[a.name] for p, a in by_parameter.items() if a is not None and a.name in integers},
        launch,
        constants,
        types,
        {p: a.dtype for p, a in by_parameter.items() if a is not None and a.name in integers},
        frozenset(reading.naturals),
        addresses,
        reading.unknowns,
    )


def _lies(argument: Argument) -> tuple[Term, ...]:
    """What is known of a buffer's address: views begin at any element, where callers promise nothing."""
    address = Var(address_name(argument.name))
    multiple = argument.align or DTYPES[argument.dtype].itemsize
    return at_most(Num(0), address), equal(mod(address, Num(multiple)), Num(0))


def _three(extents: tuple[str, ...], reading: Reading) -> tuple[Term, Term, Term]:
    x, y, z = [*(reading.read(e) for e in extents), Num(1), Num(1)][:3]
    return x, y, z


def launchable(launch: LaunchSetting) -> list[Term]:
    """That a device takes the launch: one that none takes does nothing wrong."""
    limits = [*zip(launch.grid, MAX_GRID, strict=True), *zip(launch.block, MAX_BLOCK, strict=True)]
    facts = [conjunction(at_most(Num(1), extent), at_most(extent, Num(most))) for extent, most in limits]
    threads = mul(launch.block[0], mul(launch.block[1], launch.block[2]))
    return [f for f in (*facts, at_most(threads, Num(MAX_THREADS))) if f != Num(1)]


def _buffer(parameter: str, argument: Argument, reading: Reading) -> BufferSetting:
    elements: Term = Num(1)
    for extent in argument.shape or ():
        elements = mul(elements, reading.read(extent))
    is_input = argument.kind == "input"
    return BufferSetting(
        parameter,
        argument.dtype,
        DTYPES[argument.dtype].itemsize,
        elements,
        argument.align or _ALLOCATORS_ALIGN,
        Var(address_name(argument.name)),
        argument.kind == "output",
        is_input,
        _limits(argument, reading) if is_input else None,
        is_input and argument.dtype in INTEGERS and argument.has_free_values,
    )


def _limits(argument: Argument, reading: Reading) -> tuple[Term, Term] | None:
    """The least value of a buffer's integers and the one that all are below, where its `values` state them."""
    match argument.values_spec:
        case "integers" | "ascending", (least, end):
            return reading.read(least), reading.read(end)
        case "permutation", (end,):
            return Num(0), reading.read(end)
        case "listed", numbers if argument.dtype in INTEGERS:
            values = [reading.read(number) for number in numbers]
            return reduce(minimum, values), add(reduce(maximum, values), Num(1))
    return None


def _template(kernel: Kernel, program: Program, reading: Reading) -> tuple[dict[str, Term], dict[str, str]]:
    """Template arguments: numbers and types."""
    constants: dict[str, Term] = {}
    types: dict[str, str] = {}
    arguments = [*program.template_arguments]
    for position, parameter in enumerate(kernel.template_parameters):
        argument = arguments[position] if position < len(arguments) else parameter.default
        if argument is None:
            continue
        if parameter.type is None:
            types[parameter.name] = argument
        else:
            constants[parameter.name] = reading.read({"true": "1", "false": "0"}.get(argument, argument))
    return constants, types
