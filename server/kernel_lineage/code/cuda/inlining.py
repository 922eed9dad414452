"""Device functions, methods and lambdas, read where they are called with the arguments of the call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Term, Var
from kernel_lineage.code.cuda.conversions import declared
from kernel_lineage.code.cuda.declarations import declared_names
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.places import place
from kernel_lineage.code.cuda.scope import shown
from kernel_lineage.code.cuda.structs import template_parameters
from kernel_lineage.code.values import Int, Opaque, Pointer, Reference, Value, merged
from kernel_lineage.kernels.cuda_forms import bare, text_of, within_declarator
from kernel_lineage.kernels.cuda_text import at_commas

_DECLARATORS = ("function_declarator", "abstract_function_declarator", "lambda_declarator")
Run = Callable[[Expressions, Node | None], bool]


@dataclass(frozen=True, slots=True)
class Formal:
    """One parameter of a function."""

    name: str
    type: str
    pointer: bool
    reference: bool
    const: bool
    default: Node | None


def inlined(
    at: Expressions,
    node: Node,
    function: Node,
    arguments: list[Node],
    run: Run,
    *,
    template: str = "",
    captures: bool = False,
    members: Mapping[str, Value] | None = None,
) -> Value:
    """What a function returns, read with a call's arguments.

    With `captures` it sees the variables of the caller, as a lambda does; `members` are those of a method's struct.
    """
    scope, outer = at.scope, at.scope.variables
    formals = parameters_of(function)
    values: list[Value] = []
    for position, argument in enumerate(arguments):
        formal = formals[position] if position < len(formals) else None
        target = (
            place(at, argument) if formal is not None and formal.reference and _is_lvalue(argument) else None
        )
        scalar = isinstance(target, Pointer) and not target.extents
        values.append(Reference(target) if scalar and isinstance(target, Pointer) else at.value(argument))
    types = dict(scope.types)
    bound: dict[str, Value] = dict(outer) if captures else dict(members or {})
    bound |= template_arguments(at, function, template, formals, values)
    for position, formal in enumerate(formals):
        value: Value
        if position < len(values):
            value = values[position]
        else:
            value = at.value(formal.default) if formal.default is not None else Opaque()
        kept = formal.reference and isinstance(value, Reference)
        bound[formal.name] = value if kept else declared(at, node, formal.type, formal.pointer, value)
    kept_state = scope.returned, scope.path, scope.depth, scope.in_file, scope.function, scope.calls
    scope.calls = (*scope.calls, scope.line(node))
    scope.variables, scope.returned, scope.depth = bound, [], scope.depth + 1
    scope.in_file = scope.in_file and (captures or scope.names.is_in_file(function))
    scope.function = text_of(function)
    by_reference = _gives_reference(function)
    before, at.returns_places = at.returns_places, by_reference
    try:
        run(at, function.child_by_field_name("body"))
        returned, after = scope.returned, scope.variables
    finally:
        scope.variables = outer
        scope.returned, scope.path, scope.depth, scope.in_file, scope.function, scope.calls = kept_state
        scope.types, at.returns_places = types, before
    for formal, argument in zip(formals, arguments, strict=False):
        target_node = bare(argument)
        if (
            formal.reference
            and not formal.const
            and target_node is not None
            and target_node.type == "identifier"
        ):
            result = after.get(formal.name, Opaque())
            if not isinstance(result, Reference):
                scope.variables[text_of(target_node)] = result
    if captures:
        own = {formal.name for formal in formals}
        for name in outer:
            if name not in own and name in after:
                scope.variables[name] = after[name]
    return _result(at, node, returned, len(scope.path))


def _is_lvalue(node: Node) -> bool:
    inner = bare(node)
    return inner is not None and inner.type in (
        "subscript_expression",
        "pointer_expression",
        "field_expression",
    )


def _gives_reference(function: Node) -> bool:
    declarator = function.child_by_field_name("declarator")
    return declarator is not None and declarator.type == "reference_declarator"


def template_arguments(
    at: Expressions,
    function: Node,
    template: str = "",
    formals: Sequence[Formal] = (),
    values: Sequence[Value] = (),
) -> dict[str, Value]:
    """The template's parameters: by the call's brackets, by the arguments' types, or by their defaults."""
    head = (
        function.parent
        if function.parent is not None and function.parent.type == "template_declaration"
        else None
    )
    if head is None:
        return {}
    written = text_of(head.child_by_field_name("parameters"))[1:-1]
    explicit = at_commas(template)
    bound: dict[str, Value] = {}
    for position, (kind, name, default) in enumerate(template_parameters(written)):
        argument = explicit[position] if position < len(explicit) else ""
        if kind == "typename":
            deduced = argument or _deduced(name, formals, values) or default
            if deduced:
                at.scope.types[name] = at.scope.names.base(deduced, at.scope.types)
            else:
                at.scope.types.pop(name, None)
            continue
        node = at.scope.names.snippets.expression(argument or default) if argument or default else None
        if node is not None:
            bound[name] = at.integer(node)
        else:
            at.scope.model.depends[name] = ()
            at.scope.model.constants.add(name)
            bound[name] = Int(Var(name))
    return bound


def _deduced(name: str, formals: Sequence[Formal], values: Sequence[Value]) -> str:
    for formal, value in zip(formals, values, strict=False):
        if re.search(rf"\b{re.escape(name)}\b", formal.type) is None:
            continue
        pointer = value.to if isinstance(value, Reference) else value
        if isinstance(pointer, Pointer) and re.sub(r"\bconst\b|[&\s]", "", formal.type) == name:
            return pointer.element.name or pointer.element.dtype
    return ""


def _result(
    at: Expressions, node: Node, returned: list[tuple[tuple[Term, ...], Value]], outside: int
) -> Value:
    if not returned:
        return Opaque()
    *others, (_, value) = returned
    for path, other in reversed(others):
        condition = terms.conjunction(*path[outside:])
        value = merged(condition, other, value, shown(node), at.scope.line(node))
    return value


def _listed(function: Node) -> Node | None:
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type not in _DECLARATORS:
        declarator = within_declarator(declarator)
    if declarator is None:
        return None
    return declarator.child_by_field_name("parameters") or next(
        (c for c in declarator.named_children if c.type == "parameter_list"), None
    )


def takes(function: Node, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    listed = _listed(function)
    formals = (
        [p for p in listed.named_children if p.type.endswith("parameter_declaration")]
        if listed is not None
        else []
    )
    needed = sum(p.type == "parameter_declaration" and text_of(p) != "void" for p in formals)
    return needed <= count <= len(formals) and function.child_by_field_name("body") is not None


def parameters_of(function: Node) -> list[Formal]:
    """The parameters of a function or lambda, in order."""
    listed = _listed(function)
    formals = []
    for node in listed.named_children if listed is not None else ():
        if not node.type.endswith("parameter_declaration"):
            continue
        names = declared_names(node)
        head = text_of(node).split("=")[0]
        stars = head.count("*")
        formals.append(
            Formal(
                names[0] if names else "",
                text_of(node.child_by_field_name("type")) + "*" * (stars - 1),
                stars > 0 or "[" in head,
                "&" in head,
                re.match(r"\s*const\b", head) is not None,
                node.child_by_field_name("default_value"),
            )
        )
    return formals
