"""Blocks that hand on a sum with a flag: waiting for it ends, and a flag that overtakes its sum is a race."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch

CHAIN = """
__global__ void kernel(int *out, volatile int *sum, int *done, const int *x) {
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        int got = 0;
        if (b > 0) { while (WAIT == 0) {} got = sum[b - 1]; }
        sum[b] = got + x[b];
        FENCE
        atomicExch(&done[b], 1);
    }
    __syncthreads();
    out[b * 64 + threadIdx.x] = sum[b] + __shfl_sync(~0u, (int)threadIdx.x, 1);
}
"""
PRUNED = """
__global__ void kernel(int *out, volatile int *sum, int *done, const int *x) {
    int v = x[blockIdx.x];
    if (v > sum[0]) atomicMax((int *)sum, v);
    out[blockIdx.x * 64 + threadIdx.x] = v;
}
"""


def passed_on(source: str):
    blocks, x = 5, np.arange(3, 8, dtype=np.int32)
    zeros = np.zeros(blocks, np.int32)
    arrays = {"out": np.zeros(blocks * 64, np.int32), "sum": zeros.copy(), "done": zeros.copy(), "x": x}
    return launch(source, arrays, grid=blocks, block=64)


@pytest.mark.parametrize("wait", ["atomicAdd(&done[b - 1], 0)", "((volatile int *)done)[b - 1]"])
def test_a_block_waits_for_the_one_before_it(wait: str):
    done = passed_on(CHAIN.replace("WAIT", wait).replace("FENCE", "__threadfence();"))
    assert done.faults == ()
    assert done.arrays["sum"].tolist() == [3, 7, 12, 18, 25]


def test_a_flag_without_a_fence_overtakes_its_sum():
    source = CHAIN.replace("WAIT", "atomicAdd(&done[b - 1], 0)").replace("FENCE", "")
    (fault,) = passed_on(source).faults
    assert fault.kind == "race" and fault.buffer == "sum" and "before a flag" in fault.message


def test_a_volatile_read_that_counts_on_no_flag_is_no_race():
    assert passed_on(PRUNED).faults == ()
