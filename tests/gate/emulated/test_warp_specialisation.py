"""A producer warp fills stages by TMA-like bulk copies, a warpgroup multiplies: mbarriers alone order them."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.emulated.launch import Checks
from kernel_gate.emulated.schedule import Mode, Schedule
from kernel_gate.program import Program

SOURCE = """
#include <cuda/ptx>
#include <cuda_fp16.h>
namespace ptx = cuda::ptx;
constexpr int STAGES = 2, BYTES = 64 * 16 * 2;

__device__ unsigned long long tile_of(const void* p) {
    // No swizzle: core matrices of 8 rows by 16 bytes; the next 8 rows after 256 bytes, the next 8 of k after 128.
    unsigned at = (unsigned)__cvta_generic_to_shared(p);
    return (at >> 4 & 0x3FFF) | 8ull << 16 | 16ull << 32;
}
__device__ void wait(unsigned long long* barrier, int phase) {
    while (!ptx::mbarrier_try_wait_parity(barrier, phase & 1)) {}
}
__global__ void kernel(float* c, const half* a, const half* b, int steps) {
    __shared__ alignas(1024) half x[STAGES][64 * 16], y[STAGES][64 * 16];
    __shared__ alignas(8) unsigned long long full[STAGES], empty[STAGES];
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) { ptx::mbarrier_init(&full[s], 1); ptx::mbarrier_init(&empty[s], 128); }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int k = 0; k < steps; k++) {
                int s = k % STAGES;
                if (k >= STAGES) wait(&empty[s], k / STAGES - 1);  // wait for the stage
                auto cluster = ptx::space_cluster; auto global = ptx::space_global; auto shared = ptx::space_shared;
                ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, shared, &full[s], 2 * BYTES);
                ptx::cp_async_bulk(cluster, global, x[s], a + k * 1024, BYTES, &full[s]);  // copy of a
                ptx::cp_async_bulk(cluster, global, y[s], b + k * 1024, BYTES, &full[s]);
            }
        return;
    }
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < steps; k++) {
        int s = k % STAGES;
        wait(&full[s], k / STAGES);  // wait for the copies
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(tile_of(x[s])), "l"(tile_of(y[s])));  // product
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // wait for the product
        ptx::mbarrier_arrive(&empty[s]);  // done with the stage
    }
    int group = threadIdx.x % 32 / 4, row = threadIdx.x / 32 * 16 + group, column = threadIdx.x % 4 * 2;
    for (int i = 0; i < 4; i++) c[(row + i / 2 * 8) * 8 + column + i % 2] = d[i];
}
"""
RNG = np.random.default_rng(31)


def cores(tiles: np.ndarray) -> np.ndarray:
    """(steps, rows, 16) → core matrices of 8 × 8, those along k first."""
    steps, rows, _ = tiles.shape
    return np.ascontiguousarray(tiles.reshape(steps, rows // 8, 8, 2, 8).transpose(0, 1, 3, 2, 4))


def run(source: str, steps: int = 6, checks: Checks | None = None):
    code = compile_nvrtc(Program("cuda", source, "kernel"), "sm_90")
    a, b = (RNG.normal(size=(steps, 64, 16)).astype(np.float16) for _ in range(2))
    arguments = {"c": np.zeros((64, 8), np.float32), "a": cores(a), "b": cores(b), "steps": np.int32(steps)}
    done = launch(code, arguments, 1, 160, arch="sm_90", checks=checks)
    return done, np.einsum("kmi,kni->mn", a.astype(np.float64), b[:, :8].astype(np.float64))


def test_a_producer_and_a_warpgroup_take_turns():
    done, expected = run(SOURCE)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["c"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", Mode)
def test_a_warpgroup_multiplies_together_in_any_order_of_warps(mode: Mode):
    checks = Checks(races=False, uninitialised=False, schedule=Schedule(mode, 3))
    done, expected = run(SOURCE, checks=checks)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["c"], expected, rtol=1e-5, atol=1e-5)
    alone = SOURCE.replace("float d[4] =", "if (threadIdx.x >= 96) return;\n    float d[4] =")
    done, _ = run(alone, checks=checks)
    assert [f.kind for f in done.faults] == ["barrier"]
    assert "some are elsewhere" in done.faults[0].message


@pytest.mark.parametrize(
    ("line", "marker"),
    [
        ("if (k >= STAGES) wait(&empty[s], k / STAGES - 1);  // wait for the stage", "copy of a"),
        ("wait(&full[s], k / STAGES);  // wait for the copies", "product"),
    ],
)
def test_a_turn_not_waited_for_is_a_race(line, marker):
    done, _ = run(SOURCE.replace(line, ""))
    assert ("race", line_of(SOURCE, marker)) in {(f.kind, f.line) for f in done.faults}


def test_an_arrival_before_the_product_is_done_is_a_race():
    wait = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // wait for the product'
    late = SOURCE.replace(wait, "").replace(
        "    int group", '    asm volatile("wgmma.wait_group.sync.aligned 0;");\n    int group'
    )
    done, _ = run(late)
    assert ("race", line_of(late, "copy of a")) in {(f.kind, f.line) for f in done.faults}


def test_a_stage_that_is_never_given_back_is_a_deadlock():
    done, _ = run(SOURCE.replace("ptx::mbarrier_arrive(&empty[s]);  // done with the stage", ""))
    assert [f.kind for f in done.faults] == ["barrier"]
    assert "128 arrivals" in done.faults[0].message
