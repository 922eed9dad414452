"""Operators of CUDA C++ on values."""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, ZERO
from kernel_lineage.code.cuda.places import Evaluates, moved
from kernel_lineage.code.cuda.scope import Scope
from kernel_lineage.code.integers import COMPARISONS, complement, negative, operated
from kernel_lineage.code.values import BOOL, Group, Int, Opaque, Pointer, Value, why
from kernel_lineage.kernels.cuda_forms import operator_of

NULL = Opaque("the null pointer")


def unary(at: Evaluates, node: Node) -> Value:
    """`-a`, `!a`, `~a`, `+a`."""
    argument = node.child_by_field_name("argument")
    match operator_of(node):
        case "!":
            return Int(terms.negation(at.truth(argument)), BOOL)
        case "-":
            value = at.value(argument) if argument is not None else Opaque()
            return negative(at.scope.site(node), value) if isinstance(value, Int) else Opaque(why(value))
        case "~":
            value = at.value(argument) if argument is not None else Opaque()
            return complement(value) if isinstance(value, Int) else Opaque()
        case _:
            return at.value(argument) if argument is not None else Opaque()


def binary(at: Evaluates, node: Node) -> Value:
    """An infix operation; the right side of `&&` and `||` is read under the left."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = operator_of(node)
    if operator in ("&&", "||"):
        first = at.truth(left)
        with at.scope.under(first if operator == "&&" else terms.negation(first)):
            second = at.truth(right)
        join = terms.conjunction if operator == "&&" else terms.disjunction
        return Int(join(first, second), BOOL)
    if left is None or right is None:
        return Opaque()
    return combined(at.scope, node, operator, at.value(left), at.value(right))


def combined(scope: Scope, node: Node, operator: str, a: Value, b: Value) -> Value:
    """`a operator b`."""
    match a, b:
        case Int(), Int():
            return operated(scope.site(node), operator, a, b)
        case Pointer(), Int() if operator in ("+", "-"):
            index = b if operator == "+" else replace(b, term=terms.sub(ZERO, b.term))
            return _moved(a, index)
        case Int(), Pointer() if operator == "+":
            return _moved(b, a)
        case (Pointer(), Opaque()) | (Opaque(), Pointer()) if NULL in (a, b) and operator in (
            "==",
            "!=",
        ):
            return Int(TRUE if operator == "!=" else FALSE, BOOL)
        case Group(), _:
            return Opaque()
    if operator in COMPARISONS:
        return Opaque()
    return Opaque(why(a) or why(b))


def _moved(pointer: Pointer, index: Int) -> Value:
    if not pointer.element.nbytes:
        return Opaque(f"arithmetic on a pointer into `{pointer.root}` of a type that is not known")
    return moved(pointer, index)
