"""What the lanes of a Triton kernel's tiles do together, and which sizes that leaves free.

A tile that programs share out may be of any size where no lane sees another one's value. A tile that a loop goes
through may be where its lanes only meet in sums, maxima, minima and products of matrices over all of the loop, to which
the lanes behind the end of the last tile add nothing: they are loaded as 0, or as what a maximum begins with.

`narrow` takes the sizes back for which that is not seen; whatever it does not follow counts as not seen.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import dotted, elements
from kernel_lineage.rewrite.assists.triton_places import called, function_of, stored_names, triton_syntax_of
from kernel_lineage.rewrite.assists.triton_tiles import Tiles
from kernel_lineage.rewrite.assists.triton_values import (
    BUILTIN,
    CHECKS,
    IDENTITY,
    IN_MEMORY,
    OF_LANES,
    OF_TYPES,
    OPERATORS,
    Axis,
    Unfollowed,
    Value,
    combined_in,
    either,
    extent_of,
    is_carried,
    number_of,
)


def narrow(kernel: Kernel, tiles: Tiles) -> None:
    """Take the sizes back whose tiles' lanes may see each other."""
    function = function_of(kernel)
    walk = Walk(tiles, function, {unit.name: unit.function for unit in triton_syntax_of(kernel).units[1:]})
    for name in tiles.sizes:
        walk.values[name] = Value(sizes=frozenset({name}))
    try:
        walk.block(function.body)
    except Unfollowed as what:
        for size in tiles.sizes:
            tiles.fixed.setdefault(size, str(what))


class Walk:
    """A function's statements in their order, with what each name stands for."""

    def __init__(
        self,
        tiles: Tiles,
        function: ast.FunctionDef,
        helpers: Mapping[str, ast.FunctionDef] = MappingProxyType({}),
    ) -> None:
        self.tiles = tiles
        self.helpers = helpers
        """The functions of its file that it reaches."""
        self.values: dict[str, Value] = {}
        self.going: list[frozenset[str]] = []
        """The sizes by which each loop around goes on."""
        self.added: dict[int, tuple[str, str, ast.expr, Value]] = {}
        """Statement → the name that it combines something with, how, with what, and what the name was before."""
        stored = stored_names(function)
        self.masks = {
            ast.unparse(keyword.value)
            for call in ast.walk(function)
            if isinstance(call, ast.Call) and called(call) in ("load", "store")
            for keyword in call.keywords
            if keyword.arg == "mask" and stored.count(ast.unparse(keyword.value)) <= 1
        }
        """Masks of accesses; each of them ends all tiles of its access (`triton_tiles`)."""

    def take_back(self, sizes: Iterable[str], node: ast.AST, why: str) -> None:
        """Sizes that are not free after all."""
        for size in sizes:
            self.tiles.fixed.setdefault(size, f"line {getattr(node, 'lineno', 0)} {why}")

    def block(self, statements: list[ast.stmt]) -> None:
        """Statements that follow each other."""
        for statement in statements:
            match statement:
                case _ if id(statement) in self.added:
                    self._combine(statement)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.values[name] = self.of(value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.values[name] = self.of(value)
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    operands = [self.values.get(name, Value()), self.of(value)]
                    self.values[name] = self._by_lane(statement, operands, OPERATORS.get(type(op)))
                case ast.Expr(value=ast.Call() as call) if called(call) not in CHECKS:
                    self._effect(call)
                case ast.For(target=ast.Name(), iter=ast.Call(), orelse=[]):
                    self._loop(statement)
                case ast.If(test=test):
                    self._branch(statement, self.of(test))
                case ast.Expr(value=ast.Constant() | ast.Call()) | ast.Pass():
                    pass
                case _:
                    raise Unfollowed(statement)

    def _effect(self, call: ast.Call) -> None:
        name = called(call)
        if name != "store" and not name.startswith("atomic_"):
            raise Unfollowed(call)
        pointer, value = self.of(call.args[0]), self.of(call.args[1])
        # What programs add up in memory may be combined in each of them first.
        added = {s for s, how in value.open.items() if IN_MEMORY.get(name) == how and self._is_of_grid(s)}
        left = {*value.open, *pointer.open} - added
        self.take_back(left, call, "stores what one tile leaves behind")
        if not value.is_data:
            self.take_back(value.sizes, call, "stores a number that depends on the tile")
        if name != "store":
            there = {axis.size for axis in pointer.axes} | added
            self.take_back(set(self.tiles.sizes) - there, call, "is done once for each tile")

    def _branch(self, statement: ast.If, test: Value) -> None:
        """Both ways, where neither lanes nor the sizes of tiles tell which is gone."""
        if test.axes or test.sizes or test.is_data:
            raise Unfollowed(statement.test)
        before = dict(self.values)
        self.block(statement.body)
        taken, self.values = self.values, before
        self.block(statement.orelse)
        for name in {*taken, *self.values}:
            one, other = taken.get(name), self.values.get(name)
            joined = either(one, other) if one is not None and other is not None else one or other
            if joined is None:
                raise Unfollowed(statement)
            self.values[name] = joined

    def _loop(self, loop: ast.For) -> None:
        assert isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Call)
        bounds = [self.of(argument) for argument in loop.iter.args]
        steps = frozenset(s for bound in bounds for s in bound.sizes)
        changed = set(stored_names(loop)) - {loop.target.id}
        state = {n: self.values[n] for n in changed if n in self.values and is_carried(loop.body, n)}
        data = {n for n, v in state.items() if v.is_data or v.beyond is not None}
        if steps:
            for name in sorted(data):
                step = combined_in(loop.body, name)
                if step is None:
                    self.take_back(steps, loop, f"begins a loop that does more with `{name}` than add up")
                else:
                    self.added[id(step[0])] = (name, *step[1:], self.values[name])
        for name in data:
            self.values[name] = replace(self.values[name], beyond=None)
        self.values[loop.target.id] = Value(sizes=steps, by="rounds")
        self.going.append(steps)
        self.block(loop.body)
        self.going.pop()
        for name in changed - data if steps else ():
            left = self.values.get(name, Value())
            self.values[name] = replace(left, open={**left.open, **dict.fromkeys(steps, "")})

    def _combine(self, statement: ast.stmt) -> None:
        """Note what a name holds that a loop combines with something in each round."""
        name, how, what, start = self.added[id(statement)]
        value, steps = self.of(what), self.going[-1]
        lanes = {a.size for a in value.axes if self._by(a) == "rounds"} & steps
        rounds = {s for s, combined in value.open.items() if combined == how}
        self.take_back(set(value.open) - rounds, statement, "uses what one tile leaves behind")
        self.take_back(steps - lanes - rounds, statement, "is done once for each tile")
        if value.beyond != IDENTITY[how] or start.beyond != IDENTITY[how]:
            self.take_back(lanes, statement, f"may take what lies behind the end of a tile into its {how}")
        axes = self._joined(statement, [start, value])
        programs = {s for s in rounds if self._is_of_grid(s)}
        left = {**start.open, **dict.fromkeys(lanes | programs, how)}
        self.values[name] = Value(axes, True, IDENTITY[how] if lanes else None, open=left)

    def _is_of_grid(self, size: str) -> bool:
        """Whether programs share out all that is counted in tiles of a size."""
        return all(p.of_grid for p in self.tiles.places(size))

    def _by(self, axis: Axis) -> str:
        """Whether programs or rounds share an axis out; "" where both do with tiles of its size."""
        kinds = {"grid" if p.of_grid else "rounds" for p in self.tiles.places(axis.size)}
        return axis.by or (kinds.pop() if len(kinds) == 1 else "")

    def of(self, node: ast.expr) -> Value:
        """What an expression stands for."""
        match node:
            case ast.Constant(value=int() | float() as number):
                return Value(beyond=float(number))
            case ast.Attribute(value=inner, attr="T"):
                return self._transposed(node, self.of(inner))
            case ast.Constant():
                return Value()
            case ast.Attribute() if node.attr in OF_TYPES or self._root(node) not in self.values:
                return Value()
            case ast.Name(id=name):
                return self.values.get(name, Value())
            case ast.UnaryOp(op=op, operand=inner):
                negative = operator.neg if isinstance(op, ast.USub) else None
                return self._by_lane(node, [self.of(inner)], negative)
            case ast.BinOp(left=left, op=op, right=right):
                return self._by_lane(node, [self.of(left), self.of(right)], OPERATORS.get(type(op)))
            case ast.Compare(left=left, comparators=others):
                return self._by_lane(node, [self.of(part) for part in (left, *others)])
            case ast.BoolOp(values=parts):
                return self._by_lane(node, [self.of(part) for part in parts])
            case ast.Subscript(value=inner, slice=index):
                return self._spread(node, self.of(inner), index)
            case ast.Call(func=ast.Attribute(value=inner, attr="to")) if not called(node):
                return self.of(inner)
            case ast.Call(func=ast.Name(id=name)) if name in self.helpers:
                return self._helped(node, self.helpers[name])
            case ast.Call(func=ast.Name(id="float")):
                return Value(beyond=number_of(node))
            case ast.Call(func=ast.Name(id=name)) if name in BUILTIN:
                return self._call(node, name)
            case ast.Call(func=ast.Attribute()) if self._root(node.func) not in {"", *self.values}:
                return self._call(node, called(node) or dotted(node.func).rpartition(".")[2])
        raise Unfollowed(node)

    def _helped(self, call: ast.Call, function: ast.FunctionDef) -> Value:
        """What a function gives that touches no memory and returns in its last line."""
        *statements, last = function.body
        memory = any(called(c) == "load" for c in ast.walk(function) if isinstance(c, ast.Call))
        plain = not call.keywords and len(call.args) == len(function.args.args)
        if memory or not plain or not isinstance(last, ast.Return) or last.value is None:
            raise Unfollowed(call)
        inside = Walk(self.tiles, function, {n: f for n, f in self.helpers.items() if f is not function})
        names = [a.arg for a in function.args.args]
        inside.values = dict(zip(names, map(self.of, call.args), strict=True))
        inside.block(statements)
        return inside.of(last.value)

    def _root(self, node: ast.expr) -> str:
        """The name that attributes are asked of; "" where it is no name."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    def _transposed(self, node: ast.AST, value: Value) -> Value:
        if len(value.axes) != 2:
            raise Unfollowed(node)
        return replace(value, axes=value.axes[::-1])

    def _call(self, call: ast.Call, name: str) -> Value:
        keywords = {k.arg: k.value for k in call.keywords if k.arg}
        match name:
            case "program_id":
                cut = {p.size for p in self.tiles.bounds if p.of_grid}
                return Value(sizes=frozenset(cut), by="grid")
            case "arange":
                extent = extent_of(call.args[1]) if len(call.args) == 2 else ""
                sizes = frozenset({extent} & set(self.tiles.sizes))
                return Value((Axis(extent),), sizes=sizes, counts=True)
            case "zeros" | "full":
                shape = elements(keywords.get("shape", call.args[0] if call.args else None))
                filled = number_of(call.args[1]) if name == "full" and len(call.args) > 1 else None
                filled = 0.0 if name == "zeros" else filled
                return Value(tuple(Axis(extent_of(e)) for e in shape), True, filled)
            case "load":
                parts = [self.of(call.args[0]), *(self.of(keywords[k]) for k in ("mask",) if k in keywords)]
                self.take_back(
                    {s for p in parts for s in p.open}, call, "reads by what one tile leaves behind"
                )
                other = keywords.get("other", call.args[2] if len(call.args) > 2 else None)
                return Value(self._joined(call, parts), True, number_of(other))
            case "sum" | "max" | "min" if called(call):
                axis = keywords.get("axis", call.args[1] if len(call.args) > 1 else None)
                return self._reduced(call, self.of(call.args[0]), name, axis, set(keywords) - {"axis"})
            case "dot":
                added = [
                    self.of(a) for a in (*call.args[2:3], *(keywords[k] for k in ("acc",) if k in keywords))
                ]
                return self._product(call, [self.of(a) for a in call.args[:2]], added)
            case "trans" if len(call.args) == 1 and not keywords:
                return self._transposed(call, self.of(call.args[0]))
            case "where" if len(call.args) == 3:
                test, *sides = (self.of(a) for a in call.args)
                ends = self._ends(call.args[0], test, sides)
                made = self._by_lane(call, sides if ends else [test, *sides])
                axes = self._joined(call, [test, *sides])
                return replace(made, axes=axes, beyond=sides[1].beyond if ends else None)
            case _ if name in OF_LANES:
                return self._by_lane(call, [self.of(a) for a in call.args], OF_LANES[name])
        raise Unfollowed(call)

    def _by_lane(self, node: ast.AST, parts: list[Value], fold: Callable[..., float] | None = None) -> Value:
        """What is worked out for each lane by itself."""
        self.take_back({s for p in parts for s in p.open}, node, "uses what one tile leaves behind")
        numbers = [p for p in parts if not p.is_data]
        sizes = frozenset(s for p in numbers for s in p.sizes)
        axes = self._joined(node, parts)
        if len(numbers) < len(parts):
            self.take_back(sizes, node, "computes with a number that depends on the tile")
            return Value(axes, True, self._folded(parts, fold))
        by = {p.by for p in parts if p.by and not p.axes}
        counted = min(by) if len(by) == 1 else ""
        if fold is operator.mul and not all(p.sizes for p in parts):
            counted = ""
        axes = tuple(replace(a, by=a.by or counted) if a.size else a for a in axes)
        whole = fold is operator.add and all(p.counts if p.axes else p.by for p in parts)
        return Value(axes, False, self._folded(parts, fold), sizes, counted, counts=whole)

    def _ends(self, test: ast.expr, value: Value, sides: list[Value]) -> bool:
        """Whether a condition holds for no lane behind the end of a loop's last tile."""
        along = {a.size for s in sides for a in s.axes if self._by(a) == "rounds"} & set(self.tiles.sizes)
        if not along <= {a.size for a in value.axes}:
            return False
        if ast.unparse(test) in self.masks:
            return True
        match test:
            case ast.Compare(left=place, ops=[ast.Lt()], comparators=[ast.Name(id=bound)]):
                ends = {str(self.tiles.bounds[p]) for size in along for p in self.tiles.places(size)}
                return len(along) == 1 and ends == {bound} and self.of(place).counts
        return False

    def _folded(self, parts: list[Value], fold: Callable[..., float] | None) -> float | None:
        """What a function of values gives behind the end of a tile; a product of 0 and a number of the row is 0."""
        ends = [p.beyond for p in parts]
        rest = [p for p in parts if p.beyond is None]
        along = any(self._by(a) != "grid" for p in rest for a in p.axes if a.size)
        if fold is None or along:
            return None
        if rest:
            kept = [e for e in ends if e is not None]
            if fold is operator.mul and 0.0 in kept:
                return 0.0
            far = fold in (operator.add, operator.sub) and ends[0] is not None and math.isinf(ends[0])
            return ends[0] if far else None
        try:
            return float(fold(*ends))
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _reduced(
        self, call: ast.Call, value: Value, how: str, axis: ast.expr | None, others: set[str]
    ) -> Value:
        """What a sum, maximum or minimum leaves of a block."""
        number = number_of(axis)
        if others or not (axis is None or (number is not None and int(number) in range(len(value.axes)))):
            raise Unfollowed(call)
        at = range(len(value.axes)) if number is None else [int(number)]
        left = dict(value.open)
        for one in (value.axes[n] for n in at):
            if one.size not in self.tiles.sizes:
                continue
            if value.beyond != IDENTITY[how] or left.pop(one.size, how) != how:
                self.take_back(
                    {one.size}, call, f"may take what lies behind the end of a tile into its {how}"
                )
            if self._by(one) != "rounds" or any(one.size in steps for steps in self.going):
                left[one.size] = how
        axes = [a for n, a in enumerate(value.axes) if n not in at]
        kept = value.beyond if value.beyond == IDENTITY[how] else None
        return Value(tuple(axes), True, kept, open=left)

    def _product(self, call: ast.Call, parts: list[Value], added: list[Value]) -> Value:
        """What `tl.dot` leaves of two blocks, and of what it is added to."""
        if [len(p.axes) for p in parts] != [2, 2]:
            raise Unfollowed(call)
        first, second = parts
        opened = {s for p in (*parts, *added) for s in p.open}
        self.take_back(opened, call, "uses what one tile leaves behind")
        inner = first.axes[1] if first.axes[1].by else second.axes[0]
        left = {}
        if inner.size in self.tiles.sizes:
            if self._by(inner) != "rounds" or first.beyond != 0 or second.beyond != 0:
                self.take_back({inner.size}, call, "may multiply what lies behind the end of a tile")
            if any(inner.size in steps for steps in self.going):
                left[inner.size] = "sum"
        return Value((first.axes[0], second.axes[1]), True, None, open=left)

    def _joined(self, node: ast.AST, parts: list[Value]) -> tuple[Axis, ...]:
        """The axes of what is made of several blocks."""
        rank = max((len(p.axes) for p in parts), default=0)
        axes: list[Axis] = []
        for position in range(-rank, 0):
            here = [p.axes[position] for p in parts if len(p.axes) >= -position]
            sizes, counts = {a.size for a in here} - {""}, {a.by for a in here} - {""}
            if len(sizes) > 1 or len(counts) > 1:
                raise Unfollowed(node)
            axes.append(Axis(min(sizes, default=""), min(counts, default="")))
        return tuple(axes)

    def _spread(self, node: ast.AST, value: Value, index: ast.expr) -> Value:
        """`rows[:, None]`."""
        rest, axes = list(value.axes), list[Axis]()
        for part in index.elts if isinstance(index, ast.Tuple) else [index]:
            match part:
                case ast.Constant(value=None):
                    axes.append(Axis())
                case ast.Slice(lower=None, upper=None, step=None) if rest:
                    axes.append(rest.pop(0))
                case _:
                    raise Unfollowed(node)
        return replace(value, axes=(*axes, *rest))
