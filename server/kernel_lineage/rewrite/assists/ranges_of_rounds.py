"""Whether the elements that two accesses of a loop have in its rounds are apart."""

from __future__ import annotations

from kernel_gate.expr.polynomials import plus, polynomial, times
from kernel_gate.expr.terms import Op, Var
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_forms import Loop
from kernel_lineage.kernels.cuda_indexing import Access
from kernel_lineage.kernels.cuda_syntax import CudaSyntax


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
