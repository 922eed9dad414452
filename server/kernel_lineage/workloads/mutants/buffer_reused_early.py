"""A shared buffer is filled again while others still read it: the barrier at the end of a loop's body is gone."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import contains
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import calls, counted_loops


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for loop in counted_loops(ground):
        barriers = [
            call.node.parent
            for call in calls(ground, "__syncthreads", "__syncwarp", "sync")
            if call.node.parent is not None and contains(loop.body, call.node)
        ]
        statements = [c for c in loop.body.named_children if c.type != "comment"]
        # One barrier alone separates the rounds only when something is before it.
        if statements and statements[-1] in barriers:
            yield (replace_node(statements[-1], ";"),)


MUTATION = Mutation(
    title="shared buffer reused too early",
    mutate=_mutate,
    may_survive="when the loop runs once, or each thread reads only what it wrote, nothing is overwritten early",
)
