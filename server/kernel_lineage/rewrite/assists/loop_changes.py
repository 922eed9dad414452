"""What a piece of a kernel may change: names that are declared, assigned, counted or handed out there."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Variable,
    arguments_of,
    changed_by,
    field_of,
    text_of,
    variable_of,
)
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.layout import descendants

_BY_VALUE = re.compile(
    r"__\w+|\w+f|f?min|f?max|fma|f?abs|r?sqrt|exp2?|log2?|pow|ceil_div|sizeof|printf|assert|atomic\w+|"
    r"(?:static|reinterpret|const)_cast(?:<.*>)?|float|int|double|make_\w+|(?:cg|cooperative_groups)::\w+"
)
"""Functions of CUDA and C++ that take numbers by value."""


def is_of_the_language(function: str) -> bool:
    """Whether a function, as written, is one of CUDA's or C++'s that takes numbers by value and knows no thread."""
    return _BY_VALUE.fullmatch(function) is not None


def changed_in(syntax: CudaSyntax, part: Node) -> set[str]:
    """Names that have no one value throughout a part of the kernel: a loop, say, with its head."""
    return changed_between(syntax, part.start_byte, part.end_byte)


def promised_apart(syntax: CudaSyntax, one: str, other: str) -> bool:
    """Whether `__restrict__` says of two arguments or fields of arguments that nothing that is written lies in both.

    A field has the promise of the pointer that the kernel begins with, where nothing else uses the field:
    `float* __restrict__ out = job.out;`.
    """
    parameters = [p for p in map(syntax.kernel.parameter, {one, other}) if p is not None]
    handed_on = [_handed_on(syntax, root) for root in {one, other}]
    both = len(parameters) == 2 or (one != other and all(handed_on))
    return both and (any(p.restrict for p in parameters) or any(handed_on))


def _handed_on(syntax: CudaSyntax, root: str) -> bool:
    """Whether all of a kernel reaches a buffer by one pointer with `__restrict__`, which the kernel begins with."""
    body = syntax.entry.node.child_by_field_name("body")
    used = re.findall(rf"(?<![\w.]){re.escape(root)}(?!\w)", "".join(text_of(body).split()))
    return len(used) == 1 and any(
        v.pointer and v.node.parent == body and "__restrict__" in text_of(v.node) and _is_root(v, root)
        for v in syntax.entry.variables
    )


def _is_root(variable: Variable, root: str) -> bool:
    return "".join(text_of(variable.value).split()) == root


def changed_between(syntax: CudaSyntax, start: int, end: int) -> set[str]:
    """Names that have no one value from one byte of the kernel to another.

    A name whose address is taken anywhere, and one that is handed to a function which may take it by reference, counts
    as changed.
    """
    changed = {
        v.name for v in syntax.entry.variables if start <= v.node.start_byte and v.node.end_byte <= end
    }
    for node in descendants(syntax.entry.node):
        inside = start <= node.start_byte and node.end_byte <= end
        if inside or node.type == "pointer_expression":
            changed.add(changed_by(node, addressed=True))
        if node.type == "reference_declarator":
            changed.add(variable_of(field_of(node.parent, "value")))
        elif node.type == "call_expression" and inside:
            changed |= _handed(syntax, node)
        elif node.type == "lambda_expression":
            changed |= identifiers_in(node)
    return changed - {""}


def written_by_calls(syntax: CudaSyntax, start: int, end: int) -> dict[str, str]:
    """Buffers that calls from one byte of the kernel to another may write, and such a call as written.

    Atomic functions write what they are pointed to; a function of the file's own may write whatever it is handed.
    """
    reach, calls = indexing(syntax.entry), dict[str, str]()
    for call in syntax.entry.calls:
        atomic = call.name.startswith("atomic")
        if not start <= call.node.start_byte < end or (not atomic and is_of_the_language(call.qualified)):
            continue
        for argument in call.arguments[:1] if atomic else call.arguments:
            place = reach.place(argument)
            if place.root and argument.type != "subscript_expression":
                calls.setdefault(place.root, text_of(call.node))
    return calls


def _handed(syntax: CudaSyntax, call: Node) -> set[str]:
    name = text_of(call.child_by_field_name("function"))
    if is_of_the_language(name):
        return set()
    for unit in syntax.units[1:]:
        if unit.name == name:
            declared = next((n for n in descendants(unit.node) if n.type == "parameter_list"), None)
            if declared is not None and not any(
                n.type == "reference_declarator" for n in descendants(declared)
            ):
                return set()
    return {text_of(a) for a in arguments_of(call) if a.type == "identifier"}
