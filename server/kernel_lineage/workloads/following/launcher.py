"""A workload drafted for a host function that launches kernels: its parameters are the arguments.

What it launches is read from its statements whenever it is run; the draft says what a caller gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import Language, Parameter, SourceFile, Span
from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.draft import argument_of
from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.functions import (
    PROGRAM,
    HostCode,
    HostParameter,
    declared_values,
    element_of_vector,
    words_in,
)
from kernel_lineage.workloads.following.gathered import Gathered
from kernel_lineage.workloads.following.host_arrays import HostCopy, host_copies, host_numbers
from kernel_lineage.workloads.following.largest_launch import draft_by_sizes, in_order
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.structures import (
    field_name,
    is_own,
    record_of,
    structure_of,
)
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Opaque, Pointer, Record
from kernel_lineage.workloads.following.ways import follow_way
from kernel_lineage.workloads.following.workspaces import CLEARS
from kernel_lineage.workloads.model import ZEROS, Draft, DraftArgument, Role

LAUNCHED_ALONE = ("1",), ("128",)
"""The grid and the block of a workload of a host function, of which none takes the grid."""
_STREAM = "cudaStream_t"
_NOWHERE = Span(0, 0, 0, 0)
_DEPTH = 4
_FIRST = re.compile(r"(?:\.|->)(?:data|begin)\s*\(\s*\)")
"""What gives a pointer to a vector's first element."""
_COUNTS = re.compile(r"\w+(?:<=?|!=)(\w+)(?:[-+]\d+)?")
FEW_ROUNDS = 3
"""Rounds of a loop around launches that a workload goes through: an odd number, so that two buffers which change
places do not come to lie as before.
"""
_ROWS = 19
"""The same of a loop over an extent: more than a change is likely to do in one launch, and no multiple of that."""


def draft_of_launcher(launcher: Launcher, unit: Unit, path_name: str) -> Draft:
    """The draft of a host function of a unit, as its callers there come to it."""
    name = launcher.name
    leading, drafted = unit.leading_to(name), partial(_draft, launcher, unit, path_name)
    functions = [f for f in unit.hosts(name) if f.of_host]
    ways = in_order([(leading, entry) for entry in unit.entries(leading)], unit, name)
    for _, entry in (*ways, *((leading, f) for f in functions)):
        reached = follow_way(unit, name, leading, entry)
        if reached is not None:
            return draft_by_sizes(drafted(*reached), unit, name, leading, entry, drafted)
    missing = (f"the parameters of {name}, which cannot be read",)
    return Draft(name, Language.CUDA, path_name, {}, {}, (), missing=missing)


def _draft(launcher: Launcher, unit: Unit, path_name: str, launch: Launched, sizes: Sizes) -> Draft:
    function = launch.frames[-1].function
    roles: dict[str, Role] = {}
    used: set[str] = set()
    for parameter, role, is_copied in _touched(launcher.source, function, unit, _DEPTH):
        roles[parameter] = together(roles[parameter], role) if parameter in roles else role
        used |= set() if is_copied else {parameter}
    kernels = frozenset[str]().union(*(unit.leading_to(kernel.name) for kernel in launcher.kernels))
    copies = host_copies(unit, launch, sizes, kernels)
    facts = Gathered(unit, sizes, {}, launch)
    arguments = tuple(
        replace(
            argument_of(_parameter(part, unit), value, roles.get(value.written, "input"), facts),
            # Kernels get copies of it, in memory of the function's own.
            noalias=value.written in roles.keys() - used,
        )
        for p, argument in zip(function.parameters, launch.arguments, strict=True)
        if p.type != _STREAM and function.name != PROGRAM and p.name not in host_numbers(function)
        for part, value in _parts(p, _as_copied(argument, copies), function, roles, facts)
    )
    own = (*_own_arrays(copies, function, roles, facts), *_own_rounds(function, facts))
    arguments = tuple(with_few_rounds((*arguments, *own), function, facts))
    dims, promises = facts.dims(arguments)
    return Draft(
        launcher.name,
        Language.CUDA,
        path_name,
        dims,
        dims,
        arguments,
        *LAUNCHED_ALONE,
        chosen=tuple(n for n in dims if n in sizes.chosen),
        told={n: sizes.lists[n] for n in dims if n in sizes.lists},
        promises=promises,
        assumed=(*sizes.said_of(dims), *facts.said),
        missing=tuple(dict.fromkeys(facts.missing)),
    )


def _as_copied(argument: LaunchArgument, copies: Sequence[HostCopy]) -> LaunchArgument:
    """An array of which its caller tells no size, with as many elements as are copied."""
    held = buffer_at(argument.value)
    copy = next((one for one in copies if one.array == argument.written), None)
    is_open = not isinstance(argument.value, (Number, Record)) and (held is None or held.size is None)
    return (
        replace(argument, value=Pointer(copy.buffer, copy.buffer.dtype))
        if copy is not None and is_open
        else argument
    )


def _own_arrays(
    copies: Sequence[HostCopy], function: HostCode, roles: Mapping[str, Role], facts: Gathered
) -> Iterator[DraftArgument]:
    """The arrays of a function's own that it copies to the device, and those that it gets back: which of them its
    callers read is not asked.
    """
    taken = {p.name for p in function.parameters}
    for name in dict.fromkeys(one.array for one in copies if one.array not in taken):
        those = [one for one in copies if one.array == name]
        buffer = those[0].buffer
        role: Role = "output" if those[0].is_result else "input"
        if role == "input" and any(one.is_result for one in those):
            role = "inout"
        if those[0].is_result is None:
            # What the host sets first is there, whatever the device writes.
            role = "input" if roles.get(name, "input") == "input" else "inout"
        parameter = Parameter(
            name, f"{buffer.dtype}*", _NOWHERE, DTYPES.get(alias_of(buffer.dtype, facts.unit)), True
        )
        argument = argument_of(parameter, LaunchArgument(Pointer(buffer, buffer.dtype), name), role, facts)
        if buffer.cleared and role != "output":
            argument = replace(argument, values=ZEROS)
        yield replace(argument, noalias=True)


def _own_rounds(function: HostCode, facts: Gathered) -> Iterator[DraftArgument]:
    """The variables by which a program says how many rounds its loops with launches have."""
    named = declared_values(function).keys() | facts.unit.constants.keys() | facts.unit.macros.keys()
    named -= facts.unit.device_words()
    for name in sorted(counts_of_rounds(function, facts.unit) & named) if function.name == PROGRAM else ():
        value = name if name in facts.sizes.dims else str(FEW_ROUNDS)
        facts.texts += [value] if value == name else []
        yield DraftArgument(name, "scalar", "int32", value=value)


def with_few_rounds(
    arguments: tuple[DraftArgument, ...], function: HostCode, facts: Gathered
) -> Iterator[DraftArgument]:
    """The arguments with few rounds of loops around launches: few rows of the arrays, where a loop goes over these."""
    extents = {name for argument in arguments for e in argument.shape or () for name in WORD.findall(e)}
    written: dict[str, str] = {}
    counts = counts_of_rounds(function, facts.unit)
    for argument in (a for a in arguments if a.kind == "scalar" and a.name in counts):
        text = str(argument.value)
        size = facts.sizes.dims.get(text, int(text) if text.isdigit() else 0)
        rounds = _ROWS if text in extents else FEW_ROUNDS
        if size > rounds:
            facts.said.append(f"{argument.name} is taken to be {rounds}: so often does a loop launch")
            (written if text.isdigit() else facts.fixed)[argument.name if text.isdigit() else text] = str(
                rounds
            )
    for argument in arguments:
        yield replace(
            argument,
            shape=tuple(with_meanings(e, facts.fixed) for e in argument.shape)
            if argument.shape
            else argument.shape,
            values=with_meanings(argument.values, facts.fixed),
            value=written.get(argument.name) or with_meanings(str(argument.value), facts.fixed)
            if argument.value is not None
            else None,
        )


def counts_of_rounds(function: HostCode, unit: Unit) -> set[str]:
    """The names that say how many rounds of one step a loop with launches has, its own or those of what it calls."""
    launching = frozenset[str]().union(*map(unit.leading_to, unit.kernels))
    loops = [n for n in inside(function.body) if n.type == "for_statement" and words_in(n) & launching]
    return {
        match[1]
        for loop in loops
        if (match := _COUNTS.fullmatch("".join(text_of(loop.child_by_field_name("condition")).split())))
        and text_of(loop.child_by_field_name("update")).count("++")
    }


def _parts(
    parameter: HostParameter,
    argument: LaunchArgument,
    function: HostCode,
    roles: Mapping[str, Role],
    facts: Gathered,
) -> Iterator[tuple[HostParameter, LaunchArgument]]:
    """A parameter with what a caller gives for it; of a structure each buffer that is not the function's alone."""
    record, unit = record_of(argument.value), facts.unit
    fields = structure_of(parameter, unit)
    if record is None or not fields:
        yield parameter, argument
        return
    is_whole = not any(field.name in function.words for field in fields)
    for field in fields:
        written, value = f"{parameter.name}.{field.name}", record.fields.get(field.name)
        if isinstance(value, Number) and (is_whole or field.name in function.words):
            facts.expression(value)
        elif written in roles and not field.array and is_own(field, value, function, unit):
            facts.said.append(f"{written} is a workspace: nothing but {function.name} uses what it holds")
        elif written in roles:
            part = replace(field, name=field_name(parameter, field))
            yield part, LaunchArgument(value or Opaque(f"`{written}`"), written)


def _parameter(parameter: HostParameter, unit: Unit) -> Parameter:
    kind = parameter.type
    if element := element_of_vector(parameter):
        return Parameter(parameter.name, f"{element}*", _NOWHERE, DTYPES.get(alias_of(element, unit)), True)
    return Parameter(parameter.name, kind, _NOWHERE, DTYPES.get(alias_of(kind, unit)), parameter.stars > 0)


def _touched(
    source: SourceFile, function: HostCode, unit: Unit, depth: int
) -> Iterator[tuple[str, Role, bool]]:
    """The function's parameters with what each launch, memset, copy or called function does with them, in order; and
    whether that is a copy.

    All branches count, whichever of them a caller takes.
    """
    values = declared_values(function)
    for node in inside(function.body):
        if node.type != "call_expression":
            continue
        name = text_of(node.child_by_field_name("function")).split("<")[0].rsplit("::", 1)[-1].strip()
        args = [text_of(a) for a in arguments_of(node.child_by_field_name("arguments"))]
        of_class = unit.own_methods.get(function.of_class, {})
        kernel, called = source.kernel(name), unit.functions.get(name) or of_class.get(name, [])
        if kernel is not None and any(c.type == "kernel_call_syntax" for c in node.children):
            names = [p.name for p in kernel.parameters]
            roles: Mapping[str, Role] = roles_of(kernel)
            touched = [(n, roles[n], False) for n in names if n in roles]
        elif name in CLEARS and args:
            names, touched = [""], [("", "output", False)]
        elif name.startswith(("cudaMemcpy", "hipMemcpy")) and len(args) > 1:
            names, touched = ["to", "from"], [("from", "input", True), ("to", "output", True)]
        elif called and called[0] is not function and depth:
            names = [p.name for p in called[0].parameters]
            touched = list(_touched(source, called[0], unit, depth - 1))
        else:
            continue
        inner = dict(zip(names, args, strict=False))
        for place, role, is_copied in touched:
            parameter, dot, field = place.partition(".")
            if parameter in inner:
                yield _root(inner[parameter] + dot + field, function, values), role, is_copied


def _root(expression: str, function: HostCode, values: Mapping[str, str]) -> str:
    """The parameter, or the field of one, that an expression points into: `q` of `(float*)q + n`, or of a local that is
    that; `ws.sums` of `ws->sums + n`.
    """
    names = {p.name for p in function.parameters}
    for _ in range(_DEPTH):
        plain = re.sub(r"^(?:\(\s*[\w\s]+\*+\s*\)|&)\s*", "", expression.strip()).lstrip("(&")
        plain = _FIRST.sub("", plain)
        name = re.match(r"(\w*)((?:(?:\.|->)\w+)?)", plain)
        root, field = (name[1], name[2]) if name is not None else ("", "")
        if root in names or root not in values:
            return root + field.replace("->", ".")
        expression = values[root] + field
    return expression


def together(first: Role, then: Role) -> Role:
    """What a sequence does with a buffer: what it writes first is an output, whoever reads it later."""
    if first == "input" and then != "input":
        return "inout"
    return first
