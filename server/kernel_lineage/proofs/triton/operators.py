"""Operators on the values of a Triton kernel: elementwise, as C's on integers, as Python's on Python numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace

from kernel_gate.expr import terms
from kernel_gate.expr.lemmas import is_natural
from kernel_gate.expr.terms import Num, Term
from kernel_lineage.code.integers import COMPARISONS, Site, complement, negative, operated, truth_of
from kernel_lineage.code.values import BOOL, INT64, Int, IntType, Pointer
from kernel_lineage.proofs.triton.scope import Scope
from kernel_lineage.proofs.triton.shapes import broadcast, joined, surely_joined
from kernel_lineage.proofs.triton.values import (
    Constant,
    Other,
    Pointers,
    Shape,
    Tile,
    Value,
    literal_type,
    number,
    shape_of,
    why,
)
from kernel_lineage.proofs.triton.values import truth as python_truth

SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_ON_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_ON_TERMS: dict[str, Callable[[Term, Term], Term]] = {"+": terms.add, "-": terms.sub, "*": terms.mul}
_MOST_SHIFT = 62


def combined(scope: Scope, node: ast.AST, sign: str, a: Value, b: Value) -> Value:
    """`a sign b` for blocks that are broadcast to one shape."""
    match a, b:
        case Tile(), Tile():
            return _tiles(scope, scope.site(node), sign, a, b)
        case Pointers(), Tile() if sign in ("+", "-"):
            return moved(scope, a, b if sign == "+" else _minus(b))
        case Tile(), Pointers() if sign == "+":
            return moved(scope, b, a)
        case (Pointers() as base, Other() as by) | (Other() as by, Pointers() as base) if sign in ("+", "-"):
            reason = why(by) or f"{scope.site(node).named} moves an address by data"
            shape = shape_of(by)
            return (
                Other(reason)
                if shape is None
                else moved(scope, base, scope.block("index", INT64, reason, shape))
            )
        case (Tile() as tile, Other() as other) | (Other() as other, Tile() as tile) if (
            sign in ("&", "|") and tile.value.type == BOOL
        ):
            # What is not known of one side does not make the other one unknown.
            condition = data_truth(scope, node, other)
            return combined(scope, node, sign, tile, condition)
        case (Constant(value=x), Constant(value=y)) if sign in ("==", "!="):
            return python_truth((x == y) is (sign == "=="))
        case (Pointers(), Constant(value=None)) | (Constant(value=None), Pointers()) if sign in ("==", "!="):
            return python_truth(sign == "!=")
    return Other(why(a) or why(b), surely_joined(shape_of(a), shape_of(b)))


def _minus(tile: Tile) -> Tile:
    return replace(tile, value=replace(tile.value, term=terms.sub(Num(0), tile.term)))


def moved(scope: Scope, pointers: Pointers, by: Tile) -> Value:
    """Addresses, so many elements further."""
    shape = joined(pointers.shape, by.shape)
    assert shape is not None
    base, index = broadcast(scope, pointers, shape), broadcast(scope, by, shape)
    return Pointers(advanced(base.pointer, index.value), shape)


def advanced(pointer: Pointer, by: Int) -> Pointer:
    """An address, so many elements further."""
    offset = terms.add(pointer.offset, terms.mul(by.term, Num(pointer.element.nbytes)))
    return replace(pointer, offset=offset, arithmetic=pointer.arithmetic | by.arithmetic)


def _tiles(scope: Scope, site: Site, sign: str, a: Tile, b: Tile) -> Value:
    if a.weak and b.weak:
        return _python(scope, site, sign, a, b)
    shape = joined(a.shape, b.shape)
    assert shape is not None
    left, right = broadcast(scope, a, shape), broadcast(scope, b, shape)
    x, y = strengthened(a, left.value, b), strengthened(b, right.value, a)
    if sign in ("&", "|", "^") and x.type == y.type == BOOL:
        return Tile(_logic(sign, x, y), shape)
    result = operated(site, sign, x, y)
    if isinstance(result.term, terms.Var) and result.term.name in scope.model.unknowns:
        result = scope.tied(result, shape)
    return Tile(result, shape)


def strengthened(tile: Tile, value: Int, other: Tile) -> Int:
    """A Python number takes the type of what it meets, where it fits."""
    if not tile.weak or other.value.type == BOOL:
        return value
    fits = (
        not isinstance(value.term, Num) or other.value.type.least <= value.term.value <= other.value.type.most
    )
    return replace(value, type=other.value.type if fits else INT64)


def _logic(sign: str, a: Int, b: Int) -> Int:
    x, y = truth_of(a.term), truth_of(b.term)
    match sign:
        case "&":
            term = terms.conjunction(x, y)
        case "|":
            term = terms.disjunction(x, y)
        case _:
            term = terms.negation(terms.equal(x, y))
    return Int(term, BOOL, a.arithmetic | b.arithmetic)


def _python(scope: Scope, site: Site, sign: str, a: Tile, b: Tile) -> Value:
    """What Python makes of two of its numbers, when the kernel is compiled."""
    x, y = a.term, b.term
    if sign in COMPARISONS:
        return Tile(Int(COMPARISONS[sign](x, y), BOOL), weak=True)
    if sign in ("&", "|") and a.value.type == b.value.type == BOOL:
        return Tile(_logic(sign, a.value, b.value), weak=True)
    if isinstance(x, Num) and isinstance(y, Num):
        if (sign in ("/", "%") and y.value == 0) or (
            sign in ("<<", ">>") and not 0 <= y.value <= _MOST_SHIFT
        ):
            return Other(f"{site.named} has no value")
        return number(_ON_NUMBERS[sign](x.value, y.value))
    if sign in _ON_TERMS:
        return Tile(Int(_ON_TERMS[sign](x, y), _wide(x, y)), weak=True)
    if sign in ("/", "%") and is_natural(y, frozenset(scope.model.naturals)) and y != Num(0):
        whole = terms.floor_div if sign == "/" else terms.mod
        return Tile(Int(whole(x, y), a.value.type), weak=True)
    return Tile(operated(site, sign, a.value, b.value), weak=True)


def _wide(*numbers: Term) -> IntType:
    return next(
        (t for n in numbers if isinstance(n, Num) and (t := literal_type(n.value)) == INT64), literal_type(0)
    )


def unary(scope: Scope, node: ast.UnaryOp, value: Value) -> Value:
    """`-a`, `~a`, `not a`, `+a`."""
    match node.op, value:
        case ast.Not(), Constant(value=constant):
            return python_truth(not constant)
        case ast.Not(), Tile():
            return replace(
                value, value=Int(terms.negation(truth_of(value.term)), BOOL, value.value.arithmetic)
            )
        case ast.Invert(), Tile() if value.value.type == BOOL:
            return replace(
                value, value=Int(terms.negation(truth_of(value.term)), BOOL, value.value.arithmetic)
            )
        case ast.Invert(), Tile():
            return replace(value, value=complement(value.value))
        case ast.USub(), Tile() if value.weak:
            return _minus(value)
        case ast.USub(), Tile():
            return replace(value, value=negative(scope.site(node), value.value))
        case ast.USub(), Constant(value=float() as constant):
            return Constant(-constant)
        case ast.UAdd(), _:
            return value
    return Other(why(value), shape_of(value))


def data_truth(scope: Scope, node: ast.AST, value: Value) -> Tile:
    """A condition that depends on data: each lane has its own."""
    site = scope.site(node)
    reason = why(value) or f"the condition {site.named} depends on data"
    shape: Shape = shape_of(value) or ()
    block = scope.block("condition", BOOL, reason, shape)
    return replace(block, value=replace(block.value, term=truth_of(block.term)))
