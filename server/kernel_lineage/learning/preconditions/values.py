"""Values from memory that came to be asserted or clamped: before, every value of the array had to be so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, read_call, text_of
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition
from kernel_lineage.learning.preconditions.wording import is_said

_LIMITS = re.compile(r"assert|max|min|clamp|check", re.IGNORECASE)
_NUMBER = re.compile(r"(-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)[fFuUlL]*")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CLAMPS = dict.fromkeys(("max", "fmax", "fmaxf", "maximum"), ">=") | dict.fromkeys(
    ("min", "fmin", "fminf", "minimum"), "<="
)
_CASTS = frozenset({"static_cast", "float", "double", "__half2float", "__bfloat162float", "__ldg", "__ldcs"})
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_DEPTH = 12


def read(change: CodeChange) -> Iterator[Precondition]:
    """What new assertions and clamps say of the values of arrays that the code read before, too."""
    if not change.adds(_LIMITS):
        return
    old = {needed.expr for needed in _limits(change.before)}
    arrays = {p.name for p in change.before.parameters}
    for needed in _limits(change.after):
        array = needed.expr.partition("(")[2].partition(")")[0]
        if needed.expr not in old and array in arrays and is_said(needed.expr, change.names.names | {array}):
            yield needed


def _limits(kernel: Kernel) -> Iterator[Precondition]:
    if kernel.language is Language.CUDA:
        syntax = cuda_syntax(kernel)
        yield from _in_cuda(syntax.entry) if syntax is not None else ()
    else:
        python = triton_syntax(kernel)
        yield from _in_triton(python.entry) if python is not None else ()


def _in_cuda(unit: Unit) -> Iterator[Precondition]:
    for call in unit.calls:
        line = call.node.start_point[0] + 1
        if call.name in ("assert", "CUDA_KERNEL_ASSERT") and call.arguments:
            for part in _conjuncts(call.arguments[0]):
                sides = field_of(part, "left"), field_of(part, "right")
                yield from _cuda_limit(unit, operator_of(part), sides, line)
                yield from _cuda_limit(unit, _TURNED.get(operator_of(part), ""), sides[::-1], line)
        elif call.name in _CLAMPS and len(call.arguments) == 2:
            yield from _cuda_limit(unit, _CLAMPS[call.name], call.arguments, line)
            yield from _cuda_limit(unit, _CLAMPS[call.name], call.arguments[::-1], line)


def _conjuncts(condition: Node) -> Iterator[Node]:
    node = bare(condition)
    if node is None or node.type != "binary_expression":
        return
    if operator_of(node) == "&&":
        for side in ("left", "right"):
            inner = field_of(node, side)
            yield from _conjuncts(inner) if inner is not None else ()
    else:
        yield node


def _cuda_limit(
    unit: Unit, operator: str, sides: tuple[Node | None, ...], line: int
) -> Iterator[Precondition]:
    limit = _number(text_of(sides[1]), {p.name for p in unit.kernel.parameters if not p.pointer})
    if operator in _TURNED and limit and sides[0] is not None:
        array = _array(unit, sides[0], _DEPTH)
        if array:
            yield Precondition(f"range({array}) {operator} {limit}", line)


def _array(unit: Unit, node: Node, depth: int) -> str:
    """The pointer parameter that a value is loaded from, through variables, casts and copies in shared memory."""
    value = bare(node)
    if value is None or depth == 0:
        return ""
    match value.type:
        case "identifier":
            inner = unit.value_of(text_of(value), value.start_byte)
            return _array(unit, inner, depth - 1) if inner is not None else ""
        case "cast_expression":
            inner = field_of(value, "value")
            return _array(unit, inner, depth - 1) if inner is not None else ""
        case "pointer_expression":
            inner = field_of(value, "argument")
            return _array(unit, inner, depth - 1) if inner is not None else ""
        case "call_expression":
            call = read_call(value)
            return (
                _array(unit, call.arguments[0], depth - 1) if call.name in _CASTS and call.arguments else ""
            )
        case "subscript_expression":
            base = field_of(value, "argument")
            name = text_of(base)
            if name in unit.pointer_parameters:
                return name
            if base is not None and base.type != "identifier":
                return _array(unit, base, depth - 1)  # a component of a vector
            return _copied(unit, value, depth)
    return ""


def _copied(unit: Unit, element: Node, depth: int) -> str:
    """What an element of the kernel's own array was last given."""
    for node in reversed(unit.of("assignment_expression")):
        left, right = field_of(node, "left"), field_of(node, "right")
        before = node.end_byte <= element.start_byte and operator_of(node) == "="
        if before and text_of(left) == text_of(element) and right is not None:
            return _array(unit, right, depth - 1)
    return ""


def _number(text: str, scalars: set[str]) -> str:
    number = _NUMBER.fullmatch(text.strip())
    return number[1].rstrip(".") if number else text if text in scalars else ""


def _in_triton(unit: TritonUnit) -> Iterator[Precondition]:
    for call in unit.calls:
        line = unit.span(call.node).first_line
        arguments = call.node.args
        if call.name == "device_assert" and arguments and isinstance(arguments[0], ast.Compare):
            test = arguments[0]
            if len(test.ops) == 1 and type(test.ops[0]) in _ORDERS:
                operator = _ORDERS[type(test.ops[0])]
                yield from _triton_limit(unit, operator, test.left, test.comparators[0], line)
                yield from _triton_limit(unit, _TURNED[operator], test.comparators[0], test.left, line)
        elif call.name in _CLAMPS and len(arguments) == 2 and call.of_language:
            yield from _triton_limit(unit, _CLAMPS[call.name], arguments[0], arguments[1], line)
            yield from _triton_limit(unit, _CLAMPS[call.name], arguments[1], arguments[0], line)
        elif call.name == "clamp" and len(arguments) == 3 and call.of_language:
            yield from _triton_limit(unit, ">=", arguments[0], arguments[1], line)
            yield from _triton_limit(unit, "<=", arguments[0], arguments[2], line)


def _triton_limit(
    unit: TritonUnit, operator: str, value: ast.expr, limit: ast.expr, line: int
) -> Iterator[Precondition]:
    number = _number(ast.unparse(limit), set(unit.parameters - unit.pointers))
    array = _triton_array(unit, value, _DEPTH)
    if number and array:
        yield Precondition(f"range({array}) {operator} {number}", line)


def _triton_array(unit: TritonUnit, value: ast.expr, depth: int) -> str:
    match value:
        case ast.Name() if depth and (assigned := unit.value_of(value.id, value.lineno)):
            return _triton_array(unit, assigned[1], depth - 1)
        case ast.Call(func=ast.Attribute(attr="to", value=inner)):
            return _triton_array(unit, inner, depth)
        case ast.Call(args=[address, *_]) if dotted(value.func) in ("tl.load", "triton.language.load"):
            return pointer_of(unit.form(address))
    return ""
