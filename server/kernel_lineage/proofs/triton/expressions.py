"""Expressions of Triton → symbolic values, with the accesses that their evaluation makes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from kernel_gate.expr import terms
from kernel_gate.expr.terms import FALSE, TRUE, Num, Term
from kernel_lineage.code.integers import truth_of
from kernel_lineage.code.values import BOOL, INT32, Int
from kernel_lineage.proofs.triton.operators import COMPARED, SIGNS, combined, data_truth, unary
from kernel_lineage.proofs.triton.scope import Scope, shown
from kernel_lineage.proofs.triton.shapes import broadcast, indexed, joined, permuted, surely_joined
from kernel_lineage.proofs.triton.values import (
    BlockPointer,
    Constant,
    Other,
    Pointers,
    Shape,
    Tile,
    Tuple,
    Value,
    number,
    shape_of,
    truth,
    why,
)

Call = Callable[["Expressions", ast.Call], Value]


class Expressions:
    """Evaluates expressions in a scope. `call` evaluates calls, which may inline functions."""

    def __init__(self, scope: Scope, call: Call) -> None:
        self.scope = scope
        self.call = call

    def tile(self, node: ast.AST, value: Value) -> Tile:
        """A value as a block of integers; unknown where it could not be modelled."""
        if isinstance(value, Tile):
            return value
        reason = why(value) or f"{self.scope.site(node).named} is data"
        return self.scope.block("value", INT32, reason, shape_of(value) or ())

    def condition(self, node: ast.expr | None, value: Value | None = None) -> Tile:
        """A condition of each lane. One that could not be modelled is a new unknown."""
        if node is None:
            return truth(True)
        value = self.value(node) if value is None else value
        match value:
            case Tile():
                return replace(value, value=Int(truth_of(value.term), BOOL, value.value.arithmetic))
            case Constant(value=constant):
                return truth(bool(constant))
            case Pointers():
                return truth(True)
        return data_truth(self.scope, node, value)

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        match node:
            case ast.Constant(value=bool() as constant):
                return truth(constant)
            case ast.Constant(value=int() as constant):
                return number(constant)
            case ast.Constant(value=constant):
                return Constant(constant)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, self.value(left), self.value(right))
            case ast.UnaryOp(operand=operand):
                return unary(self.scope, node, self.value(operand))
            case ast.BoolOp(op=op, values=parts):
                return self._connective(isinstance(op, ast.And), parts)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(node, test, body, orelse)
            case ast.Call():
                return self.call(self, node)
            case ast.Subscript(value=base, slice=index):
                return self._subscript(node, self.value(base), index)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return Tuple(tuple(self.value(item) for item in items))
        return Other(f"{self.scope.site(node).named} is not modelled")

    def binary(self, node: ast.AST, op: ast.operator, a: Value, b: Value) -> Value:
        """An infix operation."""
        if type(op) in SIGNS:
            return combined(self.scope, node, SIGNS[type(op)], a, b)
        if isinstance(op, ast.Pow) and isinstance(a, Tile) and isinstance(b, Tile):
            x, y = a.term, b.term
            if isinstance(x, Num) and isinstance(y, Num) and 0 <= y.value <= 62:
                return number(x.value**y.value)
        return Other(why(a) or why(b), surely_joined(shape_of(a), shape_of(b)))

    def _name(self, node: ast.Name, name: str) -> Value:
        scope = self.scope
        if name in scope.variables:
            return scope.variables[name]
        if name not in scope.constants or name in scope.busy:
            return Other(f"`{name}` on line {node.lineno} is not known")
        scope.busy.add(name)
        try:
            return self.value(scope.constants[name])
        finally:
            scope.busy.discard(name)

    def _attribute(self, node: ast.Attribute) -> Value:
        if node.attr in ("T", "shape", "dtype", "element_ty", "value"):
            base = self.value(node.value)
            shape = shape_of(base)
            match node.attr, base:
                case "T", _ if shape is not None:
                    return permuted(self.scope, base, list(reversed(range(len(shape)))))
                case "shape", _ if shape is not None:
                    return Tuple(tuple(Tile(Int(extent), weak=True) for extent in shape))
                case "dtype", Pointers(pointer=pointer):
                    return Constant(pointer.element.dtype)
                case "dtype", BlockPointer(base=pointer):
                    return Constant(pointer.element.dtype)
                case "dtype", Tile(value=value):
                    return Constant(str(value.type) if value.type != BOOL else "bool")
                case "element_ty", Constant():
                    return base
                case "value", Tile() | Constant():
                    return base
            return Other(why(base) or self.scope.site(node).named)
        return Constant(DTYPES[node.attr]) if node.attr in DTYPES else Other(self.scope.site(node).named)

    def _connective(self, conjunction: bool, parts: list[ast.expr]) -> Value:
        """`and` and `or`; each part is read under those before it."""
        join = terms.conjunction if conjunction else terms.disjunction
        term: Term = TRUE if conjunction else FALSE
        weak = True
        arithmetic: frozenset[int] = frozenset()
        for part in parts:
            with self.scope.under(term if conjunction else terms.negation(term)):
                tile = self.condition(part)
            weak = weak and tile.weak
            arithmetic |= tile.value.arithmetic
            term = join(term, tile.term)
            if term == (FALSE if conjunction else TRUE):
                break
        return Tile(Int(term, BOOL, arithmetic), weak=weak)

    def _comparison(self, node: ast.Compare) -> Value:
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        result: Value | None = None
        for op, a, b in zip(node.ops, sides, sides[1:], strict=False):
            match op:
                case ast.Is() | ast.IsNot():
                    sign = "==" if isinstance(op, ast.Is) else "!="
                    none = Constant(None) in (a, b)
                    both = isinstance(a, Constant) and isinstance(b, Constant)
                    other = a if b == Constant(None) else b
                    if none and not both and not isinstance(other, Other):
                        part: Value = truth(sign == "!=")
                    else:
                        part = combined(self.scope, node, sign, a, b)
                case ast.In() | ast.NotIn() if isinstance(b, Tuple) and all(
                    isinstance(v, Constant) for v in (a, *b.items)
                ):
                    part = truth((a in b.items) is isinstance(op, ast.In))
                case _ if type(op) in COMPARED:
                    part = combined(self.scope, node, COMPARED[type(op)], a, b)
                case _:
                    part = Other(self.scope.site(node).named)
            result = part if result is None else combined(self.scope, node, "&", result, part)
        return result if result is not None else Other()

    def _choice(self, node: ast.IfExp, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Value:
        condition = self.condition(test).term
        if isinstance(condition, Num):
            return self.value(body if condition.value else orelse)
        with self.scope.under(condition):
            yes = self.value(body)
        with self.scope.under(terms.negation(condition)):
            no = self.value(orelse)
        return merged(self.scope, node, condition, yes, no)

    def _subscript(self, node: ast.Subscript, base: Value, index: ast.expr) -> Value:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if isinstance(base, Tuple):
            place = self.value(index)
            if isinstance(place, Tile) and isinstance(place.term, Num) and place.term.value < len(base.items):
                return base.items[place.term.value]
            return Other(self.scope.site(node).named)
        whole = [isinstance(p, ast.Slice) and p.lower is p.upper is p.step is None for p in parts]
        new = [isinstance(p, ast.Constant) and p.value is None for p in parts]
        if all(w or n for w, n in zip(whole, new, strict=True)):
            return indexed(self.scope, base, whole)
        return Other(why(base) or self.scope.site(node).named)


DTYPES = {
    "int1": "bool", **{f"{u}int{b}": f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)},
    **{name: name for name in ("float16", "bfloat16", "float32", "float64")},
    "float8e4nv": "float8_e4m3fn", "float8e5": "float8_e5m2",
}  # fmt: skip
"""Triton's names of types → NumPy's."""


def merged(scope: Scope, node: ast.AST, condition: Term, yes: Value | None, no: Value | None) -> Value:
    """The value where a condition holds, or else the other one; a condition of lanes broadcasts both."""
    if yes == no and yes is not None:
        return yes
    shape = joined(*(shape_of(v) for v in (yes, no) if v is not None))
    if yes is not None and no is not None and shape is not None:
        yes, no = broadcast(scope, yes, shape), broadcast(scope, no, shape)
    line = getattr(node, "lineno", 0)
    match yes, no:
        case Tile(), Tile():
            wide = yes.value.type if yes.value.type.bits >= no.value.type.bits else no.value.type
            through = yes.value.arithmetic | no.value.arithmetic
            return Tile(Int(terms.choice(condition, yes.term, no.term), wide, through), yes.shape)
        case (Tile() as tile, Other(reason=reason, shape=tuple())) | (
            Other(reason=reason, shape=tuple()),
            Tile() as tile,
        ):
            # Where the condition says so, the value is still the known one.
            note = reason or f"{scope.site(node).named} is data in one case"
            data = scope.block("value", tile.value.type, note, tile.shape)
            sides = (tile, data) if tile is yes else (data, tile)
            return merged(scope, node, condition, *sides)
        case Pointers(pointer=a), Pointers(pointer=b) if (a.root, a.element) == (b.root, b.element):
            offset = terms.choice(condition, a.offset, b.offset)
            return Pointers(replace(a, offset=offset, arithmetic=a.arithmetic | b.arithmetic), yes.shape)
        case Pointers(), Pointers():
            return Other(
                f"an address in {yes.pointer.root} or {no.pointer.root}, by a condition on line {line}", shape
            )
        case Tuple(items=a), Tuple(items=b) if len(a) == len(b):
            return Tuple(tuple(merged(scope, node, condition, x, y) for x, y in zip(a, b, strict=True)))
        case (None, _) | (_, None):
            return Other(f"what `{shown(node)}` sets is not set on every path")
    assert yes is not None
    assert no is not None
    return Other(why(yes) or why(no) or f"set by a condition on line {line}", shape)


def extents(values: Value) -> Shape | None:
    """A tuple of numbers as a shape."""
    items = values.items if isinstance(values, Tuple) else (values,)
    if not all(isinstance(item, Tile) for item in items):
        return None
    return tuple(item.term for item in items if isinstance(item, Tile))
