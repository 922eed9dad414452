"""A workload drafted for a host function that launches kernels: its parameters are the arguments.

What it launches is read from its statements whenever it is run; the draft says what a caller gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.source import Language, Parameter, SourceFile, Span
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.draft import argument_of
from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.functions import (
    HostCode,
    HostParameter,
    declared_name,
    element_of_vector,
)
from kernel_lineage.workloads.following.gathered import Gathered
from kernel_lineage.workloads.following.largest_launch import draft_by_sizes, in_order
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.structures import (
    field_name,
    is_own,
    record_of,
    structure_of,
)
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Opaque
from kernel_lineage.workloads.following.ways import follow_way
from kernel_lineage.workloads.following.workspaces import CLEARS
from kernel_lineage.workloads.model import Draft, DraftArgument, Role

LAUNCHED_ALONE = ("1",), ("128",)
"""The grid and the block of a workload of a host function, of which none takes the grid."""
_STREAM = "cudaStream_t"
_NOWHERE = Span(0, 0, 0, 0)
_DEPTH = 4
_FIRST = re.compile(r"(?:\.|->)(?:data|begin)\s*\(\s*\)")
"""What gives a pointer to a vector's first element."""
_COUNTS = re.compile(r"\w+<=?(\w+)")
_ROUNDS = 3
"""Rounds of a loop around launches that a workload goes through: an odd number, so that two buffers which change
places do not come to lie as before.
"""


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
    facts = Gathered(unit, sizes, {}, launch)
    arguments = tuple(
        replace(
            argument_of(_parameter(part, unit), value, roles.get(value.written, "input"), facts),
            # Kernels get copies of it, in memory of the function's own.
            noalias=value.written in roles.keys() - used,
        )
        for p, argument in zip(function.parameters, launch.arguments, strict=True)
        if p.type != _STREAM
        for part, value in _parts(p, argument, function, roles, facts)
    )
    arguments = tuple(_with_few_rounds(arguments, function, facts))
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


def _with_few_rounds(
    arguments: tuple[DraftArgument, ...], function: HostCode, facts: Gathered
) -> Iterator[DraftArgument]:
    """The arguments with few rounds of loops around launches, where nothing else hangs on how many there are."""
    shapes = [extent for argument in arguments for extent in argument.shape or ()]
    extents = {name for extent in shapes for name in WORD.findall(extent)}
    for argument in arguments:
        text = str(argument.value)
        is_size = bool(extents & {*WORD.findall(text)})
        if argument.kind == "scalar" and not is_size and argument.name in _counts(function):
            size = facts.sizes.dims.get(text, int(text) if text.isdigit() else 0)
            if size > _ROUNDS:
                facts.said.append(f"{argument.name} is taken to be {_ROUNDS}: so often does a loop launch")
                facts.texts = [t for t in facts.texts if t != text]
                argument = replace(argument, value=str(_ROUNDS))
        yield argument


def _counts(function: HostCode) -> set[str]:
    """The names that say how many rounds of one step a loop with launches has."""
    loops = [n for n in inside(function.body) if n.type == "for_statement" and "<<<" in text_of(n)]
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
    values = _values(function)
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


def _values(function: HostCode) -> dict[str, str]:
    """Local → what it is set to where it is declared."""
    values: dict[str, str] = {}
    for node in inside(function.body):
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None:
            values.setdefault(declared_name(node)[0], text_of(value))
    return values


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
