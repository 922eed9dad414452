"""The masks of a Triton kernel, and the loads, stores and selections under each."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from kernel_gate.expr.terms import Num, Op, Term, Var, add, floor_div, mod, mul, sub, variables
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import TritonCall, dotted, elements
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax, window_of
from kernel_lineage.learning.preconditions.fitting import Axes, masks_of
from kernel_lineage.learning.preconditions.uses import GuardedUse, Uses

_MASK_AT = {"load": 1, "store": 2, **dict.fromkeys(("atomic_add", "atomic_max", "atomic_min"), 2)}
_THROUGH = frozenset({"to", "cast", "multiple_of", "max_contiguous", "expand_dims", "broadcast_to", "view"})
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_DEPTH = 24
_ALWAYS, _PERHAPS, _OTHER = range(3)


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
        branches = (node for node in unit.nodes.get(ast.If, ()) if isinstance(node, ast.If))
        self._arms = [(_lines(node.body), _lines(node.orelse)) for node in branches]

    def uses(self) -> Uses:
        """Every load, store, selection and clamped value by its array or text, and those under masks."""
        every: Counter[str] = Counter()
        guarded: list[GuardedUse] = []
        for call in self._unit.called(*_MASK_AT, "where", "min", "minimum"):
            arguments = call.node.args
            if not arguments or not (call.of_language or call.qualified == "min"):
                continue
            if call.name in _MASK_AT:
                name, mask = pointer_of(self._unit.form(arguments[0])), _mask(call)
                every[name] += 1
                of_call = self._windows(call) if mask is None else self._conditions(mask, _DEPTH)
                masks = [(name, condition) for condition in of_call]
            elif call.name == "where":
                selected = _value(arguments[1]) if len(arguments) > 1 else ""
                masks = [(selected, condition) for condition in self._conditions(arguments[0], _DEPTH)]
            else:
                masks = list(self._clamps(arguments)) if len(arguments) == 2 else []
            line = self._unit.span(call.node).first_line
            guarded += [GuardedUse(condition, name, line) for name, condition in dict.fromkeys(masks)]
        for kind in (ast.BinOp, ast.Call, ast.Name):
            every.update(map(_value, self._unit.nodes.get(kind, ())))
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
                yield from self._below(
                    _ORDERS[type(order)], self._term(left, _DEPTH), self._term(right, _DEPTH)
                )
                return
            case _:
                return
        for part in parts:
            yield from self._conditions(part, depth - 1)

    def _below(self, operator: str, left: Term | None, right: Term | None) -> Iterator[str]:
        if left is not None and right is not None:
            masks = masks_of(operator, left, right, Axes(self._extents))
            yield from (mask.condition for mask in masks if mask.inside)

    def _clamps(self, arguments: list[ast.expr]) -> Iterator[tuple[str, str]]:
        """Either argument of a `min()` that the other one may be taken for."""
        for value, most in (arguments, arguments[::-1]):
            for condition in self._below("<=", self._term(value, _DEPTH), self._term(most, _DEPTH)):
                yield _value(value), condition

    def _windows(self, call: TritonCall) -> Iterator[str]:
        """The bounds that an access through a block pointer checks, one an axis."""
        window, moved = self._window(call.node.args[0], _DEPTH)
        parts = [elements(window.get(part)) for part in ("shape", "offsets", "block_shape")]
        for axis in elements(call.keyword("boundary_check")):
            at = axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else -1
            if not 0 <= at < min(map(len, parts)):
                continue
            size, start, count = (self._term(part[at], _DEPTH) for part in parts)
            if start is None or count is None:
                continue
            index = add(start, self._axis(f"axis {at} of line {call.node.lineno}", count))
            for step in moved.get(at, ()):
                by = self._term(step, _DEPTH)
                rounds = self._axis(f"rounds of line {step.lineno}", None)
                index = add(index, mul(by if by is not None else rounds, rounds))
            yield from self._below("<", index, size)

    def _window(self, pointer: ast.expr, depth: int) -> tuple[dict[str, ast.expr], dict[int, list[ast.expr]]]:
        """The arguments of the `make_block_ptr` that a pointer comes from, and what it is advanced by, by axis."""
        moved: dict[int, list[ast.expr]] = {}
        for _ in range(depth):
            if isinstance(pointer, ast.Name):
                for _, value in self._unit.assignments.get(pointer.id, ()):
                    if isinstance(value, ast.Call) and _called(value) == "advance" and len(value.args) > 1:
                        for axis, step in enumerate(elements(value.args[1])):
                            if not (isinstance(step, ast.Constant) and step.value == 0):
                                moved.setdefault(axis, []).append(step)
                assigned = self._unit.value_of(pointer.id, pointer.lineno)
                pointer = assigned[1] if assigned is not None else ast.Constant(None)
            elif isinstance(pointer, ast.Call) and _called(pointer) == "advance" and pointer.args:
                pointer = pointer.args[0]
            elif isinstance(pointer, ast.Call) and _called(pointer) == "make_block_ptr":
                return window_of(pointer), moved
            else:
                break
        return {}, moved

    def _axis(self, name: str, count: Term | None) -> Var:
        self._extents[name] = count
        return Var(name)

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
        name = _called(node)
        if name == "program_id" and [*node.args, *node.keywords]:
            axis = next(iter([*node.args, *(k.value for k in node.keywords)]))
            return Var(f"program_{ast.unparse(axis)}")
        if name == "arange" and len(node.args) == 2:
            first, last = (self._term(a, depth - 1) for a in node.args)
            if first is None or last is None:
                return None
            count = last if first == Num(0) else sub(last, first)
            return add(first, self._axis(f"{ast.unparse(node)} of line {node.lineno}", count))
        if name in ("min", "minimum") and len(node.args) == 2:
            a, b = (self._term(argument, depth - 1) for argument in node.args)
            return Op("min", (a, b)) if a is not None and b is not None else None
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
        if self._unit.advances.get(name.id):
            return None
        earlier = [pair for pair in self._unit.assignments.get(name.id, ()) if pair[0] < name.lineno]
        for line, value in reversed(earlier):
            branch = self._branch(line, name.lineno)
            term = self._term(value, depth - 1) if branch != _OTHER else None
            if term is not None or branch == _ALWAYS:
                return term  # what one branch alone assigns and nothing says is passed over
        return Var(name.id) if name.id in self._unit.parameters else None

    def _branch(self, assignment: int, use: int) -> int:
        """Whether what is assigned on one line stands on another: always, or where a branch was taken."""
        kinds = {_ALWAYS}
        for arms in self._arms:
            for arm, other in (arms, arms[::-1]):
                if assignment in arm and use not in arm:
                    kinds.add(_OTHER if use in other else _PERHAPS)
        return max(kinds)

    def _counter(self, loop: ast.For, depth: int) -> Term | None:
        if not isinstance(loop.iter, ast.Call) or not loop.iter.args:
            return None
        bounds = [self._term(a, depth - 1) for a in loop.iter.args]
        start, end = (Num(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) > 2 else Num(1)
        if start is None or step is None:
            return None
        count = sub(end, start) if end is not None else None
        fixed = count is not None and step == Num(1) and set(variables(count)) <= self._constants
        round_ = self._axis(f"round of line {loop.lineno}", count if fixed else None)
        return add(start, mul(step, round_))


def _called(call: ast.Call) -> str:
    return dotted(call.func).rpartition(".")[2]


def _value(node: ast.AST) -> str:
    return f"value {ast.unparse(node)}"


def _lines(block: list[ast.stmt]) -> range:
    return range(block[0].lineno, (block[-1].end_lineno or 0) + 1) if block else range(0)


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
