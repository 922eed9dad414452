"""The inputs of a CUDA C++ kernel that it searches by halves: they ascend, or the search finds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit, cuda_syntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD

_DEPTH = 3
"""Functions that hand a pointer on, at most."""
_NAME = r"[A-Za-z_]\w*"
_HALF = r"(?:/2|>>1)"
_MIDDLE = re.compile(rf"\({_NAME}\+{_NAME}(?:\+1)?\){_HALF}|({_NAME})\+\(*{_NAME}-\1(?:\+1)?\)+{_HALF}")
"""`(lo + hi) / 2`, `(lo + hi + 1) >> 1`, and `lo + (hi - lo) / 2`, without blanks."""
_OF_LIBRARY = frozenset({"lower_bound", "upper_bound", "equal_range", "binary_search"})


def searched(kernel: Kernel) -> frozenset[str]:
    """The pointers of a kernel into which it, or a device function that it hands them to, searches by halves."""
    syntax = cuda_syntax(kernel)
    if syntax is None:
        return frozenset()
    pointers = (p.name for p in kernel.parameters if p.pointer)
    return frozenset(name for name in pointers if _is_searched(syntax, syntax.entry, name, _DEPTH))


def _is_searched(syntax: CudaSyntax, unit: Unit, name: str, depth: int) -> bool:
    if any(name == pointer and words & _middles(unit) for pointer, words in _places(unit)):
        return True
    for call in unit.calls:
        into = [place for place, node in enumerate(call.arguments) if _points_into(node, name)]
        if call.name in _OF_LIBRARY and into:
            return True
        callees = [u for u in syntax.units[1:] if u.name == call.name and u is not unit] if depth else []
        for callee in callees:
            taken = callee.parameters
            if any(_is_searched(syntax, callee, taken[p], depth - 1) for p in into if p < len(taken)):
                return True
    return False


def _middles(unit: Unit) -> set[str]:
    """The variables that loops of a function set to the middle of two others."""
    sets = (
        (node.child_by_field_name(place), node.child_by_field_name(value))
        for kind, place, value in (
            ("init_declarator", "declarator", "value"),
            ("assignment_expression", "left", "right"),
        )
        for node in unit.of(kind)
        if unit.loops_around(node)
    )
    return {text_of(place) for place, value in sets if _MIDDLE.search("".join(text_of(value).split()))}


def _places(unit: Unit) -> Iterator[tuple[str, set[str]]]:
    """Each pointer that an element is taken of by brackets or by an address, with the words of the element's place."""
    for node in unit.of("subscript_expression"):
        pointer = node.child_by_field_name("argument")
        index = node.child_by_field_name("indices") or node.child_by_field_name("index")
        yield text_of(pointer), {*WORD.findall(text_of(index))}
    for node in unit.of("binary_expression"):
        if operator_of(node) == "+":
            left, right = (text_of(node.child_by_field_name(side)) for side in ("left", "right"))
            yield left, {*WORD.findall(right)}


def _points_into(node: Node, name: str) -> bool:
    """Whether an argument is a pointer, or an address that is calculated of one."""
    first = next((n for n in inside(node) if n.type == "identifier"), None)
    is_element = (
        any(n.type == "subscript_expression" for n in inside(node)) and node.type != "pointer_expression"
    )
    return text_of(first) == name and not is_element
