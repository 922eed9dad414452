"""The functions of a PyTorch extension that are called: what they are named, and what they are called with at first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.sizes import asked_of_tensors
from kernel_lineage.workloads.following.types import SCALAR_KINDS, dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.recording.call import Call, Parameter
from kernel_lineage.workloads.recording.told_numbers import is_setting

_TENSOR = re.compile(r"\bTensor\b")
_BOUND = re.compile(
    r'\b(?:def|impl)\s*\(\s*"([\w.]+)[^"]*"\s*,\s*(?:TORCH_FN\s*\(\s*)?&?\s*(?:[\w:]+\s*<\s*&\s*)?([\w:]+)'
)
"""A function, or what a template makes of one, by the name that Python has for it."""
_SCHEMA = re.compile(r'\bdef\s*\(\s*"([\w.]+)\(((?:[^"\\]|"\s*")*)\)\s*->')
_ARGUMENT = re.compile(r"\b(\w+)\s*(?:=[^,]*)?(?:,|$)")
_POINTED = re.compile(
    r"\b(\w+)\s*(?:\.|->)\s*(?:const_|mutable_)?data(?:_ptr)?\s*<\s*(?:const\s+)?([\w:]+)\s*>"
)
_TYPED = re.compile(r"\b(\w+)\s*(?:\.|->)\s*(?:scalar_type|dtype)\s*\(\s*\)\s*==\s*(?:\w+::)*(k?[A-Z]\w+)")
_MOST_ENTRIES, _MOST_PARAMETERS = 64, 64
_KIND = re.compile(r"[ov]{0,3}[Tifbst?]")
"""What a parameter can be: optional, a list; of tensors, numbers, words, types, or of something else."""
_PLACE = re.compile(r"[0-9]{1,6}")


def takes_tensors(text: str) -> bool:
    """Whether a text has functions of PyTorch's tensors."""
    return _TENSOR.search(text) is not None


def parameter_names(unit: Unit) -> set[str]:
    """The names that parameters of a unit's functions have, in its code and in what it tells Python of them."""
    codes = (code for named in unit.functions.values() for code in named)
    return {p.name for code in codes for p in code.parameters}.union(*_schemas(unit).values())


def _schemas(unit: Unit) -> dict[str, list[str]]:
    """Function, by the name that Python has for it → the names of its parameters."""
    return {
        name: _ARGUMENT.findall(re.sub(r'"\s*"', "", listed)) for name, listed in _SCHEMA.findall(unit.text)
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that a program calls when it is asked to."""

    number: int
    name: str
    parameters: tuple[Parameter, ...]
    function: HostCode | None
    """Its code, where that has these parameters."""
    kernels: frozenset[str]
    """The kernels that its code leads to."""


def entries_of(listing: str, unit: Unit) -> list[Entry]:
    """The functions that a program lists: those that lead to kernels first, and of these those that Python has."""
    bound: dict[str, list[str]] = {}
    for name, function in _BOUND.findall(unit.text):
        bound.setdefault(name, []).append(function.rsplit("::", 1)[-1])
    schemas = _schemas(unit)
    leading = {kernel: unit.leading_to(kernel) for kernel in unit.kernels}
    every = [
        e for line in listing.splitlines() if (e := _entry(line, unit, bound, schemas, leading)) is not None
    ]
    # What is bound here and defined in a source that was not built does nothing.
    written = [e for e in every if e.kernels or e.function is not None] or every
    return sorted(written, key=lambda e: (not e.kernels, e.name not in bound))[:_MOST_ENTRIES]


def _entry(
    line: str,
    unit: Unit,
    bound: Mapping[str, Sequence[str]],
    schemas: Mapping[str, Sequence[str]],
    leading: Mapping[str, frozenset[str]],
) -> Entry | None:
    fields = line.split("\t")
    if len(fields) < 4 or fields[0] != "entry" or not _PLACE.fullmatch(fields[1]):
        return None
    kinds = fields[3].split()
    if len(kinds) > _MOST_PARAMETERS or not all(map(_KIND.fullmatch, kinds)):
        return None
    called = bound.get(fields[2], (fields[2],))
    written = [f for n in called for f in unit.functions.get(n, ()) if len(f.parameters) == len(kinds)]
    function = written[0] if written else None
    names = [p.name for p in function.parameters] if function is not None else schemas.get(fields[2], ())
    if len(names) != len(kinds) or len(set(names)) < len(names):
        names = [f"a{i}" for i in range(len(kinds))]
    parameters = tuple(Parameter(n or f"a{i}", k) for i, (n, k) in enumerate(zip(names, kinds, strict=True)))
    if not any(p.is_tensor for p in parameters):
        return None
    kernels = frozenset(kernel for kernel, names in leading.items() if not names.isdisjoint(called))
    return Entry(int(fields[1]), fields[2], parameters, function, kernels)


def registered(unit: Unit, text: str) -> str:
    """Lines that offer functions of a text which nobody binds: those with a body of their own, once, and tensors."""
    bound = {function.rsplit("::", 1)[-1] for _, function in _BOUND.findall(unit.text)}
    lines: list[str] = []
    for name, functions in unit.functions.items():
        one = functions[0]
        is_own = one.of_host and not one.template and text_of(one.node) in text
        if len(functions) == 1 and is_own and name not in bound and _is_entry(one):
            lines.append(
                f'static bool klineage_entry_{len(lines)} = klineage::entry("{name}", &{_qualified(one)});'
            )
    return "\n".join(lines)


def _is_entry(function: HostCode) -> bool:
    return any(_TENSOR.search(p.type) for p in function.parameters)


def _qualified(function: HostCode) -> str:
    names, node = [function.name], function.node.parent
    while node is not None:
        if node.type == "namespace_definition" and (name := text_of(node.child_by_field_name("name"))):
            names.append(name)
        node = node.parent
    return "::".join(reversed(names))


def starts_of(entry: Entry, values: Mapping[str, float]) -> list[Call]:
    """Calls to begin with: each number of extents for tensors of which no code tells it, each usual type.

    Numbers are those that callers give by these names (`values`), but for sizes.
    """
    tensors = [p.name for p in entry.parameters if p.is_tensor]
    ranks: dict[str, int] = {}
    types: dict[str, str] = {}
    names: dict[str, str] = {}
    if entry.function is not None:
        asked = asked_of_tensors(entry.function)
        ranks = {t: r for t, r in asked.ranks.items() if t in tensors}
        names = {
            f"{t}_size_{i}": n for (t, i), n in asked.names.items() if t in tensors and isinstance(i, int)
        }
        body = text_of(entry.function.body)
        for pattern in (_POINTED, _TYPED):
            for tensor, kind in pattern.findall(body):
                dtype = dtype_of(SCALAR_KINDS.get(kind, kind))
                if tensor in tensors and dtype is not None:
                    types.setdefault(tensor, dtype)
    numbers = {
        p.name: values[p.name]
        for p in entry.parameters
        if p.name in values
        and (p.kind.endswith("f") or (p.kind.endswith("i") and is_setting(values[p.name])))
    }
    starts = []
    options = frozenset(p.name for p in entry.parameters if p.kind[:1] == "o")
    for absent in dict.fromkeys((options, frozenset[str]())):
        for dtype in ("float32", "float16", "bfloat16"):
            for rank in (2, 3, 4, 1):
                all_types = {t: types.get(t, dtype) for t in tensors}
                all_ranks = {t: ranks.get(t, rank) for t in tensors}
                one = Call(entry.parameters, all_ranks, all_types, numbers, absent, names=names)
                starts += [_alike(one), one] if rank == 2 else [one]
    return starts


def _alike(call: Call) -> Call:
    """A call whose tensors of the same number of extents have the same extents."""
    first: dict[int, str] = {}
    same = dict(call.same)
    for parameter in call.parameters:
        if parameter.is_tensor:
            rank = call.ranks.get(parameter.name, 2)
            other = first.setdefault(rank, parameter.name)
            if other != parameter.name:
                same |= {f"{parameter.name}_size_{i}": f"{other}_size_{i}" for i in range(rank)}
    return replace(call, same=same)
