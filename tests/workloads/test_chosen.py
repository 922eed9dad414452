"""What no caller tells of a CUDA kernel: sizes that are chosen, shapes that a run on the emulated device shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernel_gate.deadline import ends_within
from kernel_gate.footprint import footprints
from kernel_lineage.workloads import measured
from kernel_lineage.workloads.completing import InTurn, tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for

PACKED = """\
#include <cuda_runtime.h>
typedef float real;
template<class Element>
struct alignas(16) Packed {
    static constexpr const int size = sizeof(int4) / sizeof(Element);
    Element held[size];
};
typedef Packed<real> packed;
extern cudaDeviceProp deviceProp;
"""
ROWS = """\
#include "packed.h"

__global__ void row_means(real* out, const real* x, const real* w, const int* rows, int N, int C, float scale) {
    int n = blockIdx.x * blockDim.y + threadIdx.y;
    if (n >= N) return;
    real sum = 0;
    for (int i = threadIdx.x * packed::size; i < C; i += 32 * packed::size) {
        packed held = *reinterpret_cast<const packed*>(x + rows[n] * C + i);
        for (int k = 0; k < packed::size; ++k) sum += held.held[k] * (w ? w[i + k] : 1);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0) out[n] = scale * sum / C;
}

void means(real* out, const real* x, const int* rows, int N, int C, float scale, const int block_size) {
    dim3 block(32, block_size / 32);
    row_means<<<(N + block.y - 1) / block.y, block>>>(out, x, NULL, rows, N, C, scale);
}
"""
TILES = """\
template<int TILE, typename T>
__global__ void transpose(T* out, const T* x, int rows, int cols) {
    __shared__ T tile[TILE][TILE + 1];
    int r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    out[(blockIdx.x * TILE + threadIdx.y) * rows + blockIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
RUNNER = """\
#include "tiles.cuh"

void run(float* out, float* x, int rows, int cols) {
    const int edge = 16;
    transpose<edge><<<dim3((cols + edge - 1) / edge, (rows + edge - 1) / edge), dim3(edge, edge)>>>(out, x, rows, cols);
}
"""


@pytest.fixture
def state(tmp_path: Path) -> State:
    files = {"packed.h": PACKED, "rows.cu": ROWS, "tiles.cuh": TILES, "run/runner.cu": RUNNER}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text.replace('"tiles', '"../tiles'))
    return State(tmp_path)


def test_a_launcher_without_a_caller_gives_dims_and_a_run_gives_shapes(state: State) -> None:
    draft = draft_for(state, "rows.cu", "row_means")
    assert isinstance(draft, Draft), draft.reason
    workload = draft.workload()
    assert workload.dims == {"N": (6,), "C": (96,), "rows_values": (5,)}
    shapes = {a.name: a.shape for a in workload.args if a.is_pointer}
    assert shapes == {"out": ("N",), "x": ("C", "rows_values"), "rows": ("N",)}
    assert [a.value for a in workload.args if a.name == "scale"] == ["0.5"]
    assert workload.launch.block == ("32", "4")
    assert workload.launches[0].arguments is not None, (
        "the pointer that is NULL has its place among the arguments"
    )
    notes = "\n".join(draft.assumed)
    assert "N is chosen: nothing tells it" in notes
    assert "the shape of x is what the kernel reaches on the emulated device" in notes
    assert "w is null at the launch" in notes


def test_a_launch_in_another_file_is_found_with_its_template_arguments(state: State) -> None:
    draft = draft_for(state, "tiles.cuh", "transpose")
    assert isinstance(draft, Draft), draft.reason
    assert draft.template_arguments == ("16", "float")
    assert "the launch is that of run in runner.cu" in draft.assumed
    assert {n: s % 16 for n, s in draft.checked.items()} == {"rows": 0, "cols": 0}, (
        "rows race at less than whole tiles"
    )
    assert [a.shape for a in draft.arguments if a.shape] == [("rows", "cols")] * 2


@pytest.mark.long
def test_template_arguments_that_are_computed_are_written_as_numbers(state: State) -> None:
    runner = state.root / "run/runner.cu"
    runner.write_text(runner.read_text().replace("edge = 16", "edge = 64 * 64 / (32 * 8)"))
    draft = draft_for(state, "tiles.cuh", "transpose")
    assert isinstance(draft, Draft), draft.reason
    assert draft.template_arguments == ("16", "float")


MAIN = """\
#include <vector>
#include <runner.h>

int main() {
    std::vector<int> sizes = {64, 1024, 8192};
    int r, c;
    float *out, *x;
    for (int size : sizes) {
        r = c = size;
        run(out, x, r, c);
    }
}
"""


def test_sizes_that_a_caller_in_another_file_goes_through_are_taken(state: State) -> None:
    (state.root / "run/runner.h").write_text("void run(float* out, float* x, int rows, int cols);\n")
    (state.root / "main.cu").write_text(MAIN)
    draft = draft_for(state, "tiles.cuh", "transpose")
    assert isinstance(draft, Draft), draft.reason
    assert draft.checked == {"r": 64, "c": 128}, "the smallest, and twice as much to tell them apart"
    assert draft.dims == {"r": 1024, "c": 8192}, "the largest that are timed in little time"
    assert "r is one of 64, 1024, 8192 in main" in draft.assumed


@pytest.mark.parametrize(
    ("declared", "own"), [(False, ""), (True, "void run(float* out, float* x, int rows, int cols) {}\n")]
)
def test_a_caller_of_another_function_of_that_name_tells_nothing(
    state: State, declared: bool, own: str
) -> None:
    if declared:
        (state.root / "run/runner.h").write_text("void run(float* out, float* x, int rows, int cols);\n")
    (state.root / "main.cu").write_text(MAIN.replace("int main", own + "int main"))
    draft = draft_for(state, "tiles.cuh", "transpose")
    assert isinstance(draft, Draft), draft.reason
    assert "rows is chosen: nothing tells it" in draft.assumed


@pytest.mark.long
def test_drafts_of_both_kinds_see_wrong_kernels(state: State) -> None:
    for path, name in (("rows.cu", "row_means"), ("tiles.cuh", "transpose")):
        kernel = state.kernel(path, name)
        _, proof = tried_draft(
            kernel, state.root / path, root=state.root, per_kind=1, kinds=("zero_output", "wrong_stride")
        )
        assert proof is not None
        assert proof.blind == ""


def test_a_kernel_that_cannot_be_run_keeps_what_is_missing_and_says_why(state: State) -> None:
    (state.root / "rows.cu").write_text(ROWS.replace("    int n =", "    __trap();\n    int n ="))
    refusal = draft_for(state, "rows.cu", "row_means")
    assert isinstance(refusal, NoDraft)
    assert "the shape of x: nothing allocates `x` (the kernel cannot be run to see it: " in refusal.reason
    assert refusal.draft is not None
    assert "# not found: the shape of x" in refusal.draft.text


@pytest.mark.parametrize(
    ("body", "looked"),
    [("__trap();", [True] * 5), ("out[0] = n;", [True] * 5 + [False] * 5)],
    ids=["traps", "races"],
)
def test_only_a_kernel_that_raced_is_run_again_without_looking_for_races(
    state: State, monkeypatch: pytest.MonkeyPatch, body: str, looked: list[bool]
) -> None:
    tried: list[bool] = []

    def counted(*positional: Any, races: bool, **named: Any) -> Any:
        tried.append(races)
        return footprints(*positional, races=races, **named)

    monkeypatch.setattr(measured, "footprints", counted)
    (state.root / "rows.cu").write_text(ROWS.replace("    if (n >= N)", f"    {body}\n    if (n >= N)"))
    draft_for(state, "rows.cu", "row_means")
    assert tried == looked


SWITCHED = """
__global__ void shift(float* out, const float* x, const float* mean, int n, bool centred) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = centred ? x[i] - mean[i] : x[i];
}
void run(float* out, const float* x, const float* mean, int n) {
    shift<<<(n + 127) / 128, 128>>>(out, x, mean, n, %s);
}
"""


@pytest.mark.long
@pytest.mark.parametrize(("centred", "kind"), [("false", "null"), ("true", "input")])
def test_a_buffer_that_the_kernel_never_touches_is_null(tmp_path: Path, centred: str, kind: str) -> None:
    (tmp_path / "shift.cu").write_text(SWITCHED % centred)
    draft = draft_for(State(tmp_path), "shift.cu", "shift")
    assert isinstance(draft, Draft), draft.reason
    assert {a.name: a.kind for a in draft.arguments}["mean"] == kind
    note = "mean is null: the kernel did not touch it on the emulated device"
    assert (note in draft.assumed) == (kind == "null")


def test_a_draft_ends_within_the_time_that_its_caller_has(state: State) -> None:
    with ends_within(0.0):
        late = draft_for(state, "rows.cu", "row_means")
    assert isinstance(late, NoDraft)
    assert "the time for a draft is up" in late.reason
    assert isinstance(draft_for(state, "rows.cu", "row_means"), Draft)


CHOOSING = """
__global__ void passed_on(float* out, const float* x, const float* grad, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] > 0.5f ? grad[i] : 0;
}
void run(float* out, const float* x, const float* grad, int n) {
    passed_on<<<(n + 127) / 128, 128>>>(out, x, grad, n);
}
"""


def test_elements_that_data_decide_to_read_are_counted_over_several_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pass.cu").write_text(CHOOSING)
    draws: list[int] = []

    def counted(*positional: Any, seed: int, **named: Any) -> Any:
        draws.append(seed)
        return footprints(*positional, seed=seed, **named)

    monkeypatch.setattr(measured, "footprints", counted)
    draft = draft_for(State(tmp_path), "pass.cu", "passed_on")
    assert isinstance(draft, Draft), draft.reason
    assert {a.name: a.shape for a in draft.arguments}["grad"] == ("n",)
    assert len(set(draws)) == 3


PLANES = """
__global__ void scale(float* out, const float* x, int n) {
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * n + threadIdx.x;
    for (int at = threadIdx.x; at < n; at += 64, i += 64) out[i] = 2 * x[i];
}
int main() {
    int planes = 48, rows = 48, n = 96;
    float *out, *x;
    cudaMalloc(&out, planes * rows * n * sizeof(float));
    cudaMalloc(&x, planes * rows * n * sizeof(float));
    scale<<<dim3(rows, planes), 64>>>(out, x, n);
}
"""


def test_roles_alone_are_seen_at_sizes_that_end_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "planes.cu"
    path.write_text(PLANES)
    complete = draft_for(State(tmp_path), path.name, "scale")
    assert isinstance(complete, Draft), complete.reason
    unread = tuple(replace(a, kind="inout") if a.name in ("out", "x") else a for a in complete.arguments)
    blocks: list[int] = []

    def counted(program: Any, workload: Any, shapes: Any, **named: Any) -> Any:
        blocks.append(max(sizes["planes"] * sizes["rows"] for sizes in shapes))
        return footprints(program, workload, shapes, **named)

    monkeypatch.setattr(measured, "footprints", counted)
    asked = replace(complete, arguments=unread, unread_roles=frozenset({"out", "x"}))
    draft = measured.with_measured_shapes(asked, kernel_of(path, "scale"), path, tmp_path)
    assert {a.name: a.kind for a in draft.arguments if a.is_buffer} == {"out": "output", "x": "input"}
    assert max(blocks) < 48 * 48  # what its main has, and a run doubles each size


GATHER = """
__global__ void gather(float* out, const float* x, const int* rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[rows[i] + (1 << 28)];
}
int main() {
    int n = 256;
    float *out, *x;
    int *rows;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&rows, n * sizeof(int));
    gather<<<(n + 63) / 64, 64>>>(out, x, rows, n);
}
"""


def test_a_range_that_no_run_shows_is_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "gather.cu").write_text(GATHER)
    draft = draft_for(State(tmp_path), "gather.cu", "gather")
    assert isinstance(draft, NoDraft)
    assert draft.reason.startswith("the range of the values of rows (the kernel cannot be run to see it: ")


SCATTER = """
__global__ void put(float* cache, const float* x, const long* slots, int n, int width) {
    int token = blockIdx.x;
    for (int c = threadIdx.x; c < width; c += blockDim.x) cache[slots[token] * width + c] = x[token * width + c];
}
void put_rows(float* cache, const float* x, const long* slots, int n, int width) {
    put<<<n, 32>>>(cache, x, slots, n, width);
}
"""


def test_where_the_order_of_blocks_decides_no_number_of_an_index_comes_twice(tmp_path: Path) -> None:
    path = tmp_path / "put.cu"
    path.write_text(SCATTER)
    turn = InTurn(kernel_of(path, "put"), path, State(tmp_path))
    first = turn.first()
    drawn = {a.name: a.values for a in first.arguments}
    assert drawn["slots"] == "integers(0, slots_values)"
    reason = "it gives other values when its blocks run in another order: cache[0, 0] = 3, expected 2"
    second = turn.after_reading(first, reason)
    assert second is not None
    assert {a.name: a.values for a in second.arguments}["slots"] == "permutation(slots_values)"
    assert second.checked["slots_values"] >= second.checked["n"]
    assert second.workload().keeps_promises(second.checked)
    assert turn.after_reading(second, reason) is None


PAIRS = """
__global__ void pairs(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < n; j++) { if (x[j] > x[i]) sum += sqrtf(x[j]); }
    out[i] = sum;
}
int main() {
    int n = 1 << 20;
    float *out, *x;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    pairs<<<(n + 127) / 128, 128>>>(out, x, n);
}
"""


def test_sizes_are_smaller_where_each_element_is_work_for_all_others(tmp_path: Path) -> None:
    path = tmp_path / "pairs.cu"
    path.write_text(PAIRS)
    kernel = kernel_of(path, "pairs")
    by_elements = draft_of(kernel, path, State(tmp_path), measure=False)
    assert by_elements.checked == {"n": 1 << 13}
    assert draft_of(kernel, path, State(tmp_path)).checked["n"] <= 1 << 11


KEPT = """
__global__ void kept(const float* x, int n, float least, float* out, int* count) {
    if (threadIdx.x) return;
    int at = 0;
    for (int i = 0; i < n; i++) if (x[i] > least) out[at++] = x[i];
    *count = at;
}
void keep(const float* x, int n, float least, float* out, int* count) { kept<<<1, 32>>>(x, n, least, out, count); }
"""


@pytest.mark.long
def test_an_output_that_data_decide_is_as_large_as_values_lead(tmp_path: Path) -> None:
    path = tmp_path / "kept.cu"
    path.write_text(KEPT)
    draft = measured.with_measured_shapes(
        draft_of(kernel_of(path, "kept"), path, measure=False), kernel_of(path, "kept"), path, tmp_path
    )
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == {
        "x": ("n",),
        "out": ("n",),
        "count": ("1",),
    }
