"""Add one column to a shared tile whose columns are walked by the threads of a warp, so that they hit different banks.

Before: `__shared__ float tile[32][32];`.
After: `__shared__ float tile[32][32 + 1];`.

Refused when the tile is not only used as `tile[row][column]`, when its rows do not share banks, or when it would no
longer fit into the 48 KiB of static shared memory.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Variable, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.template_types import dtypes_meant
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_BANK_ROW = 128
"""Bytes of one row of the 32 banks (CUDA C++ Programming Guide, shared memory)."""
_STATIC_LIMIT = 48 * 1024


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    tiles = [v for v in syntax.entry.variables if v.shared and len(v.sizes) == 2]
    wanted = anchor.bindings.get("tile")
    if wanted is not None:
        tiles = [v for v in tiles if v.name == wanted]
    else:
        tiles = [v for v in tiles if anchor.span.start <= v.node.start_byte < anchor.span.end]
    if not tiles:
        raise Refusal(f"{kernel.name} has no two-dimensional shared tile here")
    tile = tiles[0]
    constants = constants_of(kernel)
    rows, columns = (constant(text_of(size), constants) for size in tile.sizes)
    size = 4 if set(map(dtype_bytes, dtypes_meant(kernel, tile.type))) == {4} else None
    if rows is None or columns is None or size is None:
        raise Refusal(f"the size of {tile.name} is not a constant number of 4-byte elements")
    if columns * size % _BANK_ROW != 0:
        raise Refusal(f"rows of {tile.name} are {columns * size} bytes, which do not begin in the same bank")
    unclear = _used_otherwise(syntax, tile)
    if unclear is not None:
        raise Refusal(f"{tile.name} is used as `{unclear}`, which would not follow the new row length")
    if not any(_walks_down(kernel, row) for row in _row_indices(syntax, tile)):
        raise Refusal(f"no access of {tile.name} walks down a column with neighbouring threads")
    others = _static_bytes(syntax, tile, constants)
    if others is None or others + rows * (columns + 1) * size > _STATIC_LIMIT:
        raise Refusal(f"{tile.name} with one more column may not fit into 48 KiB of static shared memory")
    return ASSIST.candidate(
        kernel,
        (replace_node(tile.sizes[1], f"{text_of(tile.sizes[1])} + 1"),),
        explanation=f"Rows of {tile.name} begin one bank apart: threads that walk down a column no longer share one.",
    )


def _uses(syntax: CudaSyntax, tile: Variable) -> list[Node]:
    body = syntax.entry.node
    return [
        n
        for n in descendants(body)
        if n.type == "identifier"
        and text_of(n) == tile.name
        and not tile.node.start_byte <= n.start_byte < tile.node.end_byte
    ]


def _used_otherwise(syntax: CudaSyntax, tile: Variable) -> str | None:
    """A use that is not `tile[row][column]` of one element, as written."""
    for use in _uses(syntax, tile):
        row = use.parent
        element = row.parent if row is not None else None
        if (
            row is None
            or row.type != "subscript_expression"
            or row.child_by_field_name("argument") != use
            or element is None
            or element.type != "subscript_expression"
            or element.child_by_field_name("argument") != row
        ):
            return text_of(row)
        if element.parent is not None and element.parent.type == "pointer_expression":
            return text_of(element.parent)
    return None


def _row_indices(syntax: CudaSyntax, tile: Variable) -> list[Node]:
    rows = [use.parent for use in _uses(syntax, tile)]
    return [
        index for row in rows if row is not None and (index := row.child_by_field_name("indices")) is not None
    ]


def _walks_down(kernel: Kernel, index: Node) -> bool:
    """Whether neighbouring threads take different rows: the row index moves with threadIdx.x."""
    syntax = syntax_of(kernel)
    seen: set[str] = set()
    pending = [index]
    while pending and syntax is not None:
        node = pending.pop()
        if "threadIdx.x" in text_of(node):
            return True
        for name in identifiers_in(node) - seen:
            seen.add(name)
            pending += [v.value for v in syntax.entry.variables if v.name == name and v.value is not None]
    return False


def _static_bytes(syntax: CudaSyntax, tile: Variable, constants: dict[str, str]) -> int | None:
    """Bytes of the kernel's other static shared arrays; None when one is not told."""
    total = 0
    for variable in syntax.entry.variables:
        if not variable.shared or variable.name == tile.name or text_of(variable.node).startswith("extern"):
            continue
        elements = 1
        for extent in variable.sizes:
            value = constant(text_of(extent), constants)
            if value is None:
                return None
            elements *= value
        sizes = [dtype_bytes(dtype) for dtype in dtypes_meant(syntax.kernel, variable.type)]
        if not sizes:
            return None
        total += elements * max(sizes)
    return total


ASSIST = Assist(
    title="Pad a shared tile by one column",
    skill="shared-tile-padding",
    pattern="shared_tile",
    make=_rewrite,
)
