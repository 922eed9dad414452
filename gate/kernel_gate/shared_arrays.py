"""The shared arrays of several dimensions that a CUDA C++ source declares: an element is named as code names it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from kernel_gate.build.unit import Unit
from kernel_gate.cuda_text import code_alone
from kernel_gate.expressions import ExpressionError, evaluate, names, split_at_commas
from kernel_gate.program import Program

_DECLARED = re.compile(r"__shared__\b([^;{}=]*\[[^;{}=]*)")
_ARRAY = re.compile(r"(\w+)\s*((?:\[[^\[\]]+\]\s*){2,})$")
_EXTENT = re.compile(r"\[([^\[\]]+)\]")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n\\]+)$", re.MULTILINE)
_CONSTANT = re.compile(r"\bconst(?:expr)?\b[\w\s:]*?\b(\w+)\s*=\s*([^;,{}]+)[;,]")
_TEMPLATE = r"template\s*<([^<>]*)>[^;{{}}]*?\b{name}\s*\("
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_DEEPEST = 16

Extents = tuple[int, ...]
Arrays = Mapping[str, frozenset[Extents]]
"""By the name of an array, the extents that declarations of it have; several arrays may share a name."""


def shared_arrays(program: Program, unit: Unit) -> Arrays:
    """The arrays of a program whose extents are numbers, or expressions over macros, constants and what the kernel's
    template is instantiated with; of others nothing is known, and of one whose name stands for two numbers.
    """
    if program.language != "cuda" or "__shared__" not in program.source + "".join(program.includes.values()):
        return {}
    texts = [code_alone(text) for text in (program.source, *program.includes.values())]
    values = _values(texts, program, unit)
    numbers: dict[str, int | None] = {}
    declared: dict[str, set[Extents]] = {}
    for text in texts:
        for name, written in _declared(text):
            extents = [_number(extent, values, numbers) for extent in written]
            if None not in extents:
                declared.setdefault(name, set()).add(tuple(e for e in extents if e is not None))
    return {name: frozenset(extents) for name, extents in declared.items()}


def indices(extents: frozenset[Extents], nbytes: int, element: int, element_bytes: int) -> Extents:
    """The indices of an element, a flat number, of an array of `nbytes`; the first may be beyond its extent.

    Just the number where the array has one dimension, or where declarations leave open how many elements its rows have.
    """
    inner = {own[1:] for own in extents if prod(own) * element_bytes == nbytes}
    if len(inner) != 1 or element < 0:
        return (element,)
    result: list[int] = []
    for extent in reversed(inner.pop()):
        element, index = divmod(element, extent)
        result.append(index)
    return (element, *reversed(result))


def _declared(text: str) -> Iterator[tuple[str, list[str]]]:
    for declaration in _DECLARED.findall(text):
        for part in split_at_commas(declaration):
            if (array := _ARRAY.search(part.strip())) is not None:
                yield array[1], _EXTENT.findall(array[2])


def _values(texts: list[str], program: Program, unit: Unit) -> dict[str, str]:
    """Name → the number or expression that it stands for."""
    values: dict[str, str] = {}
    twice: set[str] = set()
    for text in texts:
        for name, value in (*_MACRO.findall(text), *_CONSTANT.findall(text)):
            if values.setdefault(name, value.strip()) != value.strip():
                twice.add(name)
    values = {name: value for name, value in values.items() if name not in twice} | dict(program.defines)
    entry = (unit.entry or program.entry).rpartition("::")[2]
    instance = unit.template_arguments if unit.entry else program.template_arguments
    for text in texts if instance else ():
        if (template := re.search(_TEMPLATE.format(name=re.escape(entry)), text)) is not None:
            words = [re.findall(r"\w+", part.partition("=")[0]) for part in split_at_commas(template[1])]
            values |= {own[-1]: value for own, value in zip(words, instance, strict=False) if own}
    return values | {name: str(value) for name, value in unit.constexpr}


def _number(
    text: str, values: Mapping[str, str], numbers: dict[str, int | None], depth: int = 0
) -> int | None:
    """The number that an extent is; None where it is not told, or is none. `numbers` keeps those of names."""
    python = re.sub(r"(?<!/)/(?!/)", "//", _SUFFIX.sub(r"\1", text.strip()))
    try:
        own: dict[str, int] = {}
        for name in names(python):
            if name not in numbers and depth < _DEEPEST:
                numbers[name] = None  # what a name stands for may name it again
                numbers[name] = _number(values.get(name, ""), values, numbers, depth + 1)
            if (number := numbers.get(name)) is None:
                return None
            own[name] = number
        extent = evaluate(python, own)
    except (ExpressionError, ArithmeticError):
        return None
    return extent if isinstance(extent, int) and extent > 0 else None
