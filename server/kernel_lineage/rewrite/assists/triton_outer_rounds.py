"""A Triton loop that adds the product of a column and a row to a tile in each round, as products of several columns by
as many rows.

What a round loads for the column is loaded for `k[None, :]`, and what it loads for the row for `k[:, None]`; behind the
last round both are 0.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import elements
from kernel_lineage.rewrite.assists.layout import fresh_name
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_dots import Spine, dot, inner_spine, multiplied_in
from kernel_lineage.rewrite.assists.triton_lanes import Walk
from kernel_lineage.rewrite.assists.triton_many import arguments_of, constant_of
from kernel_lineage.rewrite.assists.triton_places import called, span_of
from kernel_lineage.rewrite.assists.triton_rounds import Rounds, factor, rounds_of
from kernel_lineage.rewrite.assists.triton_values import OF_LANES, OF_TYPES, Value, combined_in, is_carried
from kernel_lineage.rewrite.candidate import Edit

_SPREAD = ("[:, None]", "[None, :]", "")
_ALONG = ("[None, :]", "[:, None]", "")
"""How a block along the side of an operand, and one of rounds, is spread for the first operand, the second, or for what
both are made of."""
_BOTH = 2


@dataclass(slots=True)
class _Lifted:
    """The loop's statements for several rounds at once."""

    walk: Walk
    rounds: Rounds
    sides: tuple[str, str]
    """The extents of the tile."""
    size: str
    row: str
    dropped: Mapping[int, ast.expr]
    """The conversions that are left out, and what they convert."""
    values: dict[str, ast.expr] = field(default_factory=dict)
    """What the loop gives each name."""
    side: dict[str, int] = field(default_factory=dict)
    """The operand that a block of the loop belongs to."""

    def give(self, node: ast.expr, side: int) -> None:
        """Note that what an expression is made of is of an operand. Refused where it is of the other one, too."""
        for name in sorted(names_in(node) & self.values.keys() & self.rounds.depends):
            own = side if self.walk.values[name].axes else _BOTH
            if self.side.setdefault(name, own) != own:
                raise Refusal(f"`{name}` is of both sides of the product")
            self.give(self.values[name], own)

    def of(self, node: ast.expr, side: int) -> ast.expr:
        """What an expression is for several rounds."""
        if not names_in(node) & self.rounds.depends:
            return (
                self._spread(node, side)
                if isinstance(node, ast.Name | ast.Subscript)
                else self._parts(node, side)
            )
        match node:
            case ast.Call() if id(node) in self.dropped:
                return self.of(self.dropped[id(node)], side)
            case ast.Name(id=name) if name in self.rounds.moved:
                step = factor(self.rounds.moved[name])
                base = ast.unparse(self._spread(node, side))
                lanes = f"tl.arange(0, {self.size}){_ALONG[side]}"
                return _parsed(f"({base} + {lanes} * {step})")
            case ast.Name(id=name) if self.walk.values[name].axes:
                return node
            case ast.Name():
                return _parsed(f"{ast.unparse(node)}{_ALONG[side]}")
            case ast.Subscript(value=inner, slice=index):
                if len(self.walk.of(inner).axes) == 1 and _is_spread(index, side):
                    return self.of(inner, side)
            case _:
                return self._parts(node, side)
        raise self._unfollowed(node)

    def _parts(self, node: ast.expr, side: int) -> ast.expr:
        match node:
            case ast.Constant() | ast.Call(func=ast.Name(id="float")):
                return node
            case ast.Attribute() if node.attr in OF_TYPES or not names_in(node) & {*self.walk.values}:
                return node
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.of(left, side), op, self.of(right, side))
            case ast.UnaryOp(op=sign, operand=inner):
                return ast.UnaryOp(sign, self.of(inner, side))
            case ast.Compare(left=left, ops=ops, comparators=[other]):
                return ast.Compare(self.of(left, side), ops, [self.of(other, side)])
            case ast.Call() if called(node) == "load":
                return self._load(node, side)
            case ast.Call() if called(node) == "arange":
                return self._spread(node, side)
            case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=args, keywords=rest) if not called(
                node
            ):
                return ast.Call(ast.Attribute(self.of(inner, side), "to"), args, rest)
            case ast.Call(func=function, args=args, keywords=[]) if called(node) in ("where", *OF_LANES):
                return ast.Call(function, [self.of(a, side) for a in args], [])
        raise self._unfollowed(node)

    def _load(self, call: ast.Call, side: int) -> ast.expr:
        operands = arguments_of(call, ("pointer", "mask", "other"))
        rest = [k for k in call.keywords if k.arg not in operands]
        if "pointer" not in operands or any(k.arg == "boundary_check" for k in rest):
            raise self._unfollowed(call)
        other = operands.get("other")
        mask = self.of(operands["mask"], side) if "mask" in operands else None
        if names_in(operands["pointer"]) & self.rounds.depends:
            if other is not None and constant_of(other) != 0:
                raise Refusal(f"line {call.lineno} loads `{ast.unparse(other)}` where it does not load")
            inside = self.inside(side)
            mask = _parsed(f"({ast.unparse(mask)}) & ({inside})" if mask is not None else inside)
            other = ast.Constant(0)
        keywords = [ast.keyword(n, v) for n, v in (("mask", mask), ("other", other)) if v is not None]
        return ast.Call(call.func, [self.of(operands["pointer"], side)], [*keywords, *rest])

    def inside(self, side: int) -> str:
        """Where a round is one of the loop's."""
        return f"{self.row}{_ALONG[side]} < {self.rounds.stop}"

    def _spread(self, node: ast.expr, side: int) -> ast.expr:
        """What no round changes, along its operand's side."""
        axes = [a.size for a in self.walk.of(node).axes]
        if not axes:
            return node
        if side < _BOTH and axes == [self.sides[side]]:
            return _parsed(f"{ast.unparse(node)}{_SPREAD[side]}")
        if side < _BOTH and axes == [self.sides[0] if side == 0 else "", self.sides[1] if side == 1 else ""]:
            return node
        raise self._unfollowed(node)

    def _unfollowed(self, node: ast.expr) -> Refusal:
        return Refusal(f"`{ast.unparse(node)}` is not followed for several rounds of a product")


def rounds_together(
    kernel: Kernel, function: ast.FunctionDef, walk: Walk, loop: ast.For, size: str, *, converted: bool
) -> list[Edit]:
    """Edits by which a loop multiplies `size` columns by as many rows in each round, which are `converted` before as
    they were. Refused where it does anything else.
    """
    rounds = rounds_of(function, loop)
    name, statement, added = _added(rounds, walk)
    tile = tuple(a.size for a in walk.values[name].axes)
    product, first, second = multiplied_in(walk, added, tile)
    values = {
        s.targets[0].id: s.value
        for s in loop.body
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s is not statement
    }
    spines = [Spine.of(o, values, loop) for o in (first, second)]
    dropped = {} if converted else inner_spine(*spines)
    row = rounds.row if rounds.row != "_" else fresh_name("k", names_in(function))
    lifted = _Lifted(walk, rounds, (tile[0], tile[1]), size, row, dropped, values)
    operands = []
    for side, (operand, spine) in enumerate(zip((first, second), spines, strict=True)):
        if not names_in(operand) & rounds.depends:
            raise Refusal(f"`{ast.unparse(operand)}` is the same in every round")
        lifted.give(operand, side)
        text = ast.unparse(lifted.of(operand, side))
        operands.append(text if spine.is_loaded else f"tl.where({lifted.inside(side)}, {text}, 0)")
    edits = [Edit(span_of(kernel, product), dot(*operands))]
    for goal, value in values.items():
        if goal not in lifted.side:
            if goal in rounds.depends:
                raise Refusal(f"`{goal}` goes into no product")
            continue
        edits.append(Edit(span_of(kernel, value), ast.unparse(lifted.of(value, lifted.side[goal]))))
    edits += [Edit(span_of(kernel, s), f"{size} * {factor(s)}") for s in rounds.moved.values()]
    first_round = fresh_name("first", names_in(function))
    return [*rounds.together(kernel, row, first_round, size), *edits]


def _added(rounds: Rounds, walk: Walk) -> tuple[str, ast.stmt, ast.expr]:
    """The tile that a loop adds to, the statement, and what it adds. Refused where that is not all that it does."""
    body, line = rounds.loop.body, rounds.loop.lineno
    carried = [n for n in sorted(rounds.changed) if is_carried(body, n)]
    step = combined_in(body, carried[0]) if len(carried) == 1 else None
    if step is None or step[1] != "sum" or len(walk.values.get(carried[0], Value()).axes) != len(("y", "x")):
        raise Refusal(f"the loop in line {line} does not add to one tile of two axes alone")
    if left := (rounds.changed & rounds.behind) - {*carried}:
        raise Refusal(f"`{min(left)}` is of the last round behind the loop in line {line}")
    for statement in (s for s in body if s is not step[0]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if (
                sum(
                    name == t.id
                    for s in body
                    if isinstance(s, ast.Assign)
                    for t in s.targets
                    if isinstance(t, ast.Name)
                )
                == 1
            ):
                pass
            case ast.AugAssign(target=ast.Name(id=name)) if name in rounds.moved:
                pass
            case _:
                raise Refusal(f"line {statement.lineno} does more in a round than to load and multiply")
    return carried[0], step[0], step[2]


def _is_spread(index: ast.expr, side: int) -> bool:
    """Whether an index is `[:, None]` for the first operand, `[None, :]` for the second."""
    listed = elements(index) if isinstance(index, ast.Tuple) else [index]
    new = [isinstance(e, ast.Constant) and e.value is None for e in listed]
    return new == ([False, True] if side == 0 else [True, False])


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
