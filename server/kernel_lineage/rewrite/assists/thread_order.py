"""Which thread takes which element: the index expressions that cover 0, 1, 2, … exactly once.

For these, dealing out groups of four in the same way covers each group exactly once, too.
"""

from __future__ import annotations

import ast
import re

from kernel_lineage.kernels.cuda_forms import operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import block_threads, constants_of

_CAST = re.compile(
    r"\(\s*(?:(?:const|unsigned|signed|long|short|int|size_t|u?int(?:32|64)_t|ptrdiff_t)\s*)+\)"
    r"|static_cast<\s*(?:(?:unsigned|signed|long|int|size_t|u?int(?:32|64)_t|ptrdiff_t)\s*)+>"
)
"""A conversion between whole numbers; what overflows in one of them did so before the rewrite."""

Polynomial = dict[tuple[str, ...], int]

_THREAD: Polynomial = {("threadIdx.x",): 1}
_BLOCK: Polynomial = {("blockDim.x",): 1}
_GLOBAL: Polynomial = {("blockDim.x", "blockIdx.x"): 1, ("threadIdx.x",): 1}
_GRID: Polynomial = {("blockDim.x", "gridDim.x"): 1}
_ONE: Polynomial = {(): 1}


class ThreadOrder:
    """Reads index expressions of one kernel."""

    def __init__(self, kernel: Kernel, syntax: CudaSyntax) -> None:
        self._constants = constants_of(kernel)
        self._locals = _written_once(syntax)
        sizes = {block_threads(launch) for launch in kernel.launches}
        self._block_size = sizes.pop() if len(sizes) == 1 else None

    def is_global_thread(self, expression: str) -> bool:
        """Whether it is the thread's number in the whole one-dimensional grid."""
        return self._read(expression) == _GLOBAL

    def is_global_along(self, expression: str, axis: str, extent: int) -> bool:
        """Whether it is the thread's number along an axis of the grid, in blocks of so many threads along it."""
        thread, block = (f"threadIdx.{axis}",), f"blockIdx.{axis}"
        forms: list[Polynomial] = [
            {tuple(sorted((f"blockDim.{axis}", block))): 1, thread: 1},
            {(block,): extent, thread: 1},
        ]
        return self._read(expression) in forms

    def covers_all(self, start: str, step: str) -> str | None:
        """Who takes the elements of `for (i = start; …; i += step)`: `thread`, `block`, `grid` or `group` (of threads);
        None when it is not known that each element is taken exactly once.
        """
        first, stride = self._read(start), self._read(step)
        if first == {} and stride == _ONE:
            return "thread"
        if first == _THREAD and (stride == _BLOCK or self._is_block_size(stride)):
            return "block"
        if first == _GLOBAL and stride == _GRID:
            return "grid"
        if stride == {(): 32} and first in ({("threadIdx.x % 32",): 1}, {("threadIdx.x & 31",): 1}):
            return "group"
        if first is not None and stride is not None and len(first) == len(stride) == 1:
            (rank,), (size,) = first, stride
            if first[rank] == stride[size] == 1 and len(rank) == len(size) == 1:
                group = re.fullmatch(r"(\w+)\.thread_rank\(\)", rank[0])
                if group and size[0] in (f"{group[1]}.size()", f"{group[1]}.num_threads()"):
                    return "group"
        return None

    def _is_block_size(self, polynomial: Polynomial | None) -> bool:
        return self._block_size is not None and polynomial == {(): self._block_size}

    def _read(self, expression: str) -> Polynomial | None:
        text = expression
        for _ in range(8):
            replaced = re.sub(r"(?<![\w.])[A-Za-z_]\w*(?!\w)", self._meaning, text)
            if replaced == text or len(replaced) > 400:
                break
            text = replaced
        text = _CAST.sub("", text)
        text = re.sub(r"(?<=\d)[uUlL]+\b", "", text)
        try:
            return _polynomial(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            return None

    def _meaning(self, match: re.Match[str]) -> str:
        name = match[0]
        if name == "warpSize":
            return "32"
        if name in self._locals:
            return f"({self._locals[name]})"
        value = constant(name, self._constants)
        return name if value is None else str(value)


def _written_once(syntax: CudaSyntax) -> dict[str, str]:
    """Local variables that keep their first value, and that value as written."""
    body = syntax.entry.node
    changed: set[str] = set()
    for node in descendants(body):
        if node.type == "assignment_expression":
            changed.add(text_of(node.child_by_field_name("left")))
        elif node.type == "update_expression" or (
            node.type == "pointer_expression" and operator_of(node) == "&"
        ):
            changed.add(text_of(node.child_by_field_name("argument")))
    names = [v.name for v in syntax.entry.variables]
    return {
        v.name: text_of(v.value)
        for v in syntax.entry.variables
        if v.value is not None and not v.shared and v.name not in changed and names.count(v.name) == 1
    }


def _polynomial(node: ast.expr) -> Polynomial:
    """Sums of products of names; anything else is one name. Raises `ValueError` for what is no integer expression."""
    match node:
        case ast.Constant(value=int() as value):
            return {(): value} if value else {}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            total = dict(_polynomial(left))
            for term, factor in _polynomial(right).items():
                total[term] = total.get(term, 0) + factor
            return {term: factor for term, factor in total.items() if factor}
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            product: Polynomial = {}
            for one, a in _polynomial(left).items():
                for other, b in _polynomial(right).items():
                    term = tuple(sorted((*one, *other)))
                    product[term] = product.get(term, 0) + a * b
            return product
        case ast.Name() | ast.Attribute() | ast.Call():
            return {(ast.unparse(node),): 1}
        case ast.BinOp(op=ast.Mod() | ast.BitAnd()):
            return {(ast.unparse(node),): 1}
    raise ValueError(ast.unparse(node))
