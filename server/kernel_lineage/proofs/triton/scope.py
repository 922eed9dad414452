"""The variables, the path and the lanes at one point of a Triton function that is read symbolically."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernel_gate.expr.terms import ONE, TRUE, ZERO, Num, Term, Var, at_most, less, substituted, variables
from kernel_lineage.code.integers import Site
from kernel_lineage.code.model import Access, Claim, Ways
from kernel_lineage.code.paths import Path
from kernel_lineage.code.values import Int, IntType, Pointer, fresh, unknown
from kernel_lineage.kernels.words import short
from kernel_lineage.proofs.triton.values import LANES, MOST_ELEMENTS, Shape, Tile, Value, lane, lane_at


@dataclass(frozen=True, slots=True)
class _Tied:
    """A variable that stands for data of each lane: which data, and of which lane."""

    data: str
    lanes: tuple[Term, ...]


@dataclass
class Scope(Path[Value]):
    """The variables, the path and the lanes at one point."""

    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, ast.expr]
    """What the module assigns at its top level."""
    rank: int = 0
    """The most axes that a block which is accessed has."""
    _tied: dict[str, _Tied] = field(default_factory=dict)
    _steps: dict[tuple[int, Term], int] = field(default_factory=dict)

    def site(self, node: ast.AST) -> Site:
        """Where an operation stands."""
        return Site(self.model, getattr(node, "lineno", 0), shown(node))

    def problem(self, node: ast.AST, what: str) -> None:
        """Note a construct in which accesses may hide."""
        self.model.problems.append((getattr(node, "lineno", 0), what))

    def access(
        self,
        node: ast.AST,
        pointer: Pointer,
        shape: Shape,
        conditions: tuple[Term, ...],
        *,
        reads: bool = False,
        writes: bool = False,
        atomic: bool = False,
    ) -> None:
        """Note that a block of memory is read or written, by each lane that keeps the conditions."""
        has_size = pointer.element.nbytes > 0
        self.model.accesses.append(
            Access(
                getattr(node, "lineno", 0),
                _place(node),
                pointer.root,
                pointer.space,
                pointer.offset if has_size else None,
                pointer.element.nbytes,
                reads,
                writes,
                (*self.path, *self._inside(shape), *(c for c in conditions if c != TRUE)),
                atomic,
                pointer.arithmetic,
                "" if has_size else "the size of its type is not known",
            )
        )

    def claim(self, node: ast.AST, ways: Ways, sentence: str, shape: Shape) -> None:
        """Note what the code tells the compiler of each lane of a block."""
        line = getattr(node, "lineno", 0)
        self.model.claims.append(Claim(line, shown(node), (*self.path, *self._inside(shape)), ways, sentence))

    def _inside(self, shape: Shape) -> list[Term]:
        """That a lane lies within a block of this shape, whose axes are counted from now on."""
        self.rank = max(self.rank, len(shape))
        for variable in map(lane, range(len(shape))):
            self.model.instance.add(variable.name)
            self.model.naturals.add(variable.name)
            self.model.ranges[variable.name] = (at_most(ZERO, variable),)
            self.model.places[variable.name] = Num(MOST_ELEMENTS)
        return [less(lane(axis), extent) for axis, extent in enumerate(shape) if extent != ONE]

    def block(self, name: str, type_: IntType, reason: str, shape: Shape) -> Tile:
        """A block of integers of which only the type is known."""
        return Tile(self.tied(unknown(self.model, name, type_, reason), shape), shape)

    def tied(self, value: Int, shape: Shape) -> Int:
        """A new variable as one that each lane has its own of."""
        assert isinstance(value.term, Var)
        self._tied[value.term.name] = _Tied(
            value.term.name, tuple(lane_at(axis, extent) for axis, extent in enumerate(shape))
        )
        return value

    def round(self, name: str) -> Var:
        """A new variable that counts the rounds of a loop."""
        return fresh(self.model, name, "natural")

    def term_at(self, term: Term, lanes: Mapping[str, Term]) -> Term:
        """A term with its lanes replaced; data of other lanes are other data."""
        places = dict(lanes)
        for name in set(variables(term)):
            if (tie := self._tied.get(name)) is not None:
                moved = tuple(substituted(place, lanes) for place in tie.lanes)
                if moved != tie.lanes:
                    places[name] = self._data(tie.data, moved)
        return substituted(term, places) if places else term

    def value_at(self, value: Int, lanes: Mapping[str, Term]) -> Int:
        """An integer with its lanes replaced, in the steps that it was computed by too."""
        steps = frozenset(self._step_at(step, lanes) for step in value.arithmetic)
        return Int(self.term_at(value.term, lanes), value.type, steps)

    def pointer_at(self, pointer: Pointer, lanes: Mapping[str, Term]) -> Pointer:
        """An address with its lanes replaced."""
        steps = frozenset(self._step_at(step, lanes) for step in pointer.arithmetic)
        return replace(pointer, offset=self.term_at(pointer.offset, lanes), arithmetic=steps)

    def forget_steps(self, kept: int) -> None:
        """Drop the arithmetic behind the first so many steps."""
        del self.model.arithmetic[kept:]
        self._steps = {key: step for key, step in self._steps.items() if step < kept and key[0] < kept}

    def _step_at(self, number: int, lanes: Mapping[str, Term]) -> int:
        step = self.model.arithmetic[number]
        term = self.term_at(step.term, lanes)
        if term == step.term:
            return number
        if (number, term) not in self._steps:
            self.model.arithmetic.append(replace(step, term=term))
            self._steps[number, term] = len(self.model.arithmetic) - 1
        return self._steps[number, term]

    def _data(self, data: str, lanes: tuple[Term, ...]) -> Var:
        if lanes == self._tied[data].lanes:
            return Var(data)
        name = f"{data}[{', '.join(map(str, lanes))}]"
        model = self.model
        if name not in self._tied:
            self._tied[name] = _Tied(data, lanes)
            model.instance.add(name)
            same = {data: Var(name)}
            model.ranges[name] = tuple(substituted(fact, same) for fact in model.ranges.get(data, ()))
            if data in model.data:
                model.data.add(name)
            if data in model.naturals:
                model.naturals.add(name)
            if data in model.unknowns:
                model.unknowns[name] = model.unknowns[data]
            if data in model.loads:
                model.loads[name] = model.loads[data]
        return Var(name)


def is_lane(name: str) -> bool:
    """Whether a variable is a place within a block."""
    return name.startswith(LANES)


def _place(node: ast.AST) -> str:
    """An access as its function and its address: `tl.store(out + i)`."""
    if isinstance(node, ast.Call) and node.args:
        return shown(ast.Call(node.func, node.args[:1], []))
    return shown(node)


def shown(node: ast.AST) -> str:
    """A node's text on one line, cut where it is long."""
    return short(ast.unparse(node), 60)
