"""Whether it matters which thread takes an element of a loop: with wide accesses another one will."""

from __future__ import annotations

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import Op, Term, Var
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_forms import Loop, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.neighbour_body import NeighbourBody
from kernel_lineage.rewrite.assists.neighbour_steps import over_element
from kernel_lineage.rewrite.assists.vector_body import VectorBody
from kernel_lineage.rewrite.assists.wide_bodies import element_of


def pass_of(loop: Loop) -> tuple[str, str, str]:
    """What a loop runs over: start, bound and step as written."""
    return text_of(loop.start), text_of(loop.bound), loop.step


def check_element_is_place(kernel: Kernel, loop: Loop, by: str) -> None:
    """Refuse a round that tells a thread apart by more than its element, which another thread will take."""
    counted = element_of(kernel, loop)
    if counted is None or loop.body is None or by not in ("block", "grid"):
        return
    element, around = counted
    places = {"threadIdx.x", around[-1], *(["blockIdx.x"] if by == "grid" else [])}
    values = read_open(kernel).values
    for node in (n for n in descendants(loop.body) if n.type in ("identifier", "field_expression")):
        value = values.get((node.start_byte, node.end_byte))
        if value is not None and places & _variables_left(over_element(value, element)):
            raise Refusal(
                f"{kernel.name} uses `{text_of(node)}` beside `{loop.counter}`, which another thread will take"
            )


def check_blocks_alike(kernel: Kernel, syntax: CudaSyntax, loop: Loop) -> None:
    """Refuse a grid's loop whose sums each block writes to a place of its own: a block will take other elements."""
    passes = [x.node for x in syntax.entry.loops if pass_of(x) == pass_of(loop)]
    for access in read_open(kernel).accesses:
        if not access.writes or access.space == "shared" or access.offset is None or access.at is None:
            continue
        start, _ = access.at
        over_elements = any(node.start_byte <= start < node.end_byte for node in passes)
        if (
            start >= loop.node.end_byte
            and not over_elements
            and "blockIdx.x" in _variables_left(access.offset)
        ):
            raise Refusal(
                f"each block writes what it has of its own elements to `{access.text}`, and would have others"
            )


def _variables_left(term: Term) -> set[str]:
    """The variables that a term depends on when what cancels out is left out."""
    factors = [f for monomial in polynomial(term) for f in monomial]
    inner = [_variables_left(a) for f in factors if isinstance(f, Op) for a in f.args]
    return {f.name for f in factors if isinstance(f, Var)}.union(*inner)


def check_in_order(syntax: CudaSyntax, loop: Loop) -> None:
    """Refuse a thread's own loop that touches what it writes at another place, too: a round may need the one before."""
    accesses = [a for a in indexing(syntax.entry).accesses if contains(loop.node, a.node)]
    for written in (a for a in accesses if a.writes):
        for other in accesses:
            if other.root == written.root and text_of(other.node) != text_of(written.node):
                raise Refusal(f"`{text_of(other.node)}` may be what an earlier round wrote")


def relied_on(syntax: CudaSyntax, loop: Loop, body: VectorBody | NeighbourBody, by: str) -> str | None:
    """What the loop touches and other code too, one of them writing, so that it matters which thread takes an element.

    Pointers are followed to the buffers that they come from. Reading here what a block wrote before, or writes after,
    is in order where a barrier of the block lies between.
    """
    stored = body.stored
    for node in descendants(syntax.entry.node):
        name = text_of(node) if node.type == "identifier" else ""
        used = node.parent.type if node.parent is not None and not contains(loop.node, node) else ""
        if name in stored and used in ("subscript_expression", "pointer_expression", "argument_list"):
            return name
    accesses = [a for a in indexing(syntax.entry).accesses if a.space in ("global", "unknown")]
    here = [a for a in accesses if contains(loop.node, a.node)]
    written = {a.root for a in here if a.writes}
    read = {a.root for a in here if a.reads}
    for access in accesses:
        if contains(loop.node, access.node):
            continue
        if access.root in written:
            return access.root
        ordered = by == "block" and _barrier_between(syntax, access.node, loop.node)
        if access.root in read and access.writes and not ordered:
            return access.root
    return None


def _barrier_between(syntax: CudaSyntax, one: Node, other: Node) -> bool:
    """Whether all threads of the block wait for each other between two places that no loop repeats."""
    first, last = sorted((one, other), key=lambda n: n.start_byte)
    outer = [x for x in syntax.entry.loops_around(first) if contains(x.node, last)]
    body = syntax.entry.node.child_by_field_name("body")
    return not outer and any(
        first.end_byte <= call.node.start_byte and call.node.end_byte <= last.start_byte
        for call in syntax.entry.calls_by_name.get("__syncthreads", ())
        if call.node.parent is not None and call.node.parent.parent == body
    )
