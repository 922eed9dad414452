"""Whether each round of a loop writes a range of elements of its own, which a loop within it fills.

In `for (x …) for (c = 0; c < C; c++) out[(y * W + x) * C + c] = …;` round `x` writes `C` elements from
`(y * W + x) * C` on: as many as the rounds of the outer loop lie apart.
"""

from __future__ import annotations

from kernel_gate.expr.polynomials import coefficient_of, plus, polynomial, times
from kernel_gate.expr.terms import ZERO, Num, Op, Var, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access as Touch
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import Loop
from kernel_lineage.kernels.cuda_indexing import Access
from kernel_lineage.kernels.cuda_syntax import CudaSyntax

_OF_THE_GRID = ("threadIdx.", "blockIdx.", "blockDim.", "gridDim.")


def writes_its_own(syntax: CudaSyntax, loop: Loop, access: Access) -> bool:
    """Whether the ranges that an access within a loop in a loop writes in different rounds of the latter are apart."""
    model = read_open(syntax.kernel)
    at = (loop.node.start_byte, loop.node.end_byte)
    rounds = next((name for name, one in model.loops.items() if one.at == at), None)
    met = [a for a in model.accesses if a.at == (access.node.start_byte, access.node.end_byte)]
    return rounds is not None and bool(met) and all(_is_apart(syntax, model, rounds, touch) for touch in met)


def never_meet(syntax: CudaSyntax, loop: Loop, one: Access, other: Access) -> bool:
    """Whether two accesses of a loop, of which each has an element of its own in each round, lie as many elements apart
    as the loop has rounds: then no round of the one reaches what another round of the other does.
    """
    model = read_open(syntax.kernel)
    read = next((x for x in model.loops.values() if x.at == (loop.node.start_byte, loop.node.end_byte)), None)
    places = [
        {(a.nbytes, a.offset) for a in model.accesses if a.at == (n.start_byte, n.end_byte)}
        for n in (one.node, other.node)
    ]
    if read is None or any(len(place) != 1 for place in places):
        return False
    ((size, first),), ((same, second),) = places
    if first is None or second is None or size != same:
        return False
    apart = plus(polynomial(first), times({(): -1}, polynomial(second)))
    match read.condition:
        case Op("<", (Var(name), count)) if name == read.round:
            rounds = times({(): size}, polynomial(count))
            return apart in (rounds, times({(): -1}, rounds))
    return False


def _is_apart(syntax: CudaSyntax, model: Model, rounds: str, touch: Touch) -> bool:
    parts = coefficient_of(polynomial(touch.offset), Var(rounds)) if touch.offset is not None else None
    within = [name for name in touch.loops if rounds in model.loops[name].parents]
    if parts is None or len(within) != 1 or touch.nbytes <= 0:
        return False
    far, rest = parts
    inner = model.loops[within[0]]
    steps = coefficient_of(rest, Var(inner.round))
    counts = all(value == (ZERO, Num(1)) for value in inner.counters.values()) and inner.counters
    match inner.condition:
        case Op("<", (Var(name), count)) if name == inner.round and counts and steps is not None:
            near, still = steps
            same = {p.name for p in syntax.kernel.parameters if not p.pointer} | {
                *model.loops[rounds].parents
            }
            names = {n for of in (far, still) for monomial in of for f in monomial for n in variables(f)}
            fixed = all(n in same or n.startswith(_OF_THE_GRID) for n in names)
            return fixed and near == {(): touch.nbytes} and far == times(near, polynomial(count))
    return False
