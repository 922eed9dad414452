"""Races of reads whose value gets nowhere are no faults of a Triton kernel; those of reads that matter are."""

from dataclasses import replace

import numpy as np
import pytest

from gate.emulated.cuda_source import image, launch
from gate.emulated.test_triton_kernels import compiled

SCALED = """
def kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
"""
ADDED = """
def kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    tl.debug_barrier()
    tl.store(x + 5, tl.load(x + 5) + 1)
"""
LATE = """
def kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    first = tl.load(x + 5)
    tl.store(x + 5, first + 1)
    tl.store(x + n + i, first * tl.load(x + n + i))
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [(SCALED, lambda x: 2 * x), (ADDED, lambda x: 2 * x + (np.arange(len(x)) == 5))],
    ids=["more threads than elements", "a scalar that one thread stores"],
)
def test_threads_that_compute_what_another_one_stores_race_with_nobody(body, expected):
    code = compiled(body, {"x": "*fp32", "n": "i32"}, BLOCK=32)
    x = np.arange(1, 33, dtype=np.float32)
    done = launch(code, {"x": x.copy(), "n": np.int32(32)}, 1, code.block_threads)
    assert code.block_threads == 128
    np.testing.assert_array_equal(done.arrays["x"], expected(x))
    assert done.faults == ()


def test_a_scalar_that_others_use_while_one_thread_overwrites_it_is_a_race():
    code = compiled(LATE, {"x": "*fp32", "n": "i32"}, BLOCK=128)
    x = np.ones(160, np.float32)
    done = launch(code, {"x": x, "n": np.int32(32)}, 1, code.block_threads)
    assert [(f.kind, f.buffer, f.element) for f in done.faults] == [("race", "x", 5)]


def laid_out_by_triton(source):
    """A kernel whose threads are written out, taken for one that Triton shared out among them."""
    return replace(image(source), parameters=())


KERNEL = """
__global__ void kernel(float* x, float* out, int n) {
    int i = threadIdx.x, left = i ^ 32;
    float own = x[i], other = x[left];
    SYNC
    x[i] = own + 1.0f;
    USE
}
"""
USES = {
    "stores it": "out[i] = other;",
    "stores it if": "if (i >= n) out[i] = other;",
    "branches on it": "if (other > 3.0f) out[i] = 1.0f;",
    "is sent on": "out[i] = __shfl_sync(~0u, other, 3);",
    "goes through shared memory": "__shared__ float s[64]; s[i] = other; __syncthreads(); out[i] = s[63 - i];",
    "goes through global memory": "out[i] = 0.0f; if (i < 32) { out[i] = other; }",
    "is added by an atomic": "atomicAdd(out, other);",
    "names a place": "out[(int)other % 64] = 1.0f;",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("sync", ["", "__syncthreads();"])
def test_a_read_that_matters_is_a_race_unless_a_barrier_orders_it(use, sync):
    source = KERNEL.replace("SYNC", sync).replace("USE", USES[use])
    x = np.arange(1, 65, dtype=np.float32)
    code = laid_out_by_triton(source)
    done = launch(code, {"x": x, "out": np.zeros(64, np.float32), "n": np.int32(40)}, block=64)
    raced = {(f.kind, f.buffer) for f in done.faults}
    if use == "names a place":
        raced.discard(("race", "out"))
    assert raced == (set() if sync else {("race", "x")})


def test_what_a_warp_of_triton_has_read_it_may_store_in_other_lanes():
    source = KERNEL.replace("SYNC", "").replace("USE", USES["stores it"]).replace("i ^ 32", "i ^ 1")
    for code, races in ((laid_out_by_triton(source), []), (image(source), ["race"])):
        x = np.arange(1, 65, dtype=np.float32)
        done = launch(code, {"x": x, "out": np.zeros(64, np.float32), "n": np.int32(40)}, block=64)
        assert [f.kind for f in done.faults] == races


ONLY_BELOW_64 = "if (n < 64) out[i] = other;"


def test_of_reads_that_one_line_makes_those_that_matter_decide():
    """All threads read what the other warp writes; with `n` 64 nobody uses it."""
    code = laid_out_by_triton(KERNEL.replace("SYNC", "").replace("USE", ONLY_BELOW_64))
    for n, kinds in ((64, []), (63, ["race"])):
        x = np.arange(1, 65, dtype=np.float32)
        done = launch(code, {"x": x, "out": np.zeros(64, np.float32), "n": np.int32(n)}, block=64)
        assert [f.kind for f in done.faults] == kinds
        np.testing.assert_array_equal(done.arrays["x"], np.arange(2, 66, dtype=np.float32))


STORED = """
__global__ void kernel(float* x, int n) {
    __shared__ float s[32];
    int i = threadIdx.x;
    s[i % 32] = x[i];
    ANOTHER
    __syncthreads();
    x[i] = s[i % 32];
}
"""


@pytest.mark.parametrize("block", [40, 64])
@pytest.mark.parametrize("another", ["", "if (i < n) s[(i + 1) % 32] = 2.0f;"])
def test_threads_that_hold_one_element_may_each_store_it_by_one_instruction(another, block):
    source = STORED.replace("ANOTHER", another)
    for code, races in ((laid_out_by_triton(source), bool(another)), (source, True)):
        x = np.arange(64, dtype=np.float32)
        done = launch(code, {"x": x, "n": np.int32(64)}, block=block)
        assert {(f.kind, f.buffer) for f in done.faults} == ({("race", "s")} if races else set())


BETWEEN = """
__global__ void kernel(float* x, float* out) {
    int i = threadIdx.x, lane = i % 32;
    float read = x[PLACE];
    if (i < 32) x[32 * blockIdx.x + lane] = lane + 100.0f * blockIdx.x;
    if (i < 32) out[32 * blockIdx.x + lane] = read;
}
"""


@pytest.mark.parametrize(
    ("place", "kinds"), [("32 * blockIdx.x + lane", []), ("32 * (1 - blockIdx.x) + lane", ["race"])]
)
def test_a_race_of_two_blocks_stays(place, kinds):
    x = np.full(64, 7.0, np.float32)
    code = laid_out_by_triton(BETWEEN.replace("PLACE", place))
    done = launch(code, {"x": x, "out": x.copy()}, grid=2, block=64)
    assert [f.kind for f in done.faults] == kinds


def test_what_cannot_be_followed_keeps_its_races():
    source = """
#include <cuda_pipeline.h>
__global__ void kernel(float* x) {
    __shared__ float s[64];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&s[i], &x[i ^ 32], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    float idle = x[i ^ 32];
    x[i] = s[i] + (i > 64 ? idle : 0.0f);
}
"""
    done = launch(laid_out_by_triton(source), {"x": np.arange(64, dtype=np.float32)}, block=64)
    assert "race" in {f.kind for f in done.faults}


def test_of_a_kernel_whose_own_branches_decide_what_is_used_all_races_stay():
    """In another block the same read may be used."""
    source = KERNEL.replace("SYNC", "").replace("USE", ONLY_BELOW_64)
    x = np.arange(1, 65, dtype=np.float32)
    done = launch(source, {"x": x, "out": np.zeros(64, np.float32), "n": np.int32(64)}, block=64)
    assert [(f.kind, f.buffer) for f in done.faults] == [("race", "x")]


def test_a_launch_that_ends_early_keeps_its_races():
    """What comes after the end might have used what was read."""
    body = SCALED + "    tl.store(x + 1000 * n + i, 1.0)\n"
    code = compiled(body, {"x": "*fp32", "n": "i32"}, BLOCK=32)
    done = launch(code, {"x": np.ones(32, np.float32), "n": np.int32(32)}, 1, code.block_threads)
    assert {f.kind for f in done.faults} == {"race", "out_of_bounds"}
