"""What a piece of a kernel may change: names that are declared, assigned, counted or handed out there."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.code.cuda.math_functions import is_math, writes_a_result
from kernel_lineage.code.cuda.structs import function_name
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
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.written import dense

_BY_VALUE = re.compile(
    r"__\w+|ceil_div|sizeof|printf|assert|atomic\w+|"
    r"(?:static|reinterpret|const)_cast(?:<.*>)?|float|int|double|make_\w+|(?:cg|cooperative_groups)::\w+"
)
"""Functions of CUDA and C++ that take numbers by value, but for those of mathematics."""


def is_of_the_language(function: str) -> bool:
    """Whether a function, as written, is one of CUDA's or C++'s that takes numbers by value and knows no thread."""
    return is_math(function) or _BY_VALUE.fullmatch(function) is not None


def only_gives_a_value(function: str) -> bool:
    """Whether such a function writes no memory and prints nothing."""
    writes = function.startswith(("atomic", "printf", "__st")) or writes_a_result(function)
    return is_of_the_language(function) and not writes


def methods_of(kernel: Kernel) -> dict[str, list[Node]]:
    """Functions that structures of the kernel's file define within them, by name."""
    source = kernel.source
    kept = source.derived.get("methods") if source is not None else None
    if isinstance(kept, dict):
        return kept
    methods: dict[str, list[Node]] = {}
    for node in descendants(source.root) if source is not None and source.root is not None else ():
        inside = node.parent is not None and node.parent.type == "field_declaration_list"
        if inside and node.type == "function_definition":
            methods.setdefault(function_name(node) or "", []).append(node)
    if source is not None:
        source.derived["methods"] = methods
    return methods


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
    used = re.findall(rf"(?<![\w.]){re.escape(root)}(?!\w)", dense(body))
    return len(used) == 1 and any(
        v.pointer and v.node.parent == body and "__restrict__" in text_of(v.node) and _is_root(v, root)
        for v in syntax.entry.variables
    )


def _is_root(variable: Variable, root: str) -> bool:
    return dense(variable.value) == root


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
            changed |= _handed(syntax, node) | _changed_by_its_own(syntax, node)
        elif node.type == "subscript_expression" and inside:
            changed |= _changed_by_its_own(syntax, node)
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
        is_pure = is_of_the_language(call.qualified) and not writes_a_result(call.qualified)
        if not start <= call.node.start_byte < end or (not atomic and is_pure):
            continue
        for argument in call.arguments[:1] if atomic else call.arguments:
            place = reach.place(argument)
            if place.root and argument.type != "subscript_expression":
                calls.setdefault(place.root, text_of(call.node))
    return calls


def _changed_by_its_own(syntax: CudaSyntax, node: Node) -> set[str]:
    """The variable of a structure that a call of the structure's own function may change: `x.f(i)`, `x(i)`, `x[i]`."""
    called = field_of(node, "function") or field_of(node, "argument")
    if called is None:
        return set()
    name = "operator[]" if node.type == "subscript_expression" else "operator()"
    if called.type == "field_expression" and node.type == "call_expression":
        name, called = text_of(called.child_by_field_name("field")), field_of(called, "argument")
    methods = methods_of(syntax.kernel).get(name, [])
    return {variable_of(called)} - {""} if any(map(_changes_its_own, methods)) else set()


def _changes_its_own(method: Node) -> bool:
    """Whether a structure's function may change the structure, or lets others do so by what it returns."""
    body, declarator = method.child_by_field_name("body"), method.child_by_field_name("declarator")
    if declarator is None or body is None:
        return True
    if re.search(r"\)\s*const\b", text_of(method)[: body.start_byte - method.start_byte]):
        return False
    for node in descendants(body):
        if node.type in ("assignment_expression", "update_expression", "gnu_asm_expression"):
            target = field_of(node, "left") or field_of(node, "argument")
            if target is None or target.type != "subscript_expression" or not _is_behind(method, target):
                return True
        elif node.type == "call_expression":
            function = text_of(node.child_by_field_name("function"))
            if not is_of_the_language(function) or function.startswith("atomic"):
                return True
        elif node.type == "pointer_expression" and text_of(node).startswith("&"):
            return True
        elif node.type == "return_statement" and declarator.type == "reference_declarator":
            returned = next(iter(node.named_children), None)
            if returned is None or not _is_behind(method, returned):
                return True
    return False


def _is_behind(method: Node, place: Node) -> bool:
    """Whether a place is an element of what a pointer of the structure points to, and not of the structure."""
    array = field_of(place, "argument") if place.type == "subscript_expression" else None
    if array is not None and array.type == "field_expression":
        array = array.child_by_field_name("field")
    return array is not None and any(
        n.type == "pointer_declarator" and text_of(n.child_by_field_name("declarator")) == text_of(array)
        for field in (method.parent.named_children if method.parent is not None else ())
        if field.type == "field_declaration"
        for n in descendants(field)
    )


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
