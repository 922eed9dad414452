"""A shared tile is read at a place where it was not written.

The column of one access is swizzled, or a swizzle is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_expressions import all_indices
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries, enclosed


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    if not ground.cuda:
        return
    for swizzle in binaries(ground, "^"):
        if ground.is_address(swizzle.node):
            yield (replace_node(swizzle.node, text_of(swizzle.left)),)
    shared = _shared_arrays(ground)
    for node in ground.of("subscript_expression"):
        parent = node.parent
        if parent is not None and parent.type == "subscript_expression":
            continue
        argument = node.child_by_field_name("argument")
        while argument is not None and argument.type == "subscript_expression":
            argument = argument.child_by_field_name("argument")
        read = not (parent is not None and parent.child_by_field_name("left") == node)
        indices = all_indices(node)
        if read and indices and text_of(argument) in shared and indices[-1].type != "number_literal":
            yield (replace_node(indices[-1], f"{enclosed(indices[-1])} ^ 1"),)


def _shared_arrays(ground: Ground) -> set[str]:
    return {
        text_of(node.child_by_field_name("declarator")).split("[")[0]
        for node in ground.of("declaration")
        if any(text_of(c) == "__shared__" for c in node.children[:4])
    }


MUTATION = Mutation(
    title="shared tile read at another place than written",
    mutate=_mutate,
    may_survive="a sum over all places of the tile does not mind their order",
)
