"""Which thread takes which element: the indices that cover 0, 1, 2, … exactly once, as `code/` reads them.

For these, dealing out groups of four in the same way covers each group exactly once, too.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import ONE, ZERO, Num, Op, Term, Var, add, mul
from kernel_gate.program import WARP
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_forms import Loop
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.constants import block_threads

_WARP = Num(WARP)
_THREAD, _BLOCK = Var("threadIdx.x"), Var("blockDim.x")
GLOBAL = add(mul(Var("blockIdx.x"), _BLOCK), _THREAD)
"""A thread's number in the whole one-dimensional grid."""
_GRID = mul(Var("gridDim.x"), _BLOCK)
_RANK = add(_THREAD, mul(_BLOCK, add(Var("threadIdx.y"), mul(Var("blockDim.y"), Var("threadIdx.z")))))
"""A thread's number in a block of any shape."""
_BLOCK_THREADS = mul(_BLOCK, mul(Var("blockDim.y"), Var("blockDim.z")))


class ThreadOrder:
    """Reads indices of one kernel."""

    def __init__(self, kernel: Kernel, syntax: CudaSyntax) -> None:
        self._values = read_open(kernel).values
        self._reach = indexing(syntax.entry)
        sizes = {block_threads(launch) for launch in kernel.launches}
        self._block_size = sizes.pop() if len(sizes) == 1 else None

    def is_global_along(self, expression: Node, axis: str, extent: int | None = None) -> bool:
        """Whether it is the thread's number along an axis of the grid, in blocks of so many threads along it."""
        thread, block = Var(f"threadIdx.{axis}"), Var(f"blockIdx.{axis}")
        sizes: list[Term] = [Var(f"blockDim.{axis}")]
        sizes += [] if extent is None else [Num(extent)]
        return any(self._is(expression, add(mul(block, size), thread)) for size in sizes)

    def covers_all(self, loop: Loop) -> str | None:
        """Who takes the elements that a loop counts: `thread`, `block`, `grid` or `group` (of threads).

        None when it is not known that each element is taken exactly once.
        """
        first, step = self._reach.counted(loop, loop.counter)
        if step is None:
            return None
        if _same(first, ZERO) and _same(step, ONE):
            return "thread"
        if _same(first, _THREAD) and (_same(step, _BLOCK) or step == Num(self._block_size or 0)):
            return "block"
        if _same(first, GLOBAL) and _same(step, _GRID):
            return "grid"
        if _same(first, _RANK) and _same(step, _BLOCK_THREADS):
            return "group"
        match first:
            case Op("%", (place, size)) if size == step:
                return "group" if _same(place, _RANK) or (place == _THREAD and size == _WARP) else None
        return None

    def _is(self, expression: Node, term: Term) -> bool:
        value = self._values.get((expression.start_byte, expression.end_byte))
        return value is not None and _same(value, term)


def _same(one: Term, other: Term) -> bool:
    return polynomial(one) == polynomial(other)
