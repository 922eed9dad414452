"""Which two accesses a race names: of threads that nothing orders, in different warps where there are such."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.devices.base import Fault
from kernel_gate.emulated.launch import Limits

REUSED = """
__global__ void kernel(float* out, const float* x) {
    __shared__ float part[2];
    float most = x[threadIdx.x];
    for (int k = 16; k > 0; k /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();
    most = fmaxf(part[0], part[1]); // read
    float sum = x[threadIdx.x] - most;
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    BARRIER
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum; // write
    __syncthreads();
    out[threadIdx.x] = part[0] + part[1];
}
"""
CLEARED = """
__global__ void kernel(float* out, const float* x) {
    __shared__ float part[32];
    float sum = x[threadIdx.x];
    if (threadIdx.x < 32) part[threadIdx.x] = 0.0f; // read
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    BARRIER
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum; // write
    __syncthreads();
    sum = part[threadIdx.x % 32];
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    out[threadIdx.x] = sum;
}
"""
CLAMPED = """
__global__ void kernel(float* out, const float* x) {
    int n = 96, i = threadIdx.x;
    float a = out[min(n - 1, i)], b = out[min(n - 1, i + 64)]; // read
    BARRIER
    out[i] = 2.0f * a;
    if (i + 64 < n) out[i + 64] = 2.0f * b; // write
}
"""


def only_race(source: str, barrier: str) -> Fault | None:
    x = np.arange(1, 129, dtype=np.float32)
    done = launch(source.replace("BARRIER", barrier), {"out": x.copy(), "x": x}, block=64)
    assert {fault.kind for fault in done.faults} <= {"race"}
    return done.faults[0] if done.faults else None


@pytest.mark.parametrize("source", [REUSED, CLEARED])
def test_a_race_names_threads_of_two_warps(source: str):
    fault = only_race(source, "")
    assert fault is not None and fault.thread is not None
    other = fault.related[0]
    assert other.thread is not None
    assert fault.thread[0] // 32 != other.thread[0] // 32
    assert {fault.line, other.line} == {line_of(source, "read"), line_of(source, "write")}


def test_the_other_side_of_a_race_is_another_thread_although_the_thread_has_read_the_place_too():
    fault = only_race(CLAMPED, "")
    assert fault is not None
    assert (fault.line, fault.thread, fault.element) == (line_of(CLAMPED, "write"), (31, 0, 0), 95)
    assert (fault.related[0].line, fault.related[0].thread) == (line_of(CLAMPED, "read"), (63, 0, 0))


@pytest.mark.parametrize("source", [REUSED, CLEARED, CLAMPED])
def test_a_barrier_between_orders_them(source: str):
    assert only_race(source, "__syncthreads();") is None


HANDED_ON = """
__global__ void kernel(float* out, const float* x) {
    int i = threadIdx.x, next = (i + 1) % READERS;
    float other = out[next]; // read
    __syncwarp();
    float own = out[i];
    out[i] = own + other; // write
}
"""


@pytest.mark.parametrize(("readers", "races"), [(32, False), (64, True)])
def test_a_warp_barrier_orders_earlier_readers_of_the_warp_only(readers: int, races: bool):
    """The writer has read the place itself since the barrier; before it, a thread of its warp or of another did."""
    x = np.arange(64, dtype=np.float32)
    text = HANDED_ON.replace("READERS", str(readers))
    done = launch(text, {"out": x.copy(), "x": x}, block=readers)
    assert bool(done.faults) is races


ROLES = """
__global__ void kernel(float* out, const float* x) {
    __shared__ float slot[32], other[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        slot[lane] = x[lane]; // write
        FULL
        LATE
    } else if (threadIdx.x < 64) {
        WAIT
        out[lane] = slot[31 - lane]; // read
    } else {
        other[lane] = 1.0f;
        asm volatile("bar.sync 2, 32;" ::: "memory");
        out[32 + lane] = other[31 - lane];
    }
}
"""
FULL = 'asm volatile("bar.arrive 1, 64;" ::: "memory");'
WAIT = 'asm volatile("bar.sync 1, 64;" ::: "memory");'


@pytest.mark.parametrize(
    ("full", "wait", "late", "races"),
    [
        (FULL, WAIT, "", False),
        (WAIT, WAIT, "", False),
        (FULL, WAIT, "slot[lane] = 0.0f;", True),
        (FULL.replace("bar.arrive", "barrier.cta.arrive"), WAIT, "", False),
        *(
            (f'asm volatile("bar.sync {n}, 32;");', 'asm volatile("bar.sync 4, 32;");', "", True)
            for n in (2, 3)
        ),
    ],
)
def test_a_barrier_of_a_part_of_a_block_orders_that_part(full: str, wait: str, late: str, races: bool):
    text = ROLES.replace("FULL", full).replace("WAIT", wait).replace("LATE", late)
    x = np.arange(1, 65, dtype=np.float32)
    done = launch(text, {"out": np.zeros(64, np.float32), "x": x}, block=96)
    assert {f.kind for f in done.faults} == ({"race"} if races else set())


SCOPED = """
__global__ void kernel(int* out, int* count) {
    if (threadIdx.x % 2) FIRST(&count[PLACE], 1);
    else SECOND(&count[PLACE], 1);
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize(
    ("first", "second", "place", "races"),
    [
        ("atomicAdd", "atomicAdd", "0", False),
        ("atomicAdd_system", "atomicAdd", "0", False),
        ("atomicAdd_block", "atomicAdd", "blockIdx.x", False),
        ("atomicAdd_block", "atomicAdd_block", "0", True),
        ("atomicAdd_block", "atomicAdd", "0", True),
        ("atomicAdd", "atomicAdd_block", "0", True),
    ],
)
@pytest.mark.parametrize("wave", [64, 1 << 15], ids=["a block at a time", "blocks at once"])
def test_an_atomic_of_a_blocks_scope_is_none_to_other_blocks(first, second, place, races, wave):
    text = SCOPED.replace("FIRST", first).replace("SECOND", second).replace("PLACE", place)
    arguments = {"out": np.zeros(192, np.int32), "count": np.zeros(3, np.int32)}
    done = launch(text, arguments, grid=3, block=64, limits=Limits(wave_threads=wave))
    assert {f.kind for f in done.faults} == ({"race"} if races else set())
    assert all("in the scope of its block alone" in f.message for f in done.faults)


READ_ONLY = """
__global__ void kernel(float* out, const float* x) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float v = __ldg(&out[i ^ 1]) + x[i];  // before
    __syncthreads();
    out[i] = v; // write
    __syncthreads();
    out[i] = v + LOAD(&out[i ^ 33]); // read
}
"""


@pytest.mark.parametrize(("load", "lines"), [("__ldcg", []), ("__ldg", ["read"])])
def test_what_the_launch_has_written_is_not_read_through_the_read_only_cache(load: str, lines: list[str]):
    source = READ_ONLY.replace("LOAD", load).replace("out[i] = v +", "v = v +")
    source = source.replace("// read", "// read\n    __syncthreads();\n    out[i] = v;")
    x = np.arange(128, dtype=np.float32)
    done = launch(source, {"out": x.copy(), "x": x}, grid=2, block=64)
    assert [(f.kind, f.line) for f in done.faults] == [("race", line_of(source, line)) for line in lines]
