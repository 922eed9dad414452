"""A term of a sum is missing: `a + b` becomes `a`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.mutants.examples import (
    SCALE,
    TRITON_MATMUL,
    WARP_SOFTMAX_SUM,
    changed,
    untouched,
)
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation, MutationExample
from kernel_lineage.workloads.mutants.operations import binaries

_SUM = "out[i] = a[i] + b[i];"
_ADD = f"__global__ void add(float* out, const float* a, const float* b) {{\n    int i = threadIdx.x;\n    {_SUM}\n}}\n"


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for total in binaries(ground, "+", "-"):
        if not ground.is_value(total.node):
            continue
        yield (replace_node(total.node, text_of(total.left)),)
        if total.operator.type == "+":
            yield (replace_node(total.node, text_of(total.right)),)


MUTATION = Mutation(
    id="dropped_term",
    title="term of a sum dropped",
    mutate=_mutate,
    mutates=(
        MutationExample(Language.CUDA, "add", _ADD, _ADD.replace("a[i] + b[i]", "a[i]")),
        MutationExample(Language.CUDA, "add", _ADD, _ADD.replace("a[i] + b[i]", "b[i]")),
        changed(WARP_SOFTMAX_SUM, "(sum + 1e-6f)", "(sum)"),
    ),
    leaves=(untouched(SCALE), untouched(TRITON_MATMUL)),
    may_survive="a term as small as an epsilon is within the tolerance of other inputs than tiny ones",
)
