"""A barrier of the whole grid, as cooperative groups have it: all blocks of a launch run together."""

from functools import cache

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.cuda_kernel import CudaKernel
from kernel_gate.devices.image import Image
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.program import Program
from kernel_gate.reasons import FAULT_REASONS, Reason

RELAX = """
#include <cooperative_groups.h>
using namespace cooperative_groups;
__global__ void kernel(float* x, float* y, int n, int rounds) {
    grid_group grid = this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < rounds; ++round) {
        if (i < n) y[i] = i > 0 && i < n - 1 ? 0.5f * (x[i - 1] + x[i + 1]) : x[i];  // relaxed
        grid.sync();
        if (i < n) x[i] = y[i];  // taken over
        sync(grid);
    }
}
"""
SUMMED = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void kernel(const float* x, float* parts, float* sum, int n) {
    auto grid = cg::this_grid();
    float part = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) part += x[i];
    atomicAdd(&parts[blockIdx.x], part);
    grid.sync();
    if (grid.thread_rank() == 0) {
        float whole = 0;
        for (int b = 0; b < gridDim.x; ++b) whole += parts[b];
        *sum = whole;
    }
}
"""


@cache
def image(source: str) -> Image:
    return compile_nvrtc(Program("cuda", source, "kernel"), "sm_90")


def relaxed(x: np.ndarray, rounds: int) -> np.ndarray:
    for _ in range(rounds):
        x = np.concatenate([x[:1], (x[:-2] + x[2:]) / 2, x[-1:]])
    return x


def relax(n: int, rounds: int, blocks: int, source: str = RELAX, **options):
    x = np.random.default_rng(3).standard_normal(n).astype(np.float32)
    arguments = {"x": x, "y": np.zeros(n, np.float32), "n": np.int32(n), "rounds": np.int32(rounds)}
    return x, launch(image(source), arguments, (blocks,), 64, arch="sm_90", **options)


@pytest.mark.parametrize("seed", [None, 5])
def test_blocks_that_wait_for_each_other_see_what_all_have_written(seed):
    x, done = relax(300, 4, 5, checks=Checks(order_seed=seed))
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["x"], relaxed(x, 4), rtol=1e-6)


def test_a_sum_of_the_parts_of_all_blocks_waits_for_them():
    x = np.ones(1000, np.float32)
    arguments = {
        "x": x,
        "parts": np.zeros(6, np.float32),
        "sum": np.zeros(1, np.float32),
        "n": np.int32(1000),
    }
    done = launch(image(SUMMED), arguments, (6,), 64, arch="sm_90")
    assert done.faults == () and done.arrays["sum"] == [1000]


def test_a_barrier_of_the_grid_that_is_missing_is_a_race():
    source = RELAX.replace("        sync(grid);\n", "")
    _, done = relax(300, 4, 5, source)
    fault = next(f for f in done.faults if f.kind == "race")
    assert fault.line in (line_of(source, "relaxed"), line_of(source, "taken over"))


def test_a_block_that_leaves_while_others_wait_is_no_end():
    source = RELAX.replace("    for (int round", "    if (blockIdx.x == 1) return;\n    for (int round")
    _, done = relax(300, 1, 5, source, limits=Limits(seconds=1))
    assert [f.kind for f in done.faults] == ["timeout"]


def test_more_blocks_than_run_at_once_are_refused():
    _, done = relax(300, 1, 132 * 32 + 1)
    (fault,) = done.faults
    assert (
        "4225 blocks wait for each other at a barrier of the grid, and 4224 of them run at once"
        in fault.message
    )


def test_no_gpu_is_asked_to_launch_it():
    kernel = object.__new__(CudaKernel)
    kernel._image = image(RELAX)
    (fault,) = kernel.launch((1, 1, 1), (64, 1, 1), 0, ()).faults
    assert FAULT_REASONS[fault.kind] is Reason.COOPERATIVE_LAUNCH
