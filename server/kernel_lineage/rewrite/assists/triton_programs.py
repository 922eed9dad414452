"""Programs that are numbered along one axis of the grid and take tiles of several: whether each tile is taken once.

`pid // columns` and `pid % columns`, groups of rows one after the other, the reverse order: all of them are terms over
the program's number, and are worked out for small numbers of tiles. What none of these refutes is right for all that
anybody writes; the gate runs the kernel besides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

from kernel_gate.expr.terms import Num, Term, Var, substituted, variables
from kernel_lineage.rewrite.assists.model import Refusal

_COUNTS = (1, 2, 3, 5)
"""Tiles along each axis: every pair, or whatever there is of them."""
_OTHERS = (1, 2, 3, 8)
"""Values of what the order depends on besides, such as how many rows of tiles are a group."""
_SIZES = (16, 32, 64)

Taken = tuple[str, Term, Term]
"""The parameter that is a tile's size, which tile a program takes, and the number below which the tiles count."""


def check_enumerated(places: Iterable[Taken]) -> None:
    """Refuse programs that are not seen to take each tile once. Tiles that are a program's own number always are."""
    by_number: dict[str, list[Taken]] = {}
    for place in places:
        for number in {n for n in variables(place[1]) if n.startswith("blockIdx.")}:
            by_number.setdefault(number, []).append(place)
    for number, taken in by_number.items():
        if all(isinstance(tile, Var) for _, tile, _ in taken):
            continue
        if not all(isinstance(bound, Var) for _, _, bound in taken) or not _each_once(number, taken):
            raise Refusal(f"the programs along {number[-1]} are not seen to take each tile once")


def _each_once(number: str, taken: list[Taken]) -> bool:
    sizes = dict(zip(dict.fromkeys(size for size, _, _ in taken), _SIZES, strict=False))
    bounds = {name for _, _, bound in taken for name in variables(bound)}
    names = {number, *sizes, *bounds}
    others = {name for _, tile, _ in taken for name in variables(tile)} - names
    if len(sizes) < len({size for size, _, _ in taken}):
        return False
    for counts in itertools.product(_COUNTS, repeat=len(taken)):
        values = {size: Num(value) for size, value in sizes.items()}
        for (size, _, bound), count in zip(taken, counts, strict=True):
            values.setdefault(str(bound), Num(count * sizes[size] - 3))
        extents = [-(-_number(bound, values) // sizes[size]) for size, _, bound in taken]
        for other in _OTHERS if others else _OTHERS[:1]:
            own = {**values, **dict.fromkeys(others, Num(other))}
            tiles = {
                tuple(_number(tile, {**own, number: Num(program)}) for _, tile, _ in taken)
                for program in range(math.prod(extents))
            }
            if tiles != set(itertools.product(*map(range, extents))):
                return False
    return True


def _number(term: Term, values: Mapping[str, Term]) -> int:
    """The value of a term; -1, which is no tile, where it has none."""
    worked_out = substituted(term, values)
    return worked_out.value if isinstance(worked_out, Num) else -1
