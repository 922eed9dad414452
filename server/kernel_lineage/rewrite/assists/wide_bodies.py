"""The wide forms of an element's work: as it is written, and by what its places mean."""

from __future__ import annotations

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, polynomial
from kernel_gate.expr.terms import Var, add, mul
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_forms import Loop
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import statements_of
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.neighbour_body import NeighbourBody, neighbour_body
from kernel_lineage.rewrite.assists.thread_order import GLOBAL
from kernel_lineage.rewrite.assists.vector_body import VectorBody, vector_body


def element_bodies(
    kernel: Kernel, syntax: CudaSyntax, inner: list[Node], index: str
) -> list[VectorBody | NeighbourBody]:
    """The wide forms of an element's work: by what its places mean, and as they are written."""
    plain = attempt(lambda: vector_body(kernel, syntax, inner, index, in_order=False))
    if isinstance(plain, VectorBody) and plain.assigned_outside:
        raise Refusal(f"`{plain.assigned_outside[0]}` is changed by the element's work")
    if isinstance(plain, VectorBody) and not plain.apart:
        return [plain]
    meant = attempt(lambda: neighbour_body(kernel, syntax, inner, index, polynomial(GLOBAL)))
    made = [body for body in (meant, plain) if not isinstance(body, Refusal)]
    if not made:
        assert isinstance(plain, Refusal) and isinstance(meant, Refusal)
        raise meant if "no elements of a plain type" in plain.reason else plain
    return made


def element_of(kernel: Kernel, loop: Loop) -> tuple[Polynomial, tuple[str, ...]] | None:
    """What a loop's counter is over threads and rounds, and the loops that count it; None where that is not known."""
    at = (loop.node.start_byte, loop.node.end_byte)
    read = next((r for r in read_open(kernel).loops.values() if r.at == at), None)
    if read is None or loop.counter not in read.counters:
        return None
    first, step = read.counters[loop.counter]
    return polynomial(add(first, mul(step, Var(read.round)))), (*read.parents, read.round)


def loop_body(kernel: Kernel, syntax: CudaSyntax, loop: Loop, by: str) -> VectorBody | NeighbourBody:
    """The wide form of a round: as it is written where that shows any wide access, else by what its places mean."""
    inner = statements_of(loop.body)
    plain = attempt(lambda: vector_body(kernel, syntax, inner, loop.counter, in_order=by == "thread"))
    if isinstance(plain, VectorBody):
        return plain
    counted = element_of(kernel, loop)
    if by == "thread" or counted is None:
        raise plain
    element, around = counted
    meant = attempt(lambda: neighbour_body(kernel, syntax, inner, loop.counter, element, around))
    if isinstance(meant, Refusal):
        raise plain
    return meant
