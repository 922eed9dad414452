"""A barrier is gone: `__syncthreads()`, `__syncwarp()`, `.sync()` of a group, `tl.debug_barrier()`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import calls

_BARRIERS = ("__syncthreads", "__syncwarp", "sync", "debug_barrier")


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for call in calls(ground, *_BARRIERS):
        statement = call.node.parent
        if statement is not None and statement.type == "expression_statement":
            ends = text_of(statement).endswith(";")
            yield (replace_node(statement, ";" if ends else "pass"),)


MUTATION = Mutation(
    title="barrier dropped",
    mutate=_mutate,
    may_survive="threads of one warp, or that share nothing between two barriers, need none; Triton places its own",
)
