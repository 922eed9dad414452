"""Calls: intrinsics that access memory, arithmetic functions, cooperative groups, macros, and functions to inline."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.conversions import cast
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.places import loaded
from kernel_lineage.code.cuda.scope import shown
from kernel_lineage.code.integers import common, operated
from kernel_lineage.code.values import INT32, UINT32, Group, Int, Opaque, Pointer, Value, unknown, why
from kernel_lineage.kernels.cuda_forms import text_of

_LOADS = frozenset({"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"})
_STORES = frozenset({"__stcs", "__stwt", "__stcg", "__stwb"})
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
_CHOOSE = {"min": terms.minimum, "max": terms.maximum, "umin": terms.minimum, "umax": terms.maximum}
_HARMLESS = re.compile(
    r"__sync\w*|__threadfence\w*|printf|__nanosleep|__trap|__shfl\w*|__reduce\w*|__ballot\w*|__all\w*|__any\w*|__popc|"
    r"__float\w*|__half\w*|__bfloat\w*|__int\w*|__double\w*|__h\w+|__f\w+|__builtin_\w+|make_\w+|f?\w*max\w*|f?\w*min\w*|"
    r"\w*(?:exp|log|sqrt|sin|cos|tan|erf|abs|pow|fma|floor|ceil|round|fmod|isnan|isinf|div|rcp)\w*|__activemask|"
    r"sync|shfl\w*|reduce|ballot|any|all|wait|labeled_partition|clock\w*"
)
_OF_TYPES = frozenset(
    {"int", "unsigned", "long", "short", "char", "float", "double", "size_t", "bool", "half"}
)
_DEPTH = 6

Inline = Callable[[Expressions, Node, Node], Value]
"""From a call and a function's definition to what it returns."""


def evaluate_call(at: Expressions, node: Node, inline: Inline) -> Value:
    """The value of a call."""
    function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    arguments = [a for a in listed.named_children if a.type != "comment"] if listed is not None else []
    if function is None:
        return Opaque()
    if function.type == "field_expression":
        return _member(at, node, function, arguments)
    template = ""
    if function.type == "qualified_identifier":
        function = function.child_by_field_name("name") or function
    if function.type == "template_function":
        template = text_of(function.child_by_field_name("arguments"))[1:-1].strip()
        function = function.child_by_field_name("name") or function
    name = text_of(function).rsplit("::", 1)[-1]
    if name in _CASTS and arguments:
        return cast(at.scope, node, template, at.value(arguments[0]))
    if function.type == "primitive_type" or name in _OF_TYPES:
        return cast(at.scope, node, name, at.value(arguments[0])) if len(arguments) == 1 else Opaque()
    if (macro := at.scope.names.macros.get(name)) is not None and macro.parameters is not None:
        return _expanded(at, node, macro.body, macro.parameters, arguments)
    if name in at.scope.names.functions and name not in _LOADS | _STORES and at.scope.depth < _DEPTH:
        fitting = [f for f in at.scope.names.functions[name] if _takes(f, len(arguments))]
        if len(fitting) == 1:
            return inline(at, node, fitting[0])
    return _intrinsic(at, node, name, template, arguments)


def _intrinsic(at: Expressions, node: Node, name: str, template: str, arguments: list[Node]) -> Value:
    if name in _LOADS | _STORES and arguments:
        place = at.value(arguments[0])
        for argument in arguments[1:]:
            at.value(argument)
        if not isinstance(place, Pointer):
            at.scope.problem(node, f"`{shown(node)}`: {why(place)}")
            return Opaque()
        if name in _LOADS:
            return loaded(at.scope, node, place)
        at.scope.access(node, place, writes=True)
        return Opaque()
    if name.startswith("atomic") and arguments:
        place = at.value(arguments[0])
        for argument in arguments[1:]:
            at.value(argument)
        if isinstance(place, Pointer):
            at.scope.access(node, place, reads=True, writes=True, atomic=True)
            return unknown(
                at.scope.model, name, INT32, f"the result of `{shown(node)}` on line {at.scope.line(node)}"
            )
        at.scope.problem(node, f"`{shown(node)}`: {why(place)}")
        return Opaque()
    if name == "assert" and arguments:
        at.scope.path = (*at.scope.path, at.truth(arguments[0]))
        return Opaque()
    values = [at.value(argument) for argument in arguments]
    match name, values:
        case (("min" | "max" | "umin" | "umax"), [Int() as a, Int() as b]):
            return Int(_CHOOSE[name](a.term, b.term), common(a.type, b.type), a.arithmetic | b.arithmetic)
        case "abs", [Int() as a]:
            return Int(terms.maximum(a.term, terms.sub(Num(0), a.term)), a.type, a.arithmetic)
        case ("this_thread_block", []):
            return Group(None)
        case "tiled_partition", [Group(), *_]:
            size = at.scope.names.snippet(template) if template else None
            extent = at.integer(size) if size is not None else values[1] if len(values) > 1 else None
            return (
                Group(extent.term) if isinstance(extent, Int) else Opaque("a group whose size is not known")
            )
        case "__umul24" | "__mul24", [Int() as a, Int() as b]:
            return operated(at.scope.site(node), "*", a, b)
    if any(
        isinstance(value, Pointer) and value.space != "local" for value in values
    ) and not _HARMLESS.fullmatch(name):
        at.scope.problem(node, f"`{shown(node)}`: `{name}` is given an address and is not modelled")
    return Opaque(f"the result of `{shown(node)}` on line {at.scope.line(node)}")


def _member(at: Expressions, node: Node, function: Node, arguments: list[Node]) -> Value:
    """A method of a cooperative group."""
    receiver = at.value(function.child_by_field_name("argument") or function)
    method = text_of(function.child_by_field_name("field")).partition("<")[0]
    for argument in arguments:
        at.value(argument)
    if not isinstance(receiver, Group):
        return Opaque(f"`{shown(node)}` on line {at.scope.line(node)}")
    block = at.scope.setting.launch.block
    rank, threads = linear_thread(block)
    size = receiver.size if receiver.size is not None else threads
    match method:
        case "thread_rank":
            return Int(terms.mod(rank, size) if receiver.size is not None else rank, UINT32)
        case "size" | "num_threads":
            return Int(size, UINT32)
        case "meta_group_rank":
            return Int(terms.floor_div(rank, size), UINT32)
        case "meta_group_size":
            return Int(terms.ceil_div(threads, size), UINT32)
        case "group_index" | "thread_index":
            return Opaque(f"`{shown(node)}` on line {at.scope.line(node)}")
    return Opaque()


def linear_thread(block: tuple[Term, Term, Term]) -> tuple[Term, Term]:
    """The rank of a thread within its block, and the number of threads."""
    axes = [
        Num(0) if extent == Num(1) else Var(f"threadIdx.{axis}")
        for axis, extent in zip("xyz", block, strict=True)
    ]
    rank: Term = terms.add(axes[0], terms.mul(block[0], terms.add(axes[1], terms.mul(block[1], axes[2]))))
    return rank, terms.mul(block[0], terms.mul(block[1], block[2]))


def _expanded(
    at: Expressions, node: Node, body: str, parameters: tuple[str, ...], arguments: list[Node]
) -> Value:
    """A macro with parameters, as the expression that it stands for."""
    given = dict(zip(parameters, map(text_of, arguments), strict=False))
    text = re.sub(r"[A-Za-z_]\w*", lambda m: given.get(m.group(), m.group()), body)
    expression = at.scope.names.snippet(text)
    if expression is None or at.scope.depth >= _DEPTH:
        at.scope.problem(node, f"the macro `{shown(node)}` is no expression")
        return Opaque()
    before = at.scope.at_line
    at.scope.at_line = at.scope.line(node)
    at.scope.depth += 1
    try:
        return at.value(expression)
    finally:
        at.scope.at_line = before
        at.scope.depth -= 1


def _takes(function: Node, count: int) -> bool:
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    given = (
        [p for p in listed.named_children if p.type.endswith("parameter_declaration")]
        if listed is not None
        else []
    )
    needed = sum(p.type == "parameter_declaration" for p in given)
    return needed <= count <= len(given)
