"""Drafts for host functions that launch kernels: their parameters are the arguments, whatever they launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for

CENTRED = """\
#include <cassert>
typedef float real;

__global__ void row_sums(real* sums, const real* x, int C) {
    atomicAdd(&sums[blockIdx.x], x[blockIdx.x * C + threadIdx.x % C]);
}

__global__ void subtract(real* out, const real* x, const real* sums, int C, int stride) {
    for (int i = threadIdx.x; i < C; i += blockDim.x)
        out[blockIdx.x * stride + i] = x[blockIdx.x * C + i] - sums[blockIdx.x] / C;
}

void sums_of(real* sums, const real* x, int N, int C, int threads, cudaStream_t stream) {
    cudaMemsetAsync(sums, 0, N * sizeof(real), stream);
    row_sums<<<N, threads, 0, stream>>>(sums, x, C);
}

void centred(real* out, real* sums, const real* x, int N, int C, int block_size, cudaStream_t stream) {
    assert(block_size % 32 == 0);
    const int padded = (C + 7) & ~7;
    dim3 grid(N);
    sums_of(sums, x, N, C, block_size, stream);
    subtract<<<grid, block_size, 0, stream>>>(out, x, sums, C, padded);
}

void nothing(int n) {}
"""


@pytest.fixture
def state(tmp_path: Path) -> State:
    (tmp_path / "centred.cu").write_text(CENTRED)
    return State(tmp_path)


def test_the_parameters_of_a_launcher_are_the_arguments(state: State) -> None:
    draft = draft_for(state, "centred.cu", "centred")
    assert isinstance(draft, Draft), draft.reason
    workload = draft.workload()
    assert [(a.name, a.kind, a.value) for a in workload.args] == [
        ("out", "output", None),
        ("sums", "output", None),
        ("x", "input", None),
        ("N", "scalar", "N"),
        ("C", "scalar", "C"),
        ("block_size", "scalar", "128"),
    ], "sums is cleared before it is read; a stream is no argument"
    shapes = {a.name: a.shape for a in workload.args if a.is_pointer}
    assert shapes == {"out": ("N", "C"), "sums": ("N",), "x": ("N", "C")}


@pytest.mark.long
def test_mutants_of_all_its_kernels_are_tried(state: State) -> None:
    target, path = state.target("centred.cu", "centred"), state.root / "centred.cu"
    _, proof = tried_draft(target, path, root=state.root, kinds=("zero_output", "wrong_operator"))
    assert proof is not None
    assert proof.blind == ""
    lines = {t.mutant.line for t in proof.tried if t.fate == "killed"}
    sums, subtracted = 5, 10
    assert min(lines) == sums
    assert subtracted in lines


@pytest.mark.parametrize(
    ("gone", "there", "why"),
    [
        ("dim3 grid(N);", "dim3 grid(blocks(N));", "`blocks()` cannot be followed"),
        ("sums_of(sums, x,", "library_sums(sums, x,", "`library_sums()` cannot be followed"),
    ],
)
def test_statements_that_cannot_be_followed_are_missing(
    state: State, gone: str, there: str, why: str
) -> None:
    (state.root / "centred.cu").write_text(CENTRED.replace(gone, there))
    refusal = draft_for(state, "centred.cu", "centred")
    assert isinstance(refusal, NoDraft)
    assert why in refusal.reason


def test_a_function_that_launches_nothing_is_no_target(state: State) -> None:
    refusal = draft_for(state, "centred.cu", "nothing")
    assert isinstance(refusal, NoDraft)
    assert "has no kernel `nothing`; its kernels: row_sums, subtract" in refusal.reason
