"""Functions of integers, elementwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kernel_gate.expr import terms
from kernel_gate.expr.parsing import next_power_of_2
from kernel_gate.expr.terms import ONE, ZERO, Num, Var
from kernel_lineage.code.integers import fitted, truth_of
from kernel_lineage.code.values import INT32, INTEGERS, Int, IntType
from kernel_lineage.proofs.triton.called import Called
from kernel_lineage.proofs.triton.expressions import merged
from kernel_lineage.proofs.triton.operators import combined, strengthened
from kernel_lineage.proofs.triton.reshaping import reduction
from kernel_lineage.proofs.triton.shapes import broadcast, joined, surely_joined
from kernel_lineage.proofs.triton.values import Constant, Other, Tile, Value, shape_of, why


def _ceil_div(called: Called) -> Value:
    a, b = called.argument(0, "x"), called.argument(1, "div")
    if not (isinstance(a, Tile) and isinstance(b, Tile)):
        return Other(called.scope.site(called.node).named)
    scope, node = called.scope, called.node
    one = Tile(Int(ONE, INT32), weak=True)
    above = combined(scope, node, "+", a, combined(scope, node, "-", b, one))
    return combined(scope, node, "/", above, b)


def _chosen(called: Called) -> Value:
    """`min` and `max` of two; of one they reduce it."""
    largest = called.name in ("maximum", "max")
    values = list(called.listed)
    if called.name in ("max", "min") and (
        len(values) < 2 or "axis" in called.named or not _are_numbers(values)
    ):
        return reduction(called)
    first, *rest = values
    for other in rest:
        first = _one_of(called, first, other, largest)
    return first


def _are_numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(v, Tile) and not v.shape for v in values)


def _one_of(called: Called, a: Value, b: Value, largest: bool) -> Value:
    scope = called.scope
    shape = surely_joined(shape_of(a), shape_of(b))
    if not (isinstance(a, Tile) and isinstance(b, Tile)) or shape is None:
        return Other(why(a) or why(b), shape)
    x, y = broadcast(scope, a, shape), broadcast(scope, b, shape)
    join = terms.maximum if largest else terms.minimum
    left, right = strengthened(a, x.value, b), strengthened(b, y.value, a)
    wide = left.type if left.type.bits >= right.type.bits else right.type
    value = Int(join(left.term, right.term), wide, left.arithmetic | right.arithmetic)
    return Tile(value, shape, a.weak and b.weak)


def _where(called: Called) -> Value:
    arguments = called.arguments(("condition", "x", "y"))
    if not {"condition", "x", "y"} <= set(arguments):
        return Other()
    scope = called.scope
    condition = called.at.condition(called.node, arguments["condition"])
    shape = joined(condition.shape, shape_of(arguments["x"]), shape_of(arguments["y"]))
    assert shape is not None
    tile = broadcast(scope, condition, shape)
    yes, no = (broadcast(scope, arguments[side], shape) for side in ("x", "y"))
    if isinstance(yes, Tile) and isinstance(no, Tile):
        yes = replace(yes, value=replace(yes.value, arithmetic=yes.value.arithmetic | tile.value.arithmetic))
    return merged(scope, called.node, truth_of(tile.term), yes, no)


def _cast(called: Called) -> Value:
    value, dtype = called.argument(0, "input"), called.argument(1, "dtype")
    bits = called.named.get("bitcast")
    name = str(dtype.value) if isinstance(dtype, Constant) else ""
    type_ = INTEGERS.get(name)
    if value is None or type_ is None or (isinstance(bits, Tile) and bits.term != ZERO):
        return Other(why(value) if value is not None else "", shape_of(value) if value is not None else None)
    site = called.scope.site(called.node)
    match value:
        case Tile(weak=True) if isinstance(value.term, Num):
            return Tile(replace(value.value, type=type_))
        case Tile():
            return replace(value, value=_as_type(called, value, type_), weak=False)
        case Constant(value=bool() | int() | float() as constant):
            return Tile(Int(Num(int(constant)), type_))
    return called.scope.block("cast", type_, why(value) or f"{site.named} is data", shape_of(value) or ())


def _as_type(called: Called, value: Tile, type_: IntType) -> Int:
    result = fitted(called.scope.site(called.node), value.value, type_)
    is_new = (
        isinstance(result.term, Var)
        and result.term.name in called.scope.model.unknowns
        and result.term != value.term
    )
    return called.scope.tied(result, value.shape) if is_new else result


def _absolute(called: Called) -> Value:
    first = called.listed[0] if called.listed else Other()
    if not isinstance(first, Tile):
        return Other(why(first), shape_of(first))
    value = replace(first.value, term=terms.maximum(first.term, terms.sub(ZERO, first.term)))
    return replace(first, value=value)


def _next_power(called: Called) -> Value:
    first = called.listed[0] if called.listed else Other()
    if isinstance(first, Tile) and isinstance(first.term, Num):
        return Tile(Int(Num(1 << max(0, first.term.value - 1).bit_length())), weak=True)
    if isinstance(first, Tile) and first.weak:
        variable, facts = next_power_of_2(first.term)
        called.scope.model.naturals.add(variable.name)
        called.scope.model.ranges[variable.name] = tuple(facts)
        return Tile(Int(variable), weak=True)
    return Other(why(first), shape_of(first))


FUNCTIONS: dict[str, Callable[[Called], Value]] = {
    "cdiv": _ceil_div,
    "minimum": _chosen,
    "maximum": _chosen,
    "min": _chosen,
    "max": _chosen,
    "where": _where,
    "to": _cast,
    "cast": _cast,
    "abs": _absolute,
    "next_power_of_2": _next_power,
}
