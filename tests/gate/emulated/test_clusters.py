"""Clusters: ranks, distributed shared memory and the cluster's barrier, through cooperative groups."""

from functools import cache

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.build.nvrtc import compile_kernels, compile_nvrtc
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.emulated.launch import Checks
from kernel_gate.program import Program

RNG = np.random.default_rng(17)


@cache
def image(source: str) -> Image:
    """Compiled once: the headers of cooperative groups take a second."""
    return compile_nvrtc(Program("cuda", source, "kernel"), "sm_90")


def run(source: str, arguments: dict, grid, block: int, **options):
    return launch(image(source), arguments, grid, block, arch="sm_90", **options)


PLACES = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 3, 1) kernel(int* out) {
    auto cluster = cg::this_cluster();
    int block = blockIdx.x + gridDim.x * blockIdx.y;
    if (threadIdx.x == 0) {
        out[block * 4] = cluster.block_rank();
        out[block * 4 + 1] = cluster.block_index().x + 10 * cluster.block_index().y;
        out[block * 4 + 2] = cluster.num_blocks();
        out[block * 4 + 3] = cluster.dim_blocks().x + 10 * cluster.dim_blocks().y;
    }
}
"""


@pytest.mark.parametrize("seed", [None, 5])
def test_every_block_knows_its_place(seed):
    done = run(PLACES, {"out": np.zeros((36, 4), np.int32)}, (6, 6), 32, checks=Checks(order_seed=seed))
    assert done.faults == ()
    y, x = np.divmod(np.arange(36), 6)
    expected = np.stack([x % 2 + 2 * (y % 3), x % 2 + 10 * (y % 3), np.full(36, 6), np.full(36, 32)], axis=1)
    np.testing.assert_array_equal(done.arrays["out"], expected)


HISTOGRAM = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(4, 1, 1) kernel(int* bins, const int* x, int n) {
    __shared__ int part[64];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 64; i += blockDim.x) part[i] = 0;  // cleared
    cluster.sync();  // before
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int* there = cluster.map_shared_rank(part, x[i] / 64);
        atomicAdd(there + x[i] % 64, 1);
    }
    cluster.sync();  // after
    for (int i = threadIdx.x; i < 64; i += blockDim.x) {
        atomicAdd(&bins[cluster.block_rank() * 64 + i], part[i]);
    }
}
"""


def test_a_histogram_in_the_shared_memory_of_a_cluster():
    x = RNG.integers(0, 256, 3000).astype(np.int32)
    arguments = {"bins": np.zeros(256, np.int32), "x": x, "n": np.int32(3000)}
    done = run(HISTOGRAM, arguments, 8, 64)
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["bins"], np.bincount(x, minlength=256))


SUM = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(8, 1, 1) kernel(float* out, const float* x) {
    __shared__ float mine;
    auto cluster = cg::this_cluster();
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x == 0) mine = v;
    cluster.sync();  // all are there
    if (cluster.block_rank() == 0 && threadIdx.x < 8) {
        float w = *cluster.map_shared_rank(&mine, threadIdx.x);  // read
        for (int d = 4; d; d /= 2) w += __shfl_xor_sync(0xff, w, d);
        if (threadIdx.x == 0) out[blockIdx.x / 8] = w;
    }
    cluster.sync();
}
"""


def test_a_sum_over_a_cluster():
    x = RNG.normal(size=(3, 256)).astype(np.float32)
    done = run(SUM, {"out": np.zeros(3, np.float32), "x": x}, 24, 32)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], x.astype(np.float64).sum(1), rtol=1e-4, atol=1e-4)


def test_a_rank_that_the_cluster_has_not_is_out_of_bounds():
    source = SUM.replace("&mine, threadIdx.x)", "&mine, threadIdx.x + 1)")
    done = run(source, {"out": np.zeros(3, np.float32), "x": np.zeros((3, 256), np.float32)}, 24, 32)
    assert [(f.kind, f.line) for f in done.faults] == [("out_of_bounds", line_of(SUM, "read"))]


def test_a_grid_that_clusters_do_not_fill_is_refused():
    done = run(SUM, {"out": np.zeros(3, np.float32), "x": np.zeros((3, 256), np.float32)}, 20, 32)
    assert [f.kind for f in done.faults] == ["launch"]


LOST = """
__global__ void __cluster_dims__(2, 1, 1) kernel(int* out) {
    __shared__ unsigned long long never;
    unsigned at = (unsigned)__cvta_generic_to_shared(&never);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
    __syncthreads();
    if (blockIdx.x == 1)
        asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }" :: "r"(at));
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    out[0] = 1;
}
"""


def test_a_block_that_never_arrives_is_a_deadlock():
    done = run(LOST, {"out": np.zeros(1, np.int32)}, 2, 32)
    assert [f.kind for f in done.faults] == ["barrier"]
    assert "deadlock" in done.faults[0].message


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("    cluster.sync();\n}", "}", "read", "may have left"),
        ("cluster.sync();  // all are there", "__syncwarp();", "read", "to begin"),
    ],
)
def test_the_memory_of_a_block_that_may_not_be_there(old, new, line, why):
    source = SUM.replace(old, new)
    done = run(source, {"out": np.zeros(3, np.float32), "x": np.zeros((3, 256), np.float32)}, 24, 32)
    races = [f for f in done.faults if f.kind == "race" and why in f.message]
    assert [f.line for f in races][:1] == [line_of(source, line)]


HEAD = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned long long at(void* p) { return __cvta_generic_to_shared(p); }
"""
ELSEWHERE = """
__global__ void __cluster_dims__(2, 1, 1) KERNEL(int* out, int* flag) {
    __shared__ unsigned long long own, told; __shared__ int mine;
    auto cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"((unsigned)at(&own)));
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"((unsigned)at(&told)));
        asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"((unsigned)at(&own)) : "memory");
        mine = rank + 5;
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
                 :: "r"((unsigned)at(&own)));
    BEGUN
    if (threadIdx.x == 0) {
        out[blockIdx.x] = *cluster.map_shared_rank(&mine, rank ^ 1);  // read
        TELL
    }
    STAY
}
"""
MESSAGE = """unsigned there, here = at(&told);
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank ^ 1));
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");"""
WAITS = (
    'asm volatile("{ .reg .pred p; M: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra M; }"'
    ' :: "r"((unsigned)at(&told)));'
)
FLAGS = """if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&flag[blockIdx.x], 1);
        while (atomicAdd(&flag[blockIdx.x ^ 1], 0) == 0) {}
    }
    __syncthreads();"""


SYNC = "cluster.sync();"
WAYS = {
    "both": (SYNC, "", SYNC),
    "a_message": (SYNC, MESSAGE, WAITS),
    "flags": (FLAGS, "", SYNC),
    "not_begun": ("", "", SYNC),
    "not_stayed": (SYNC, "", ""),
}


@cache
def images() -> dict[str, Image]:
    """One of each way, of one source: the headers are read once."""
    kernels = (
        ELSEWHERE.replace("KERNEL", name).replace("BEGUN", begun).replace("TELL", tell).replace("STAY", stay)
        for name, (begun, tell, stay) in WAYS.items()
    )
    program = Program("cuda", HEAD + "".join(kernels), "both")
    return dict(
        zip(WAYS, compile_kernels(program, [Unit(entry=name) for name in WAYS], "sm_90"), strict=True)
    )


def other_ways(name: str):
    done = launch(
        images()[name], {"out": np.zeros(4, np.int32), "flag": np.zeros(4, np.int32)}, 4, 32, arch="sm_90"
    )
    if not done.faults:
        assert done.arrays["out"].tolist() == [6, 5, 6, 5]
    return [f.message.split(": ")[1].split(" (")[0] for f in done.faults]


def test_blocks_that_wait_for_each_other_in_other_ways_are_there():
    assert other_ways("both") == []
    assert other_ways("a_message") == []
    assert other_ways("flags") == []


def test_a_wait_for_nobody_else_tells_nothing_of_other_blocks():
    assert other_ways("not_begun") == ["nothing has waited for that block to begin"]
    assert other_ways("not_stayed") == ["that block does not wait and may have left"]
