"""mbarriers and copies that report to them, in CUDA C++: cuda::barrier, cuda::pipeline, bulk copies, TMA."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.emulated.tensor_maps import ELEMTYPES, LAYOUT
from kernel_gate.program import Program
from longer import first_now

RNG = np.random.default_rng(13)


def compile_90(source: str):
    return compile_nvrtc(Program("cuda", source, "kernel"), "sm_90")


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


BARRIER = """
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[128];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier all;
    if (threadIdx.x == 0) init(&all, blockDim.x);
    __syncthreads();  // made
    float sum = 0;
    for (int k = 0; k < n; k++) {
        tile[threadIdx.x] = x[k * 128 + threadIdx.x];  // write
        all.arrive_and_wait();
        sum += tile[127 - threadIdx.x];  // read
        all.arrive_and_wait();  // reuse
    }
    out[threadIdx.x] = sum;
}
"""


def run_barrier(source: str):
    x = floats(4, 128)
    arguments = {"out": np.zeros(128, np.float32), "x": x, "n": np.int32(4)}
    return launch(compile_90(source), arguments, 1, 128, arch="sm_90"), x.astype(np.float64).sum(0)[::-1]


@pytest.mark.long
def test_threads_that_wait_for_an_mbarrier_are_ordered():
    done, expected = run_barrier(BARRIER)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_a_tile_written_again_too_early_is_a_race():
    done, _ = run_barrier(BARRIER.replace("all.arrive_and_wait();  // reuse", ""))
    assert {(f.kind, f.line) for f in done.faults} == {("race", line_of(BARRIER, "write"))}


@pytest.mark.long
def test_an_arrival_that_is_missing_is_a_deadlock():
    done, _ = run_barrier(BARRIER.replace("init(&all, blockDim.x)", "init(&all, blockDim.x + 1)"))
    assert [f.kind for f in done.faults] == ["barrier"]
    assert "deadlock" in done.faults[0].message


COOPERATIVE = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ alignas(16) float tile[128];
    auto block = cg::this_thread_block();
    float sum = 0;
    for (int k = 0; k < n; k++) {
        cg::memcpy_async(block, tile, x + k * 128, cuda::aligned_size_t<16>(sizeof(tile)));
        cg::wait(block);  // wait
        sum += tile[127 - threadIdx.x];  // read
        block.sync();
    }
    out[threadIdx.x] = sum;
}
"""

PIPELINE = """
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ alignas(16) float tile[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int k = 0, next = 0; k < n; k++) {
        for (; next < n && next < k + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[next % 2], x + next * 128, sizeof(tile[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += tile[k % 2][127 - threadIdx.x];  // read
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "source", first_now([COOPERATIVE, PIPELINE]), ids=["cooperative groups", "cuda::pipeline"]
)
def test_copies_of_a_whole_block(source):
    done, expected = run_barrier(source)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_a_pipeline_nobody_waits_for_is_a_race():
    done, _ = run_barrier(PIPELINE.replace("pipe.consumer_wait();", ""))
    assert ("race", line_of(PIPELINE, "read")) in {(f.kind, f.line) for f in done.faults}


BULK = """
#include <cuda/ptx>
namespace ptx = cuda::ptx;
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ alignas(128) float tile[2][128];
    __shared__ alignas(8) unsigned long long full[2];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full[0], 1);
        ptx::mbarrier_init(&full[1], 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    auto fetch = [&](int k) {
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[k % 2], 512);
            float* to = tile[k % 2];
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, x + k * 128, 512, &full[k % 2]);  // fetched
        }
    };
    fetch(0);
    for (int k = 0; k < n; k++) {
        if (k + 1 < n) fetch(k + 1);
        while (!ptx::mbarrier_try_wait_parity(&full[k % 2], (k / 2) & 1)) {}  // wait
        float mine = tile[k % 2][127 - threadIdx.x];  // read
        __syncthreads();  // all have read
        tile[k % 2][threadIdx.x] = 2 * mine;  // written
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile[k % 2], 512);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});  // stored
        }
        __syncthreads();
    }
}
"""


def test_bulk_copies_in_and_sums_out():
    done, expected = run_barrier(BULK)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], 2 * expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("line", "marker"),
    [
        ("while (!ptx::mbarrier_try_wait_parity(&full[k % 2], (k / 2) & 1)) {}  // wait", "read"),
        ("ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});  // stored", "fetched"),
        ("__syncthreads();  // all have read", "written"),
    ],
)
def test_a_bulk_copy_or_a_reader_nobody_waits_for_is_a_race(line, marker):
    done, _ = run_barrier(BULK.replace(line, ""))
    assert ("race", line_of(BULK, marker)) in {(f.kind, f.line) for f in done.faults}


TENSOR = """
#include <cuda/ptx>
namespace ptx = cuda::ptx;
struct alignas(64) Map { unsigned char bytes[128]; };
__global__ void kernel(const __grid_constant__ Map from, const __grid_constant__ Map to, int x, int y) {
    __shared__ alignas(1024) unsigned char tile[ROWS * WIDTH];
    __shared__ alignas(8) unsigned long long full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(tile));
        int at[2] = {x, y}, zero[2] = {0, 0};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, at, &full);
        while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, zero, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
    }
}
"""


def tensor_map(address: int, extent: tuple[int, int], box: tuple[int, int], swizzle: int) -> np.void:
    """What `cuTensorMapEncodeTiled` gives for a matrix of u16, in the emulated device's layout."""
    fields = np.zeros(1, LAYOUT)
    fields["global_address"], fields["rank"], fields["elemtype"] = address, 1, ELEMTYPES.index("u16")
    fields["swizzle_mode"] = (0, 32, 64, 128).index(swizzle)
    fields["global_dim"][0, :2], fields["box_dim"][0, :2], fields["element_stride"][0, :2] = extent, box, 1
    fields["global_stride"][0, 0] = 2 * extent[0]
    return np.void(fields.tobytes())


@pytest.mark.parametrize("at", [(0, 0), (8, 3), (-5, -2), (40, 12)])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_a_box_is_copied_and_zeros_come_from_outside(swizzle, at):
    """Both maps have the same swizzle, so the copy is the box; what lies outside the tensor is zero."""
    width, rows = (swizzle or 64) // 2, 8
    source = TENSOR.replace("ROWS", str(rows)).replace("WIDTH", str(2 * width))
    x = RNG.integers(1, 2**16, (16, 64)).astype(np.uint16)
    device = EmulatedDevice("sm_90")
    kernel = device.load(compile_90(source))
    assert kernel.unsupported == {}
    matrix = device.allocate(x.nbytes, "x", 2)
    matrix.write(x)
    result = device.allocate(rows * width * 2, "y", 2)
    result.write(np.full((rows, width), 9, np.uint16))
    base = [b.segment.base for b in (matrix, result)]
    maps = [
        tensor_map(base[0], (64, 16), (width, rows), swizzle),
        tensor_map(base[1], (width, rows), (width, rows), swizzle),
    ]
    done = kernel.launch((1, 1, 1), (32, 1, 1), 0, [*maps, np.int32(at[0]), np.int32(at[1])])
    assert done.faults == ()
    padded = np.zeros((16 + 64, 64 + 256), np.uint16)
    padded[32:48, 128:192] = x
    expected = padded[32 + at[1] : 32 + at[1] + rows, 128 + at[0] : 128 + at[0] + width]
    np.testing.assert_array_equal(result.read().view(np.uint16).reshape(rows, width), expected)
