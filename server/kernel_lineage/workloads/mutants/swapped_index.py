"""Two indices are swapped: in `tile[y][x]` or `y * n + x`, `threadIdx.x` for `threadIdx.y`, one program id for another.

In a square, symmetric case the mutant computes the same: that is why workloads need sizes that differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_expressions import all_indices, is_nested
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries, calls, swap

_AXES = {f"{what}.{axis}": f"{what}.{other}" for what in ("threadIdx", "blockIdx")
         for axis, other in (("x", "y"), ("y", "x"))}  # fmt: skip


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    if ground.cuda:
        used = {text_of(n) for n in ground.of("field_expression")}
        for node in ground.of("field_expression"):
            other = _AXES.get(text_of(node), "")
            if other in used:
                yield (replace_node(node, other),)
        for node in ground.of("subscript_expression"):
            indices = all_indices(node) if is_nested(node) else ()
            if len(indices) == 2 and text_of(indices[0]) != text_of(indices[1]):
                yield swap(*indices)
        for total in binaries(ground, "+"):
            row = total.left
            if row.type == "binary_expression" and ground.is_address(row) and text_of(row.children[1]) == "*":
                inner = row.child_by_field_name("left")
                if inner is not None and total.right.type == "identifier" and inner.type == "identifier":
                    yield swap(inner, total.right)
        return
    programs = [c for c in calls(ground, "program_id") if c.arguments]
    axes = {text_of(c.arguments[0]) for c in programs}
    for call in programs:
        axis = text_of(call.arguments[0])
        other = {"0": "1", "1": "0"}.get(axis, "")
        if other in axes:
            yield (replace_node(call.arguments[0], other),)


MUTATION = Mutation(
    title="two indices swapped",
    mutate=_mutate,
    may_survive="swapped consistently or in a symmetric tile, the same elements are reached",
)
