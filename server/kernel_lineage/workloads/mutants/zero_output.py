"""The output is zero: what is stored is replaced by zero."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.mutants.examples import ROW_SUMS, SCALE, TRITON_ROWS, changed
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation, UntouchedExample
from kernel_lineage.workloads.mutants.operations import stores

_ZERO = re.compile(r"[-+]?0*\.?0*[fFuUlL]*")


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for store in stores(ground):
        if _ZERO.fullmatch(text_of(store.value)) is None:
            yield (replace_node(store.value, store.zero),)


MUTATION = Mutation(
    id="zero_output",
    title="output is zero",
    mutate=_mutate,
    mutates=(
        changed(SCALE, "= factor * x[i];", "= 0.0f;"),
        changed(ROW_SUMS, "out[blockIdx.x] = partial[0];", "out[blockIdx.x] = 0.0f;"),
        changed(TRITON_ROWS, "e / tl.sum(e, axis=0), mask", "(e / tl.sum(e, axis=0)) * 0, mask"),
    ),
    leaves=(
        UntouchedExample(Language.CUDA, "idle", "__global__ void idle(float* x) {\n    __shared__ float s[32];\n"
                         "    s[threadIdx.x] = 1.0f;\n}\n"),
        UntouchedExample(Language.CUDA, "clear", "__global__ void clear(float* x) {\n    x[threadIdx.x] = 0.0f;\n}\n"),
    ),
)  # fmt: skip
