"""Expressions of CUDA C++ → symbolic values, with the accesses that their evaluation makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, ZERO, Num, Term, Var
from kernel_lineage.code.cuda.assembly import assembled
from kernel_lineage.code.cuda.conversions import cast, literal
from kernel_lineage.code.cuda.layouts import aggregate, as_integer, constant_of, element_of
from kernel_lineage.code.cuda.operators import NULL, binary, combined, unary
from kernel_lineage.code.cuda.places import (
    NAMES,
    links_too_long,
    load,
    loaded,
    place,
    store,
    uniform,
    variable_of,
)
from kernel_lineage.code.cuda.scope import Scope, shown
from kernel_lineage.code.integers import truth_of
from kernel_lineage.code.values import (
    BOOL,
    INT32,
    UINT32,
    UINT64,
    Int,
    IntType,
    Lambda,
    Opaque,
    Pointer,
    Record,
    Reference,
    Symbol,
    Value,
    merged,
    unknown,
    why,
)
from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, sign_of_two, text_of

_BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_DECLARED = r"(?:[\w>\]]\s+|[;{{}}]\s*(?:const\s+)?[\w:]+(?:<[^;{{}}]*>)?\s*[*&]+\s*){}\s*[=;,(\[{{)]"
"""`T name` anywhere, `T *name` where a statement begins: elsewhere that is a product."""


class Inlines(Protocol):
    """Reads calls, and functions where they are called."""

    def call(self, at: Expressions, node: Node) -> Value:
        """The value of a call."""
        ...

    def in_macro(self, at: Expressions, node: Node, use: Callable[[Node], Value]) -> Value | None:
        """What is made of the expression that a macro stands for, where a node is one or a call of one; else None."""
        ...

    def method(
        self, at: Expressions, node: Node, receiver: Value, name: str, arguments: list[Node]
    ) -> Value | None:
        """What a struct's own function gives; None where it has none of that name."""
        ...


class Expressions:
    """Evaluates expressions in a scope. `calls` evaluates calls, which may inline functions."""

    def __init__(self, scope: Scope, calls: Inlines) -> None:
        self.scope = scope
        self.calls = calls
        self.returns_places = False
        """Whether the function that is read returns a reference."""

    def called(self, node: Node) -> Value:
        """What a call gives, a reference as such."""
        return self.calls.call(self, node)

    def in_macro(self, node: Node, use: Callable[[Node], Value]) -> Value | None:
        """What is made of the expression that a macro stands for; None where a node is no macro."""
        return self.calls.in_macro(self, node, use)

    def operator_call(self, node: Node, receiver: Value, name: str, arguments: list[Node]) -> Value | None:
        """What a struct's own operator gives; None where it has none."""
        return self.calls.method(self, node, receiver, name, arguments)

    def truth(self, node: Node | None) -> Term:
        """A condition. One that could not be modelled is a new unknown."""
        node = bare(node)
        if node is None:
            return TRUE
        value = self.value(node)
        if (number := as_integer(self, value)) is not None:
            return truth_of(number.term)
        if isinstance(value, Pointer):
            return TRUE if value.space != "global" else truth_of(Var(f"{value.root} is given"))
        reason = f"the condition `{shown(node)}` on line {self.scope.line(node)} depends on data"
        return truth_of(unknown(self.scope.model, "condition", BOOL, reason).term)

    def integer(self, node: Node | None) -> Int:
        """An integer; unknown where it could not be modelled."""
        if node is None:
            return Int(ZERO)
        if node.type in ("initializer_list", "argument_list") and len(node.named_children) <= 1:
            return self.integer(node.named_children[0] if node.named_children else None)
        value = self.value(node)
        return as_integer(self, value) or self.unknown(node, value)

    def unknown(self, node: Node, value: Value | None = None, type_: IntType = INT32) -> Int:
        """A new unknown in the place of a node."""
        reason = why(value) if value is not None else ""
        return unknown(self.scope.model, "value", type_, reason or self.scope.site(node).named)

    def value(self, node: Node) -> Value:
        """The value of an expression."""
        value = self._value(node)
        self.scope.reached(node, value)
        return value

    def _value(self, node: Node) -> Value:
        match node.type:
            case "parenthesized_expression":
                inner = bare(node)
                return self.value(inner) if inner is not None else Opaque()
            case "number_literal":
                return literal(text_of(node))
            case "true" | "false":
                return Int(TRUE if node.type == "true" else FALSE, BOOL)
            case "identifier" | "qualified_identifier":
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
                written, value = text_of(described), self.value(argument)
                if sign_of_two(node) and not self.scope.is_type(written):
                    return Opaque(f"`{shown(node)}`, where `{written}` is not seen")
                return cast(self, node, written, value)
            case "call_expression":
                value = self.called(node)
                return loaded(self, node, value.to) if isinstance(value, Reference) else value
            case "subscript_expression":
                return load(self, node)
            case "pointer_expression":
                if operator_of(node) == "*":
                    return load(self, node)
                location = place(self, node.child_by_field_name("argument"))
                return (
                    replace(location, extents=())
                    if isinstance(location, Pointer)
                    else Opaque(f"the address `{shown(node)}`")
                )
            case "sizeof_expression":
                named = node.child_by_field_name("type") or field_of(node, "value")
                return self._size_of(named)
            case "comma_expression":
                self.value(node.named_children[0])
                return self.value(node.named_children[-1])
            case "compound_literal_expression":
                return self._literal(node)
            case "initializer_list" | "argument_list":
                values = [self.value(child) for child in node.named_children if child.type != "comment"]
                return values[0] if len(values) == 1 else Opaque()
            case "gnu_asm_expression":
                return assembled(self, node)
            case "null":
                return NULL
            case "lambda_expression":
                return Lambda(node)
            case _:
                for child in node.named_children:
                    self.value(child)
                return Opaque()

    def name(self, node: Node) -> Value:
        """A variable, constant or macro."""
        name = text_of(node)
        scope = self.scope
        if name in scope.variables:
            value = scope.variables[name]
            return loaded(self, node, value.to) if isinstance(value, Reference) else value
        if name in scope.setting.constants:
            return Int(scope.setting.constants[name])
        if "::" in name:
            return self._qualified(node, name)
        return self._global(node, name)

    def _global(self, node: Node, name: str) -> Value:
        scope, names = self.scope, self.scope.names
        if name == "warpSize":
            return Int(Num(32))
        if name in _BUILT_IN:
            return Record("uint3", {axis: self.builtin(name, axis) for axis in "xyz"})
        macro = names.macros.get(name)
        value = (
            names.snippets.expression(macro.body) if macro is not None and macro.parameters is None else None
        )
        value = value or names.constants.get(name)
        if name in scope.busy:
            return Opaque(f"`{name}` on line {scope.line(node)} is defined by itself")
        if value is None and name in names.variables:
            variable = variable_of(self, name, node)
            return loaded(self, node, variable.to) if isinstance(variable, Reference) else variable
        if value is None and name in names.enumerators:
            return self._enumerator(name)
        reason = f"`{name}` on line {scope.line(node)} is not known"
        if value is None and re.search(_DECLARED.format(re.escape(name)), scope.function):
            return Opaque(reason)  # declared in a way that was not understood
        if value is None:
            return uniform(scope, name, reason)
        scope.busy.add(name)
        before, scope.at_line = scope.at_line, scope.line(node)
        try:
            return self.value(value)
        finally:
            scope.busy.discard(name)
            scope.at_line = before

    def _qualified(self, node: Node, name: str) -> Value:
        owner, _, last = name.rpartition("::")
        constant = constant_of(self, owner, last)
        if constant is not None:
            return constant
        names = self.scope.names
        if last in names.constants or last in names.macros or last in names.enumerators:
            return self._global(node, last)
        base = names.base(owner, self.scope.types)
        return uniform(
            self.scope, f"{base}::{last}", f"`{name}` on line {self.scope.line(node)} is not known"
        )

    def _enumerator(self, name: str) -> Value:
        node: Node | None = self.scope.names.enumerators[name]
        after = 0
        while node is not None:
            value = node.child_by_field_name("value")
            if value is not None:
                first = self.integer(value)
                return Int(terms.add(first.term, Num(after)), first.type)
            after += 1
            node = node.prev_named_sibling
            while node is not None and node.type != "enumerator":
                node = node.prev_named_sibling
        return Int(Num(after - 1))

    def builtin(self, name: str, axis: str) -> Int:
        """`threadIdx.x` and the like in the launch."""
        launch = self.scope.setting.launch
        position = "xyz".index(axis)
        if name in ("blockDim", "gridDim"):
            return Int((launch.block if name == "blockDim" else launch.grid)[position], UINT32)
        extents = launch.block if name == "threadIdx" else launch.grid
        return Int(ZERO if extents[position] == Num(1) else Var(f"{name}.{axis}"), UINT32)

    def field(self, node: Node) -> Value:
        """A member: of the built-in variables, of a struct in registers, or of one in memory."""
        argument, member = node.child_by_field_name("argument"), text_of(node.child_by_field_name("field"))
        if argument is None or links_too_long(node):
            return Opaque()
        if argument.type == "identifier" and text_of(argument) in _BUILT_IN and member in ("x", "y", "z"):
            return self.builtin(text_of(argument), member)
        arrow = operator_of(node) == "->"
        inner = Opaque() if arrow else place(self, argument)
        if not isinstance(inner, Pointer):
            value = self.value(argument) if arrow or argument.type in (*NAMES, "field_expression") else inner
            match value:
                case Record():
                    if member in value.members:
                        return value.members[member]
                    constant = constant_of(self, value.type, member)
                    return constant or Opaque(f"`{shown(node)}` on line {self.scope.line(node)} is not known")
                case Symbol():
                    return Symbol(f"{value.path}.{member}")
                case Reference() | Pointer() if not arrow:
                    return Opaque()
                case Opaque() if not arrow:
                    return Opaque(why(value))
                case Opaque():
                    self.scope.problem(
                        node, f"`{shown(node)}`: {why(value) or 'a pointer that is not known'}"
                    )
                    return Opaque(why(value))
        location = place(self, node)
        if isinstance(location, Pointer):
            return location if location.extents else loaded(self, node, location)
        return Opaque(why(location))

    def _size_of(self, named: Node | None) -> Int:
        written = text_of(named)
        variable = self.scope.variables.get(written)
        element = variable.element if isinstance(variable, Pointer) and variable.extents else None
        size: Term
        if element is not None and isinstance(variable, Pointer):
            size = element.size
            for extent in variable.extents:
                size = terms.mul(size, extent)
        else:
            size = element_of(self, written).size
        if isinstance(size, Var):
            self.scope.model.depends[size.name] = ()
        return Int(size, UINT64)

    def _literal(self, node: Node) -> Value:
        """`S{a, b}`: a struct whose first members are these."""
        kind = text_of(node.child_by_field_name("type"))
        listed = node.child_by_field_name("value")
        values = [self.value(c) for c in listed.named_children if c.type != "comment"] if listed else []
        return aggregate(self, kind, values)

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
        in_memory = inner is not None and not self._in_registers(inner)
        if in_memory:
            self.value(right)
            store(self, left, Opaque(), also_reads=True)
            return Opaque()
        value = combined(self, node, operator[:-1], self.value(left), self.value(right))
        store(self, left, value)
        return value

    def _in_registers(self, node: Node) -> bool:
        """Whether an lvalue is a variable, or a member of one, that is no reference."""
        if node.type == "field_expression" and operator_of(node) != "->":
            argument = field_of(node, "argument")
            held = self.scope.variables.get(text_of(argument))
            return argument is not None and argument.type == "identifier" and isinstance(held, Record)
        held = self.scope.variables.get(text_of(node))
        return node.type in NAMES and not isinstance(held, Reference)

    def update(self, node: Node) -> Value:
        """`i++` and `--i`."""
        target = field_of(node, "argument")
        if target is None:
            return Opaque()
        if not self._in_registers(target):
            store(self, target, Opaque(), also_reads=True)
            return Opaque()
        before = self.value(target)
        after = combined(self, node, operator_of(node)[0], before, Int(Num(1)))
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
