"""A workload drafted by following the host code that leads to a kernel's launch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from kernel_gate.value_kinds import MOST_LISTED
from kernel_gate.workload import address_name
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.workloads.following.accessors import is_accessor, structure_of_accessor
from kernel_lineage.workloads.following.callers import Callers, by_callers
from kernel_lineage.workloads.following.compiled_sizes import is_large, with_compiled_sizes
from kernel_lineage.workloads.following.copied import words_of
from kernel_lineage.workloads.following.extents import asked_of, shape_of
from kernel_lineage.workloads.following.fields import Passed, alias_of, passed
from kernel_lineage.workloads.following.functions import PROGRAM, bare_type
from kernel_lineage.workloads.following.gathered import Gathered
from kernel_lineage.workloads.following.largest_launch import draft_by_sizes, in_order
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.roles import handed_on, roles_of
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    Lambda,
    Number,
    Opaque,
    Pointer,
    Record,
    Tensor,
    Value,
    combined,
    plain,
)
from kernel_lineage.workloads.following.ways import follow_way, way_to_launch
from kernel_lineage.workloads.following.workspaces import is_workspace
from kernel_lineage.workloads.following.written import tidy
from kernel_lineage.workloads.model import (
    CONSTANT,
    NULL,
    TABLED,
    UNRANGED,
    UNSHAPED,
    WHOLE_RANGES,
    ZEROS,
    Draft,
    DraftArgument,
    Role,
    Structure,
)
from kernel_lineage.workloads.promises import broken

_TAKEN = "float"
"""What a type parameter stands for where no caller tells."""
_WRITTEN = ("output", "inout")
_WHOLE = ("integers", "ascending(", "listed(", "permutation(", "offsets(")
"""How values begin that are whole numbers."""
_MOST_LAUNCHES = 4
"""Launches of one function that are looked at."""


def followed_drafts(
    kernel: Kernel,
    unit: Unit,
    path_name: str,
    rooted: Kernel,
    block: int | None = None,
    callers_of: Callers = lambda _: (),
) -> Iterator[Draft]:
    """The drafts of a kernel by each function that leads to its launch; `rooted` has the functions of its headers.

    `block` is the number of threads to take where a caller goes through several. Templates count where no other
    function tells all. `callers_of` are those in other languages, whose drafts come first.
    """
    roles, unseen = roles_of(rooted), handed_on(rooted)
    is_open = True
    for leading, entry in in_order(unit.ways_to(kernel.name), unit, kernel.name):
        if entry.template and not is_open:
            return
        drafted = partial(_draft, kernel, path_name, roles, unseen, unit)
        look = partial(follow_way, unit, kernel.name, leading, entry, block)
        yield from by_callers(callers_of(entry), look, drafted)
        reached = way_to_launch(unit, kernel.name, leading, entry, block)
        if reached is not None:
            draft = drafted(*reached)
            draft = draft_by_sizes(draft, unit, kernel.name, leading, entry, drafted, block)
            draft = _with_rounds(draft, partial(look, rounds=None), drafted)
            if is_large(draft) and not (draft.template_arguments or draft.has_fields):
                names = unit.compiled_constants()
                compiled = look(compiled=names) if names else None
                if compiled is not None:
                    draft = with_compiled_sizes(draft, drafted(*compiled), names)
            is_open &= bool(draft.missing) or entry.template != ()
            yield draft


def _with_rounds(
    draft: Draft,
    look: Callable[[], tuple[Launched, Sizes] | None],
    drafted: Callable[[Launched, Sizes], Draft],
) -> Draft:
    """The draft in which the variables by which loops number launches are dims, where buffers and blocks are those of
    the first launch, which shows nothing of other rounds.
    """
    numbered = look() if draft.grid and not draft.missing else None
    if numbered is None:
        return draft
    other = drafted(*numbered)
    same = (
        (other.block, other.template_arguments) == (draft.block, draft.template_arguments)
        and {a.name: a.shape for a in other.arguments} == {a.name: a.shape for a in draft.arguments}
        and not other.missing
        and not broken(other.dims, other.promises)
    )
    return replace(other, blocks=draft.blocks) if same and other.dims.keys() != draft.dims.keys() else draft


def drafts_of_all_launches(kernel: Kernel, unit: Unit, path_name: str, rooted: Kernel) -> Iterator[Draft]:
    """The drafts of the launches that functions come to one after the other, the first few of each function."""
    roles, unseen = roles_of(rooted), handed_on(rooted)
    for leading, entry in unit.ways_to(kernel.name):
        if entry.template:
            continue
        for passes in range(_MOST_LAUNCHES):
            way = follow_way(unit, kernel.name, leading, entry, passes=passes)
            if way is None:
                break
            yield _draft(kernel, path_name, roles, unseen, unit, *way)


def _with_unseen(draft: Draft, unseen: frozenset[str]) -> Draft:
    """The draft in which buffers that go to functions whose text is not here may be written there."""
    unread = frozenset(a.name for a in draft.arguments if a.name in unseen and a.kind == "input")
    arguments = tuple(replace(a, kind="inout") if a.name in unread else a for a in draft.arguments)
    return replace(draft, arguments=arguments, unread_roles=draft.unread_roles | unread)


def _draft(
    kernel: Kernel,
    path_name: str,
    roles: Mapping[str, Role],
    unseen: frozenset[str],
    unit: Unit,
    launch: Launched,
    sizes: Sizes,
) -> Draft:
    types = {t.name: kind for t, kind in zip(kernel.template_parameters, launch.template, strict=False)}
    facts = Gathered(unit, sizes, types, launch)
    facts.called = frozenset(p.name for p in kernel.parameters if is_called(p, kernel))
    facts.type_parameters = {t.name for t in kernel.template_parameters if t.type is None}
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        if isinstance(argument.value, Pointer) and argument.value.buffer is not None:
            address = address_name(argument.value.buffer.name)
            facts.addresses.setdefault(address, address_name(parameter.name))
    grid = [t for v in launch.grid if (t := facts.text("the launch's grid", v)) is not None]
    block = [t for v in launch.block if (t := facts.text("the launch's block", v)) is not None]
    shared = facts.text("the launch's shared bytes", launch.shared) or "0"
    for number in (v for v in launch.grid if isinstance(v, Number) and "//" in tidy(v.text)):
        sizes.require(combined(">", number, plain(0)))
    given_parts = passed(kernel, launch, unit)
    arguments = tuple(
        argument_of(p.parameter, p.given, _role_of(p, launch) or roles.get(p.parameter.name, "input"), facts)
        for p in given_parts
    )
    arguments = tuple(_with_workspaces(kernel.name, arguments, given_parts, launch, facts))
    if launch.frames[0].function.name == PROGRAM:
        arguments = tuple(_apart(arguments, given_parts))
    arguments, objects = _placed(arguments, given_parts, launch)
    arguments = (*arguments, *_copied(kernel, facts))
    for parameter in kernel.parameters[len(launch.arguments) :]:
        if parameter.default is None:
            facts.missing.append(f"the value of {parameter.name}, which the launch does not give")
    template = _template(kernel, launch, types, facts)
    dims, promises = facts.dims(arguments)
    draft = Draft(
        kernel.name,
        kernel.language,
        path_name,
        dims,
        dims,
        arguments,
        tuple(grid) if len(grid) == len(launch.grid) else (),
        tuple(block) if len(block) == len(launch.block) else (),
        shared,
        template_arguments=template,
        chosen=tuple(n for n in dims if n in sizes.chosen),
        told={n: sizes.lists[n] for n in dims if n in sizes.lists},
        blocks=sizes.blocks,
        promises=promises,
        assumed=(*sizes.said_of(dims), *facts.said),
        missing=tuple(dict.fromkeys(facts.missing)),
        way=launch.frames[0].function.name,
        entry=qualified_name(kernel),
        has_fields=len(given_parts) != len(launch.arguments),
        unread_roles=frozenset(
            p.parameter.name for p in given_parts if p.parameter.pointer and p.role == "inout"
        ),
        structures=objects,
    )
    return _with_unseen(draft, unseen)


def _role_of(part: Passed, launch: Launched) -> Role | None:
    """The role of a part; whole numbers that callers give by an accessor are read, whatever else becomes of them."""
    value, dtype = part.given.value, part.parameter.dtype or ""
    if part.at != 0 or not dtype.startswith(("int", "uint")):
        return part.role
    tensors = {p.name for p in launch.frames[0].function.parameters if "Tensor" in p.type}
    is_callers = isinstance(value, Pointer) and value.buffer is not None and value.buffer.name in tensors
    return "input" if is_callers else part.role


def _placed(
    arguments: tuple[DraftArgument, ...], parts: tuple[Passed, ...], launch: Launched
) -> tuple[tuple[DraftArgument, ...], dict[int, Structure]]:
    """The arguments with their places in the structures of which all bytes are told, and these by their numbers among
    what the launch gives.
    """
    accessors = (
        structure_of_accessor(a.value)
        for a in launch.arguments
        if isinstance(a.value, Record) and is_accessor(a.value)
    )
    structures: dict[int, Structure] = {}
    result: list[DraftArgument] = []
    number = -1
    for argument, part in zip(arguments, parts, strict=True):
        number += not part.at
        if part.at == 0:
            structures[number] = next(accessors)
        elif argument.kind == CONSTANT:
            structures[number] = Structure(1, 1)
        is_placed = part.at is not None or argument.kind == CONSTANT
        result.append(replace(argument, place=(number, part.at or 0)) if is_placed else argument)
    return tuple(result), structures


def _is_object(parameter: Parameter, value: Value, unit: Unit) -> bool:
    """Whether a parameter is a structure by value, of which fields are not given one by one."""
    return isinstance(value, (Record, Lambda)) or bool(
        unit.fields_of(alias_of(bare_type(parameter.type), unit))
    )


def is_called(parameter: Parameter, kernel: Kernel) -> bool:
    """Whether a kernel calls a parameter as a function: what a launch gives for it is an object, and no number."""
    return not parameter.pointer and re.search(rf"\b{parameter.name}\s*\(", kernel.text) is not None


def _copied(kernel: Kernel, facts: Gathered) -> Iterator[DraftArgument]:
    """The variables that the kernel names and that get a structure before the launch."""
    body = kernel.source.text(kernel.span) if kernel.source is not None and facts.sizes.copied else ""
    names = {*re.findall(r"\w+", body)}
    for name, record in facts.sizes.copied.items():
        words = words_of(record, facts.unit, facts.expression) if name in names else None
        if words is not None and len(words) <= MOST_LISTED:
            values = f"listed({', '.join(words)})"
            yield DraftArgument(name, "input", "int32", (str(len(words)),), values, variable=name)


def _with_workspaces(
    kernel: str,
    arguments: tuple[DraftArgument, ...],
    parts: tuple[Passed, ...],
    launch: Launched,
    facts: Gathered,
) -> Iterator[DraftArgument]:
    writes = {a.name: p.given.written for a, p in zip(arguments, parts, strict=True) if a.kind in _WRITTEN}
    states = {
        a.name
        for a, p in zip(arguments, parts, strict=True)
        if (buffer := buffer_at(p.given.value)) is not None and goes_on(buffer, a.kind, a.dtype, facts)
    }
    for argument in arguments:
        others = [text for name, text in writes.items() if name != argument.name]
        if argument.name in states or argument.kind != "inout":
            yield argument
            continue
        if is_workspace(writes[argument.name], kernel, launch.frames, others):
            facts.said.append(f"{argument.name} is a workspace: nothing reads what a launch leaves there")
            argument = replace(argument, kind="scratch")
        yield argument


def _apart(arguments: tuple[DraftArgument, ...], parts: tuple[Passed, ...]) -> Iterator[DraftArgument]:
    """The arguments of a program's launch; what it writes to memory of its own overlaps no other argument's."""
    buffers = [buffer_at(part.given.value) for part in parts]
    for argument, buffer in zip(arguments, buffers, strict=True):
        is_own = buffer is not None and buffer.size is not None and buffers.count(buffer) == 1
        yield replace(argument, noalias=argument.noalias or (is_own and argument.kind in _WRITTEN))


def argument_of(parameter: Parameter, argument: LaunchArgument, role: str, facts: Gathered) -> DraftArgument:
    """One argument as far as it is known."""
    value, name, sizes = argument.value, parameter.name, facts.sizes
    if not parameter.pointer and isinstance(value, Record) and facts.unit.is_empty(value.type):
        if (kind := bare_type(parameter.type)) in facts.type_parameters:
            facts.types[kind] = value.type
        return DraftArgument(name, CONSTANT, "uint8", value="0")
    if name in facts.called or (not parameter.pointer and _is_object(parameter, value, facts.unit)):
        facts.missing.append(
            f"the object {name}, `{argument.written}` at the launch: nothing tells its bytes"
        )
        return DraftArgument(name, "scalar", None)
    dtype = _dtype(parameter, value, facts)
    if not parameter.pointer:
        if isinstance(value, Number):
            return DraftArgument(name, "scalar", dtype, value=_scalar(value, dtype, facts))
        if dtype is not None and dtype.startswith(("int", "uint")):
            # A size of this name that the launch does not name is another one.
            own = name if name not in sizes.dims or argument.written == name else f"{name}_given"
            return DraftArgument(name, "scalar", dtype, value=facts.expression(sizes.free(own)))
        why = value.why if isinstance(value, Opaque) else "it"
        facts.missing.append(f"the value of {name}, `{argument.written}` at the launch: nothing tells {why}")
        return DraftArgument(name, "scalar", dtype)
    if parameter.type.count("*") > 1:
        facts.missing.append(f"{name}{TABLED}")
        return DraftArgument(name, role, dtype)
    buffer = value.buffer if isinstance(value, Tensor) else buffer_at(value)
    if isinstance(value, Pointer) and buffer is None and not facts.unit.may_be_set(value.place):
        facts.said.append(f"{name} is null at the launch")
        return DraftArgument(name, NULL, dtype)
    shape = shape_of(value, buffer, dtype, facts)
    if shape is None:
        why = f"nothing tells {buffer.untold}" if buffer is not None and buffer.untold else ""
        why = why and f"bytes are allocated, and {why}"
        facts.missing.append(f"{UNSHAPED}{name}: {why or f'nothing allocates `{argument.written}`'}")
    values = values_of(name, buffer, role, dtype, facts) if role != "output" else ""
    return DraftArgument(
        name, role, dtype, shape, values, asked=asked_of(buffer, facts) if shape is None else ()
    )


def values_of(name: str, buffer: Buffer | None, role: str, dtype: str | None, facts: Gathered) -> str:
    """What a buffer that is read holds before the launch."""
    is_float = dtype is None or dtype.startswith(("float", "bfloat"))
    # A program that has nothing to compute with clears what it only reads; zeros tell no kernel from another.
    if buffer is not None and goes_on(buffer, role, dtype, facts):
        facts.said.append(f"{name} goes on from round to round of a loop, before which alone it is cleared")
        return ""
    if buffer is not None and buffer.cleared and not (is_float and role == "input"):
        facts.said.append(f"{name} is cleared before the launch")
        return ZEROS
    if buffer is not None and buffer.values and is_float != buffer.values.startswith(_WHOLE):
        facts.texts.append(buffer.values)
        return buffer.values
    if is_float:
        return ""
    if buffer is not None and buffer.below is not None:
        return f"integers(0, {facts.expression(buffer.below)})"
    if dtype in WHOLE_RANGES:
        facts.said.append(f"{name} is taken to hold any numbers of its type")
        return WHOLE_RANGES[dtype]
    if role == "input":
        facts.missing.append(f"{UNRANGED}{name}")
        return ""
    facts.said.append(f"{name} is taken to hold numbers below 8")
    return "integers(0, 8)"


def goes_on(buffer: Buffer, role: str, dtype: str | None, facts: Gathered) -> bool:
    """Whether a launch in a loop finds what the one before it has left in a buffer of floats, as in a state that is
    zero before the first one. Whole numbers may be flags or counters, which every launch leaves as it found them.
    """
    is_float = dtype is None or dtype.startswith(("float", "bfloat"))
    is_before = buffer.cleared and buffer.cleared_in < facts.sizes.loops
    return is_before and role == "inout" and is_float and id(buffer) not in facts.in_parts


def _scalar(value: Number, dtype: str | None, facts: Gathered) -> str:
    is_whole = dtype is not None and dtype.startswith(("int", "uint"))
    if is_whole and isinstance(value.value, float) and value.is_constant:
        return str(int(value.value))
    return facts.expression(value)


def _dtype(parameter: Parameter, value: Value, facts: Gathered) -> str | None:
    """What a parameter is declared as, or what stands for its type parameter."""
    types, unit = facts.types, facts.unit
    if parameter.dtype is not None:
        return parameter.dtype
    word = bare_type(parameter.type)
    word = types.get(word, word)
    declared = dtype_of(alias_of(word, unit))
    if declared is not None:
        return declared
    kind = value.dtype if isinstance(value, (Pointer, Tensor, Buffer)) else ""
    if isinstance(value, (Pointer, Tensor)) and not kind and value.buffer is not None:
        kind = value.buffer.dtype
    if (target := dtype_of(kind)) is not None:
        types.setdefault(word, kind)
        return target
    if isinstance(value, Number) and not parameter.pointer:
        return "float32" if isinstance(value.value, float) else "int32"
    if word == "void" and parameter.pointer:
        target = next(
            (d for t in types.values() if (d := dtype_of(t)) is not None and "float" in d), "float32"
        )
        facts.said.append(f"{parameter.name}, a `void*`, is taken to point to {target}: nothing tells it")
        return target
    if (name := bare_type(parameter.type)) in facts.type_parameters:
        types[name] = _TAKEN
        facts.said.append(f"{name} is taken to be {_TAKEN}: nothing tells it")
        return DTYPES[_TAKEN]
    facts.missing.append(f"the dtype of {parameter.name}: nothing tells what `{parameter.type}` is")
    return None


def _is_told(value: str, unit: Unit) -> bool:
    """Whether a template's argument is more than a name of the function around the launch."""
    is_value = value in ("true", "false") or value in unit.macros or value in unit.constants
    return is_value or not value.isidentifier()


def _template(kernel: Kernel, launch: Launched, types: dict[str, str], facts: Gathered) -> tuple[str, ...]:
    """The template's arguments, where the kernel is one."""
    result: list[str] = []
    for position, parameter in enumerate(kernel.template_parameters):
        if parameter.name in types and (parameter.name in facts.type_parameters):
            result.append(types[parameter.name])
        elif position < len(launch.template):
            argument = launch.template[position]
            if parameter.type is not None and not _is_told(argument, facts.unit):
                facts.missing.append(f"the template argument {parameter.name}: nothing tells `{argument}`")
            enum = facts.unit.enums.get(bare_type(parameter.type or "").rsplit("::", 1)[-1])
            # C++ takes no number for an enumerator.
            result.append(f"({enum}){argument}" if enum and argument.isdigit() else argument)
        elif parameter.default is not None:
            break
        else:
            facts.missing.append(f"the template argument {parameter.name}, which the launch does not give")
    return tuple(result)
