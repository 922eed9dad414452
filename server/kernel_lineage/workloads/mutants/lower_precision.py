"""Values are accumulated in a lower precision: to 8 bits of mantissa in CUDA C++, in float16 in Triton.

Without a header: the lower half of a float's bits is cleared, as in a bfloat16.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import accumulations

_ROUNDED = "__uint_as_float(__float_as_uint(EXACT) & 0xffff0000u)"


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    floats = {
        text_of(inner)
        for node in ground.of("declaration")
        if text_of(node.child_by_field_name("type")) == "float"
        for declarator in node.children_by_field_name("declarator")
        if (inner := declarator.child_by_field_name("declarator")) is not None
    }
    for node, target, term in accumulations(ground):
        exact = f"{text_of(target)} + {text_of(term)}"
        if not ground.cuda:
            yield (replace_node(node, f"{text_of(target)} = ({exact}).to(tl.float16).to(tl.float32)"),)
        elif text_of(target) in floats:
            yield (replace_node(node, f"{text_of(target)} = {_ROUNDED.replace('EXACT', exact)}"),)


MUTATION = Mutation(
    title="accumulated in lower precision",
    mutate=_mutate,
    may_survive="sums of few terms, and outputs of 16 bits, are within the tolerance; a longer reduction shows it",
)
