"""Expressions of CUDA C++ → symbolic values, with the accesses that their evaluation makes."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, ZERO, Num, Term, Var
from kernel_lineage.code.cuda.conversions import cast, literal
from kernel_lineage.code.cuda.operators import NULL, binary, combined, unary
from kernel_lineage.code.cuda.places import NAMES, load, loaded, place, store
from kernel_lineage.code.cuda.scope import Scope, shown
from kernel_lineage.code.integers import truth_of
from kernel_lineage.code.values import (
    BOOL,
    INT32,
    UINT32,
    UINT64,
    Int,
    IntType,
    Opaque,
    Pointer,
    Value,
    merged,
    unknown,
    why,
)
from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of

_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")
Call = Callable[["Expressions", Node], Value]


class Expressions:
    """Evaluates expressions in a scope. `call` evaluates calls, which may inline functions."""

    def __init__(self, scope: Scope, call: Call) -> None:
        self.scope = scope
        self.call = call

    def truth(self, node: Node | None) -> Term:
        """A condition. One that could not be modelled is a new unknown."""
        node = bare(node)
        if node is None:
            return TRUE
        value = self.value(node)
        if isinstance(value, Int):
            return truth_of(value.term)
        reason = f"the condition `{shown(node)}` on line {self.scope.line(node)} depends on data"
        return truth_of(unknown(self.scope.model, "condition", BOOL, reason).term)

    def integer(self, node: Node | None) -> Int:
        """An integer; unknown where it could not be modelled."""
        if node is None:
            return Int(ZERO)
        value = self.value(node)
        return value if isinstance(value, Int) else self.unknown(node, value)

    def unknown(self, node: Node, value: Value | None = None, type_: IntType = INT32) -> Int:
        """A new unknown in the place of a node."""
        reason = why(value) if value is not None else ""
        return unknown(self.scope.model, "value", type_, reason or self.scope.site(node).named)

    def value(self, node: Node) -> Value:
        """The value of an expression."""
        match node.type:
            case "parenthesized_expression":
                inner = bare(node)
                return self.value(inner) if inner is not None else Opaque()
            case "number_literal":
                return literal(text_of(node))
            case "true" | "false":
                return Int(TRUE if node.type == "true" else FALSE, BOOL)
            case "identifier":
                return self.name(node)
            case "qualified_identifier":
                return self.name(node)
            case "field_expression":
                return self.field(node)
            case "binary_expression":
                return binary(self, node)
            case "unary_expression":
                return unary(self, node)
            case "update_expression":
                return self.update(node)
            case "assignment_expression":
                return self.assignment(node)
            case "conditional_expression":
                return self.conditional(node)
            case "cast_expression":
                argument = node.child_by_field_name("value")
                described = node.child_by_field_name("type")
                if argument is None or described is None:
                    return Opaque()
                return cast(self.scope, node, text_of(described), self.value(argument))
            case "call_expression":
                return self.call(self, node)
            case "subscript_expression":
                return load(self, node)
            case "pointer_expression":
                if operator_of(node) == "*":
                    return load(self, node)
                found = place(self, node.child_by_field_name("argument"))
                return found if isinstance(found, Pointer) else Opaque(f"the address `{shown(node)}`")
            case "sizeof_expression":
                named = node.child_by_field_name("type") or bare(node.child_by_field_name("value"))
                size = self.scope.names.element(text_of(named)).nbytes
                return Int(Num(size), UINT64) if size else self.unknown(node, None, UINT64)
            case "comma_expression":
                self.value(node.named_children[0])
                return self.value(node.named_children[-1])
            case "compound_literal_expression" | "initializer_list" | "argument_list":
                for child in node.named_children:
                    if child.type not in ("type_identifier", "primitive_type", "comment"):
                        self.value(child)
                return Opaque()
            case "null":
                return NULL
            case "lambda_expression":
                return Opaque(f"a lambda on line {self.scope.line(node)}")
            case _:
                for child in node.named_children:
                    self.value(child)
                return Opaque()

    def name(self, node: Node) -> Value:
        """A variable, constant or macro."""
        name = text_of(node)
        scope = self.scope
        if name in scope.variables:
            return scope.variables[name]
        if name in scope.setting.constants:
            return Int(scope.setting.constants[name])
        if name == "warpSize":
            return Int(Num(32))
        macro = scope.names.macros.get(name)
        value = scope.names.snippet(macro.body) if macro is not None and macro.parameters is None else None
        value = value or scope.names.constants.get(name)
        if value is None or name in scope.busy:
            return Opaque(f"`{name}` on line {scope.line(node)} is not known")
        scope.busy.add(name)
        before, scope.at_line = scope.at_line, scope.line(node)
        try:
            return self.value(value)
        finally:
            scope.busy.discard(name)
            scope.at_line = before

    def field(self, node: Node) -> Value:
        """A member: of the built-in variables, or of a vector in memory."""
        text = text_of(node)
        if (built_in := _BUILT_IN.fullmatch(text)) is not None:
            launch = self.scope.setting.launch
            match built_in[1]:
                case "blockDim":
                    return Int(launch.block["xyz".index(built_in[2])], UINT32)
                case "gridDim":
                    return Int(launch.grid["xyz".index(built_in[2])], UINT32)
            extents = launch.block if built_in[1] == "threadIdx" else launch.grid
            return Int(ZERO if extents["xyz".index(built_in[2])] == Num(1) else Var(text), UINT32)
        found = place(self, node)
        return loaded(self.scope, node, found) if isinstance(found, Pointer) else Opaque(why(found))

    def assignment(self, node: Node) -> Value:
        """`a = b`, `a += b` and the like."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = operator_of(node)
        if left is None or right is None:
            return Opaque()
        if operator == "=":
            value = self.value(right)
            store(self, left, value)
            return value
        inner = bare(left)
        in_memory = inner is not None and inner.type not in NAMES
        if in_memory:
            self.value(right)
            store(self, left, Opaque(), also_reads=True)
            return Opaque()
        value = combined(self.scope, node, operator[:-1], self.value(left), self.value(right))
        store(self, left, value)
        return value

    def update(self, node: Node) -> Value:
        """`i++` and `--i`."""
        target = bare(node.child_by_field_name("argument"))
        if target is None:
            return Opaque()
        if target.type not in NAMES:
            store(self, target, Opaque(), also_reads=True)
            return Opaque()
        before = self.value(target)
        after = combined(self.scope, node, operator_of(node)[0], before, Int(Num(1)))
        store(self, target, after)
        return after if node.children[0].type in ("++", "--") else before

    def conditional(self, node: Node) -> Value:
        """`c ? a : b`: each side is read under its condition."""
        condition = self.truth(node.child_by_field_name("condition"))
        yes_node, no_node = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if yes_node is None or no_node is None:
            return Opaque()
        with self.scope.under(condition):
            yes = self.value(yes_node)
        with self.scope.under(terms.negation(condition)):
            no = self.value(no_node)
        return merged(condition, yes, no, shown(node), self.scope.line(node))
