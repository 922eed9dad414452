"""Operators of CUDA C++ on values."""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, ZERO
from kernel_lineage.code.cuda.conversions import cast
from kernel_lineage.code.cuda.layouts import Integers, as_integer
from kernel_lineage.code.cuda.places import Evaluates, loaded, moved, place
from kernel_lineage.code.integers import COMPARISONS, complement, negative, operated
from kernel_lineage.code.values import BOOL, Int, Opaque, Pointer, Symbol, Value, why
from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of

NULL = Opaque("the null pointer")


def unary(at: Evaluates, node: Node) -> Value:
    """`-a`, `!a`, `~a`, `+a`."""
    argument = node.child_by_field_name("argument")
    match operator_of(node):
        case "!":
            return Int(terms.negation(at.truth(argument)), BOOL)
        case "-":
            value = _number(at, argument)
            return negative(at.scope.site(node), value) if isinstance(value, Int) else Opaque(why(value))
        case "~":
            value = _number(at, argument)
            return complement(value) if isinstance(value, Int) else Opaque()
        case _:
            return at.value(argument) if argument is not None else Opaque()


def _number(at: Evaluates, node: Node | None) -> Value:
    value = at.value(node) if node is not None else Opaque()
    return as_integer(at, value) or value


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
    if operator in ("*", "&", "+", "-") and (type_ := _type_in_brackets(at, left)):
        # `(T)*x`, which the grammar takes for a product.
        return cast(at, node, type_, _prefixed(at, node, operator, right))
    return combined(at, node, operator, at.value(left), at.value(right))


def combined(at: Integers, node: Node, operator: str, a: Value, b: Value) -> Value:
    """`a operator b`."""
    if isinstance(a, Symbol) and isinstance(b, Int | Symbol):
        a = as_integer(at, a) or a
    if isinstance(b, Symbol) and isinstance(a, Int | Pointer):
        b = as_integer(at, b) or b
    match a, b:
        case Int(), Int():
            return operated(at.scope.site(node), operator, a, b)
        case Pointer(), Int() if operator in ("+", "-"):
            index = b if operator == "+" else replace(b, term=terms.sub(ZERO, b.term))
            return _moved(at, a, index)
        case Int(), Pointer() if operator == "+":
            return _moved(at, b, a)
        case (Pointer(), Opaque()) | (Opaque(), Pointer()) if NULL in (a, b) and operator in (
            "==",
            "!=",
        ):
            return Int(TRUE if operator == "!=" else FALSE, BOOL)
    if operator in COMPARISONS:
        return Opaque()
    return Opaque(why(a) or why(b))


def _moved(at: Integers, pointer: Pointer, index: Int) -> Value:
    if not pointer.element.nbytes and not at.scope.setting.is_open:
        return Opaque(f"arithmetic on a pointer into `{pointer.root}` of a type that is not known")
    return moved(pointer, index)


def _type_in_brackets(at: Evaluates, node: Node) -> str:
    """The type of what may be a cast, by a name that is no variable; "" where it is none."""
    inner = bare(node)
    if node.type != "parenthesized_expression" or inner is None or inner.type != "identifier":
        return ""
    name, names = text_of(inner), at.scope.names
    if name in at.scope.variables:
        return ""
    is_type = name in at.scope.types or name in names.aliases or at.scope.element(name).nbytes > 0
    return name if is_type or names.struct(name) is not None or names.has_alternatives(name) else ""


def _prefixed(at: Evaluates, node: Node, operator: str, operand: Node) -> Value:
    """What a prefix operator gives of an operand that the grammar took for the right side of an infix one."""
    if operator == "&":
        return place(at, operand)
    value = at.value(operand)
    if operator == "*":
        return loaded(at, node, value) if isinstance(value, Pointer) else Opaque(why(value))
    number = as_integer(at, value)
    return negative(at.scope.site(node), number) if number is not None and operator == "-" else value
