"""Triton programs that are numbered along one axis of the grid and take their number apart: `n = pid % N`,
`m = pid // N % M`, `batch = pid // (N * M)`.

Such a number has digits, as a number of minutes has: the fastest is below `N`, the next below `M`, and the slowest is
as large as the grid lets it be. The two fastest are taken several at once; each expression over the number is written
over the digits again, wherever it stands.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.layout import fresh_name
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_many import AxisNames, axis_of
from kernel_lineage.rewrite.assists.triton_places import called, calls_of, stored_names
from kernel_lineage.rewrite.assists.written import in_brackets

COUNT = "COUNT"
_SLOW, _FAST = 0, 1
"""The two digits that are taken several at once, as axes: `SPAN_X` and `SPAN_Y`."""
_Factors = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """`number // low % (high / low)`, each a product of parameters; `high` is None where nothing bounds it."""

    low: _Factors
    high: _Factors | None


@dataclass(frozen=True, slots=True)
class Digits:
    """How a program's number is taken apart."""

    extents: tuple[_Factors, ...]
    """What each digit but the slowest is below, the fastest first."""
    parts: dict[int, tuple[int, int]]
    """Expression (its `id`) → the digits that it is, from the first to the one before the second."""
    names: dict[int, AxisNames]
    outer: str
    """The name of what is left of the number besides the two; "" where it has two digits."""

    def taken(self, part: tuple[int, int]) -> frozenset[int]:
        """The axes that a part depends on."""
        first, last = part
        return frozenset(a for a, d in ((_FAST, 0), (_SLOW, 1)) if first <= d < last)

    def text(self, part: tuple[int, int]) -> str:
        """A part, over the digits."""
        first, last = part
        made = self._digit(last - 1)
        for digit in range(last - 2, first - 1, -1):
            made = f"{in_brackets(made)} * {_product(self.extents[digit])} + {self._digit(digit)}"
        return in_brackets(made)

    def _digit(self, digit: int) -> str:
        if digit < len(self.names):
            return self.names[_SLOW if digit else _FAST].program
        below = [f for extent in self.extents[2:digit] for f in extent]
        made = f"{self.outer} // {_product(below)}" if below else self.outer
        return f"({made}) % {_product(self.extents[digit])}" if digit < len(self.extents) else made

    @property
    def first_lines(self) -> list[str]:
        """What stands before everything else of the kernel: programs of a larger grid than is needed end there."""
        if not self.outer:
            slow = self.names[_SLOW]
            return [f"if {slow.number} * {slow.size} >= {slow.count}:", "    return"]
        tiles = " * ".join(self._tiles(axis) for axis in (_FAST, _SLOW))
        number = f"{self.outer} = tl.program_id(0) // ({tiles})"
        below = _product([f for extent in self.extents[:2] for f in extent])
        return [number, f"if {self.outer} >= {COUNT} // {below}:", "    return"]

    def _tiles(self, axis: int) -> str:
        return f"tl.cdiv({_plain(self.extents[0 if axis == _FAST else 1])}, {self.names[axis].size})"

    def left(self, kernel: Kernel, launch: Launch, total: str) -> list[str]:
        """The extents of all digits, as the launcher can write them, the fastest first; one for all that are taken one
        by one. Refused where its `total` does not show them.
        """
        rest = Counter(_factors_of(ast.parse(total, mode="eval").body))
        extents = []
        for extent in self.extents[:2]:
            own = Counter(f for name in extent for f in _factors_of(_argument(kernel, launch, name)))
            if own - rest:
                raise Refusal(
                    f"the launch in line {launch.span.first_line} does not show that its programs, `{total}`, are "
                    f"a multiple of `{' * '.join(extent)}`"
                )
            rest -= own
            extents.append(_plain(own.elements()))
        left = _plain(rest.elements())
        return extents if len(extents) == len(self.names) and left == "1" else [*extents, left]


def digits_of(kernel: Kernel, function: ast.FunctionDef) -> Digits:
    """The digits of a kernel's only program number. Refused where it is not taken apart."""
    asked = list(calls_of(function, "program_id"))
    if len(asked) != 1 or axis_of(asked[0]) != 0:
        raise Refusal(f"{kernel.name} does not number its programs along one axis")
    if any(launch.span == kernel.name_span for launch in kernel.launches):
        raise Refusal(f"{kernel.name} is launched elsewhere")
    stored = Counter(stored_names(function))
    fixed = {p.name for p in kernel.parameters if not p.pointer} - stored.keys()
    once = {
        s.targets[0].id: s.value
        for s in function.body
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and stored[s.targets[0].id] == 1
    }
    parts = {
        id(node): part
        for node in ast.walk(function)
        if isinstance(node, ast.BinOp | ast.Call) and (part := _part(node, once, fixed)) is not None
    }
    cuts = sorted({c for p in parts.values() for c in (p.low, p.high) if c}, key=len)
    extents = [_without(high, low) for low, high in zip([(), *cuts], cuts, strict=False)]
    if not cuts or any(extent is None for extent in extents):
        raise Refusal(f"{kernel.name} does not take its programs' number apart into digits")
    whole = tuple(extent for extent in extents if extent is not None)
    place = {cut: n for n, cut in enumerate([(), *cuts])}
    last = len(whole) + 1
    ranges = {i: (place[p.low], last if p.high is None else place[p.high]) for i, p in parts.items()}
    return _named(function, whole, ranges)


def _named(
    function: ast.FunctionDef, extents: tuple[_Factors, ...], parts: dict[int, tuple[int, int]]
) -> Digits:
    taken = names_in(function)
    taken |= {a.arg for a in function.args.args}
    outer = fresh_name("outer", taken) if len(extents) > 1 else ""
    tiles_fast = f"tl.cdiv({_plain(extents[0])}, SPAN_Y)"
    slow = f"tl.program_id(0) // {tiles_fast}"
    if outer:
        slow += f" % tl.cdiv({_plain(extents[1])}, SPAN_X)"
    bound = _plain(extents[1]) if outer else f"{COUNT} // {_product(extents[0])}"
    names = {
        _SLOW: AxisNames(
            "SPAN_X", bound, fresh_name("program_x", taken), fresh_name("inside_x", taken), slow
        ),
        _FAST: AxisNames(
            "SPAN_Y",
            _plain(extents[0]),
            fresh_name("program_y", taken),
            fresh_name("inside_y", taken),
            f"tl.program_id(0) % {tiles_fast}",
        ),
    }
    return Digits(extents, parts, names, outer)


def _part(node: ast.expr, once: dict[str, ast.expr], fixed: set[str]) -> _Part | None:
    """What an expression takes of the program's number; None where it is anything else."""
    match node:
        case ast.Call() if called(node) == "program_id":
            return _Part((), None)
        case ast.Name(id=name) if name in once:
            return _part(once[name], once, fixed)
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod() as op, right=right):
            part = _part(left, once, fixed)
            factors = _factors_of(right)
            if part is None or not factors or not fixed.issuperset(factors):
                return None
            cut = tuple(sorted((*part.low, *factors)))
            if part.high is not None and not _without(part.high, cut):
                return None
            return _Part(part.low, cut) if isinstance(op, ast.Mod) else _Part(cut, part.high)
    return None


def _without(factors: _Factors, others: _Factors) -> _Factors | None:
    """Factors without others; None where those are not among them."""
    rest = Counter(factors)
    rest.subtract(others)
    return None if any(n < 0 for n in rest.values()) else tuple(sorted(rest.elements()))


def _factors_of(node: ast.expr) -> _Factors:
    """The factors of a product, as they are written."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return (*_factors_of(left), *_factors_of(right))
    return (ast.unparse(node),)


def _argument(kernel: Kernel, launch: Launch, name: str) -> ast.expr:
    """What a launch gives a parameter. Refused where it does not say."""
    position = next(n for n, p in enumerate(kernel.parameters) if p.name == name)
    by_place = launch.arguments[position] if position < len(launch.arguments) else ""
    try:
        return ast.parse(launch.options.get(name, by_place), mode="eval").body
    except SyntaxError as error:
        raise Refusal(f"the launch in line {launch.span.first_line} does not tell `{name}`") from error


def _plain(factors: Iterable[str]) -> str:
    return " * ".join(map(in_brackets, factors)) or "1"


def _product(factors: Sequence[str]) -> str:
    return _plain(factors) if len(factors) < 2 else f"({_plain(factors)})"
