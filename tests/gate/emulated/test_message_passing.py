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


LOCKED = """
__global__ void kernel(int *sum, int *lock, const int *x) {
    int t = threadIdx.x;
    if (t == 0) while (atomicCAS(lock, 0, 1)) {}
    __syncthreads();
    __threadfence();
    sum[t] += x[blockIdx.x * blockDim.x + t];
    BEFORE
    if (t == 0) { FENCE atomicExch(lock, 0); }
}
"""


def locked(before: str, fence: str = "__threadfence();", block: int = 64):
    x = np.arange(3 * block, dtype=np.int32)
    arrays = {"sum": np.zeros(block, np.int32), "lock": np.zeros(1, np.int32), "x": x}
    done = launch(LOCKED.replace("BEFORE", before).replace("FENCE", fence), arrays, grid=3, block=block)
    assert done.arrays["sum"].tolist() == x.reshape(3, block).sum(axis=0).tolist()
    return done.faults


@pytest.mark.parametrize("before", ["", "__syncwarp();", "__threadfence();"])
def test_a_lock_that_opens_before_other_threads_have_stored_is_a_race(before: str):
    (fault,) = locked(before)
    assert fault.kind == "race" and fault.buffer == "sum"
    assert fault.related[0].thread != (0, 0, 0), "what the releasing thread itself stored is known"


@pytest.mark.parametrize(
    ("before", "fence", "block"),
    [
        ("__syncthreads();", "__threadfence();", 64),
        ("__threadfence(); __syncthreads();", "", 64),
        ("__syncwarp();", "__threadfence();", 32),
    ],
)
def test_a_barrier_puts_stores_of_other_threads_before_the_release(before: str, fence: str, block: int):
    assert locked(before, fence, block) == ()


EACH = """
__global__ void kernel(int *sum, int *lock, const int *x) {
    int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t;
    if (b > 0) { while (atomicAdd(&lock[FROM], 0) == 0) {} __threadfence(); }
    sum[i] = x[i] + (b > 0 ? sum[FROM] : 0);
    __threadfence();
    atomicExch(&lock[i], 1);
}
"""


def test_each_thread_hands_on_its_own_store():
    x = np.arange(192, dtype=np.int32)
    arrays = {"sum": np.zeros(192, np.int32), "lock": np.zeros(192, np.int32), "x": x}
    done = launch(EACH.replace("FROM", "i - blockDim.x"), arrays, grid=3, block=64)
    assert done.faults == ()
    assert done.arrays["sum"].tolist() == x.reshape(3, 64).cumsum(axis=0).ravel().tolist()
