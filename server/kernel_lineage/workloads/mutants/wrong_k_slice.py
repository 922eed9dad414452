"""Every round reads the first slice: the counter of a loop over tiles is left out of an address."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import counted_loops


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for loop in counted_loops(ground):
        for node in ground.of("identifier"):
            if text_of(node) == loop.counter and contains(loop.body, node) and ground.is_address(node):
                yield (replace_node(node, "0"),)
    if ground.cuda:
        return
    for node in ground.of("augmented_assignment"):
        target = node.child_by_field_name("left")
        looped = any(contains(loop.body, node) for loop in counted_loops(ground))
        if looped and text_of(target) in ground.addresses and node.parent is not None:
            yield (replace_node(node, "pass"),)


MUTATION = Mutation(
    title="every round reads the first slice",
    mutate=_mutate,
    may_survive="when the loop runs once there is one slice only; give a size that needs several",
)
