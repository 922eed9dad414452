"""When all of a launch lies within a bound: an index of every thread and round, beside a size.

The axes of an index that count a fixed number of values, from the inside out, make a tile: `blockIdx.x * blockDim.x +
threadIdx.x` runs through tiles of `blockDim.x`. Where the axes around it go on to the end of the size, no index lies
past the size if it is a multiple of the tile; where there are none, if the tile is not larger than the size. The last
element of each tile, `block * TILE + TILE - 1`, stands for the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_gate.expr.polynomials import Monomial, Polynomial, normal, plus, polynomial, term_of, times
from kernel_gate.expr.terms import Num, Op, Term, Var, add, sub, variables
from kernel_lineage.learning.preconditions.wording import worded

_ONE: Polynomial = {(): 1}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Each order → the same with its sides exchanged."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What moves within a launch."""

    extents: Mapping[str, Term | None]
    """Each variable that differs between threads, blocks or rounds → how many values it counts; None where it goes
    on to the end of a size."""
    ends: tuple[Term, ...] = ()
    """Sums of such variables that go on to the end of a size together: the counters of strided loops."""

    def moves(self, term: Term) -> bool:
        """Whether a term differs between threads, blocks or rounds."""
        return any(name in self.extents for name in variables(term))


def fitting(index: Term, bound: Term, axes: Axes) -> str | None:
    """The condition that `index < bound` holds everywhere; None where the index is no tile of the kind above."""
    if axes.moves(bound) or not axes.moves(index):
        return None
    read = _pieces(polynomial(index), axes)
    if read is None:
        return None
    pieces, start = read
    if start:  # what the bound adds is taken from both sides
        added: Polynomial = {(): -polynomial(bound).get((), 0)}
        bound, start = add(bound, term_of(added)), plus(start, added)
    whole, tile = normal(bound), plus(_ONE, start)
    if isinstance(whole, Num):
        return None
    left = list(pieces)
    while inner := next((p for p in left if p[1] is not None and p[0] == tile), None):
        left.remove(inner)
        tile = times(tile, polynomial(inner[1] or Num(1)))
    if tile == _ONE or any(extent is not None for _, extent in left):
        return None
    if not all(_is_multiple(step, tile) for step, _ in left):
        return None
    size, block = worded(whole), worded(term_of(tile))
    if size is None or block is None or isinstance(normal(sub(whole, term_of(tile))), Num):
        return None  # `BLOCK - 1 >= BLOCK` says nothing of a launch
    return f"{size} % {block} == 0" if left else f"{size} >= {block}"


def _pieces(index: Polynomial, axes: Axes) -> tuple[list[tuple[Polynomial, Term | None]], Polynomial] | None:
    """The steps of an index, each with how many there are of it, and what is added; None where it is no such sum."""
    pieces: list[tuple[Polynomial, Term | None]] = []
    for end in axes.ends:
        by = _share(index, polynomial(end), axes)
        if by is not None:
            index = plus(index, times({(): -1}, times(by, polynomial(end))))
            pieces.append((by, None))
    steps: dict[Term, Polynomial] = {}
    start: Polynomial = {}
    for monomial, number in index.items():
        moving = [factor for factor in monomial if axes.moves(factor)]
        if not moving:
            start = plus(start, {monomial: number})
            continue
        if len(moving) != 1:
            return None  # a product of what moves
        still = list(monomial)
        still.remove(moving[0])
        steps[moving[0]] = plus(steps.get(moving[0], {}), {tuple(still): number})
    for factor, step in steps.items():
        count = _count(factor, axes)
        if count is None:
            return None
        pieces.append((step, count[0]))
    return pieces, start


def _share(index: Polynomial, end: Polynomial, axes: Axes) -> Polynomial | None:
    """How often an index contains a whole sum; None where it does not."""
    name = next((m[0] for m, number in end.items() if len(m) == number == 1 and axes.moves(m[0])), None)
    if name is None:
        return None
    by: dict[Monomial, int] = {}
    for monomial, number in index.items():
        if name in monomial:
            still = list(monomial)
            still.remove(name)
            by[tuple(still)] = number
    rest = plus(index, times({(): -1}, times(by, end))) if by else index
    moving = {f for monomial in end for f in monomial if axes.moves(f)}
    return None if not by or any(f in moving for monomial in rest for f in monomial) else by


def _count(factor: Term, axes: Axes) -> tuple[Term | None] | None:
    """How many values a factor counts, one after the other from 0."""
    match factor:
        case Var(name):
            return (axes.extents[name],)
        case Op("%" | "rem", (Var(name), by)) if not axes.moves(by) and axes.extents[name] is not None:
            return (by,)
        case Op("//" | "quot" as name, (Var(inner), by)) if not axes.moves(by):
            extent = axes.extents[inner]
            return (None,) if extent is None else (Op(name, (extent, by)),)
    return None


def _is_multiple(step: Polynomial, tile: Polynomial) -> bool:
    if len(tile) != 1:
        return step == tile
    ((factors, number),) = tile.items()
    for monomial, times_ in step.items():
        rest = list(monomial)
        for factor in factors:
            if factor not in rest:
                return False
            rest.remove(factor)
        if times_ % number:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Mask:
    """A comparison of an index with a bound."""

    condition: str
    """When it comes out the same way everywhere."""
    inside: bool
    """Whether it comes out true where the index lies within the bound."""


def masks_of(operator: str, left: Term, right: Term, axes: Axes) -> Iterator[Mask]:
    """The masks that a comparison is; none where it compares something else.

    `at < min(n, left)` is two: where `n` does not move, `at` counts so many values for `left`.
    """
    if operator not in _TURNED:
        return
    if operator in (">", ">="):
        left, right, operator = right, left, _TURNED[operator]
    for side, other in ((right, left), (left, right)):
        match side:
            case Op("min", parts):
                count = next((part for part in parts if not axes.moves(part)), None)
                for part in parts:
                    yield from _masks_of_part(part, other, operator, axes, count, turned=side is left)
                return
    mask = _mask(operator, left, right, axes)
    if mask is not None:
        yield mask


def _masks_of_part(
    part: Term, index: Term, operator: str, axes: Axes, count: Term | None, *, turned: bool
) -> list[Mask]:
    """The masks of an index that is compared with one part of a `min()`, of which `count` does not move."""

    def against(at: Term, around: Axes) -> list[Mask]:
        left, right = (part, at) if turned else (at, part)
        return list(masks_of(operator, left, right, around))

    masks = against(index, axes)
    if count is None or not axes.moves(part) or masks:
        return masks
    whole = Var(f"within {normal(count)}")
    return against(whole, Axes({**axes.extents, whole.name: count}, axes.ends))


def _mask(operator: str, low: Term, high: Term, axes: Axes) -> Mask | None:
    """The mask that `low < high`, or `low <= high`, is: what moves on one side, what does not on the other."""
    rising, falling = _moving(low, axes), _moving(high, axes)
    if rising and falling:  # where they move against each other, they move to one side
        signs = {number > 0 for number in plus(rising, times({(): -1}, falling)).values()}
        if len(signs) != 1:
            return None
        inside = signs.pop()
    elif rising or falling:
        inside = bool(rising)
    else:
        return None
    strict = operator == "<"
    if inside:
        index, bound = low, high if strict else add(high, Num(1))
    else:
        index, bound = high, add(low, Num(1)) if strict else low
    beside = term_of(_moving(bound, axes))
    if beside != Num(0):
        index, bound = sub(index, beside), normal(sub(bound, beside))
    condition = fitting(index, bound, axes)
    return None if condition is None else Mask(condition, inside)


def _moving(term: Term, axes: Axes) -> Polynomial:
    return {m: number for m, number in polynomial(term).items() if any(map(axes.moves, m))}
