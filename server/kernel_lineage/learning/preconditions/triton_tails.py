"""The masks of a Triton kernel, and the loads, stores and selections under each."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from kernel_gate.expr.terms import Num, Term, Var, add, floor_div, mod, mul, sub, variables
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import TritonCall, dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax
from kernel_lineage.learning.preconditions.fitting import Axes, within
from kernel_lineage.learning.preconditions.uses import GuardedUse, Uses

_MASK_AT = {"load": 1, "store": 2}
_THROUGH = frozenset({"to", "cast", "multiple_of", "max_contiguous", "expand_dims", "broadcast_to", "view"})
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_DEPTH = 24


def uses(kernel: Kernel) -> dict[str, Uses]:
    """What the kernel loads, stores and selects; nothing where it cannot be read."""
    syntax = triton_syntax(kernel)
    if syntax is None:
        return {}
    constants = {p.name for p in kernel.parameters if p.constexpr}
    return {syntax.entry.name: _Values(syntax.entry, constants).uses()}


class _Values:
    """The integers of a kernel as terms over programs, blocks of elements and rounds of loops."""

    def __init__(self, unit: TritonUnit, constants: set[str]) -> None:
        self._unit = unit
        self._constants = constants
        self._extents: dict[str, Term | None] = {f"program_{axis}": None for axis in range(3)}

    def uses(self) -> Uses:
        """Every load, store and selection by its array or value, and those under masks."""
        every: Counter[str] = Counter()
        guarded: list[GuardedUse] = []
        for call in self._unit.called(*_MASK_AT, "where"):
            if not call.of_language or not call.node.args:
                continue
            if call.name == "where":
                name = ast.unparse(call.node.args[1]) if len(call.node.args) > 1 else ""
                mask: ast.expr | None = call.node.args[0]
            else:
                name, mask = pointer_of(self._unit.form(call.node.args[0])), _mask(call)
                every[name] += 1
            if mask is None:
                continue
            line = self._unit.span(call.node).first_line
            conditions = dict.fromkeys(self._conditions(mask, _DEPTH))
            guarded += [GuardedUse(condition, name, line) for condition in conditions]
        for node in self._unit.nodes.get(ast.BinOp, ()):
            every[ast.unparse(node)] += 1
        return Uses(every, tuple(guarded))

    def _conditions(self, mask: ast.expr, depth: int) -> Iterator[str]:
        match mask:
            case ast.BinOp(left, ast.BitAnd(), right):
                parts: list[ast.expr] = [left, right]
            case ast.BoolOp(ast.And(), values):
                parts = values
            case ast.Subscript(value, _):
                parts = [value]
            case ast.Name() if depth and (assigned := self._unit.value_of(mask.id, mask.lineno)):
                parts = [assigned[1]]
            case ast.Compare(left, [order], [right]) if type(order) in _ORDERS:
                terms = self._term(left, _DEPTH), self._term(right, _DEPTH)
                if terms[0] is not None and terms[1] is not None:
                    mask_of = within(_ORDERS[type(order)], terms[0], terms[1], Axes(self._extents))
                    if mask_of is not None and mask_of[1]:
                        yield mask_of[0]
                return
            case _:
                return
        for part in parts:
            yield from self._conditions(part, depth - 1)

    def _term(self, node: ast.expr, depth: int) -> Term | None:
        if depth == 0:
            return None
        match node:
            case ast.Constant(value=int() as value):
                return Num(int(value))
            case ast.Name():
                return self._named(node, depth)
            case ast.Subscript(value, _):
                return self._term(value, depth - 1)
            case ast.BinOp(left, operator, right):
                a, b = self._term(left, depth - 1), self._term(right, depth - 1)
                return _combined(operator, a, b) if a is not None and b is not None else None
            case ast.Call():
                return self._called(node, depth)
        return None

    def _called(self, node: ast.Call, depth: int) -> Term | None:
        name = dotted(node.func).rpartition(".")[2]
        if name == "program_id" and [*node.args, *node.keywords]:
            axis = next(iter([*node.args, *(k.value for k in node.keywords)]))
            return Var(f"program_{ast.unparse(axis)}")
        if name == "arange" and len(node.args) == 2:
            first, last = (self._term(a, depth - 1) for a in node.args)
            if first is None or last is None:
                return None
            block = Var(f"arange {ast.unparse(node)} {node.lineno}")
            self._extents[block.name] = last if first == Num(0) else sub(last, first)
            return add(first, block)
        if name in _THROUGH:
            method = isinstance(node.func, ast.Attribute) and dotted(node.func.value) not in (
                "tl",
                "language",
            )
            inner = node.func.value if method and isinstance(node.func, ast.Attribute) else node.args[0]
            return self._term(inner, depth - 1)
        return None

    def _named(self, name: ast.Name, depth: int) -> Term | None:
        for loop in self._unit.loops_around(name):
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == name.id:
                return self._counter(loop, depth)
        value = self._unit.value_of(name.id, name.lineno)
        moved = [line for line, _ in self._unit.advances.get(name.id, ())]
        if moved:
            return None
        if value is not None:
            return self._term(value[1], depth - 1)
        return Var(name.id) if name.id in self._unit.parameters else None

    def _counter(self, loop: ast.For, depth: int) -> Term | None:
        if not isinstance(loop.iter, ast.Call) or not loop.iter.args:
            return None
        terms = [self._term(a, depth - 1) for a in loop.iter.args]
        if None in terms:
            return None
        bounds = [t for t in terms if t is not None]
        start, end = (Num(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) > 2 else Num(1)
        round_ = Var(f"round {loop.lineno}")
        fixed = step == Num(1) and set(variables(sub(end, start))) <= self._constants
        self._extents[round_.name] = sub(end, start) if fixed else None
        return add(start, mul(step, round_))


def _mask(call: TritonCall) -> ast.expr | None:
    at = _MASK_AT[call.name]
    return call.keyword("mask") or (call.node.args[at] if len(call.node.args) > at else None)


def _combined(operator: ast.operator, a: Term, b: Term) -> Term | None:
    match operator:
        case ast.Add():
            return add(a, b)
        case ast.Sub():
            return sub(a, b)
        case ast.Mult():
            return mul(a, b)
        case ast.FloorDiv():
            return floor_div(a, b)
        case ast.Mod():
            return mod(a, b)
    return None
