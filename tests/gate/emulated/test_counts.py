"""Counts of transactions are exact: they follow from the addresses alone."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.devices.launch_counts import LaunchCounts, Tally
from kernel_gate.emulated.instruction_classes import instruction_class
from kernel_gate.emulated.launch import Checks, Limits

TRANSPOSE = """
__global__ void kernel(float* out, const float* x, int n) {
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    out[col * n + row] = x[row * n + col];
}
"""
TILED = """
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[32][PITCH];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8) tile[k][threadIdx.x] = x[(row + k) * n + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32;
    for (int k = threadIdx.y; k < 32; k += 8) out[(row + k) * n + col] = tile[threadIdx.x][k];
}
"""


def counted(source: str, grid: tuple[int, int]) -> dict:
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    arguments = {"out": np.zeros_like(x), "x": x, "n": np.int32(64)}
    done = launch(source, arguments, grid, (32, 8), checks=Checks(counts=True))
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"], x.T)
    return done.result.counts


def per_request(counts: dict, space: str, unit: str, op: str) -> float:
    rows = [row for row in counts[space]["lines"] if row["op"] == op]
    return sum(row[unit] for row in rows) / sum(row["requests"] for row in rows)


def test_a_naive_transpose_stores_32_sectors_a_request_and_loads_4():
    counts = counted(TRANSPOSE, (2, 8))
    assert per_request(counts, "global", "sectors", "st") == 32
    assert per_request(counts, "global", "sectors", "ld") == 4
    assert counts["global"]["requests"] == 2 * 64 * 64 // 32


@pytest.mark.parametrize(("pitch", "wavefronts"), [(32, 32), (33, 1)])
def test_padding_a_tile_takes_its_bank_conflicts_away(pitch, wavefronts):
    counts = counted(TILED.replace("PITCH", str(pitch)), (2, 2))
    assert per_request(counts, "global", "sectors", "st") == 4
    assert per_request(counts, "shared", "wavefronts", "ld") == wavefronts
    assert per_request(counts, "shared", "wavefronts", "st") == 1


def test_vector_access_takes_a_quarter_of_the_requests():
    source = """
__global__ void kernel(TYPE* out, const TYPE* x) { out[threadIdx.x] = x[threadIdx.x]; }
"""
    x = np.arange(512, dtype=np.float32)
    scalar = launch(
        source.replace("TYPE", "float"), {"out": x * 0, "x": x}, 1, 512, checks=Checks(counts=True)
    )
    vector = launch(
        source.replace("TYPE", "float4"), {"out": x * 0, "x": x}, 1, 128, checks=Checks(counts=True)
    )
    for done, requests in ((scalar, 32), (vector, 8)):
        assert done.result.counts["global"]["requests"] == requests
        assert done.result.counts["global"]["sectors"] == 2 * 2048 // 32


def test_thread_instructions_count_every_active_thread():
    source = "__global__ void kernel(float* out) { }"
    assert (
        launch(source, {"out": np.zeros(1, np.float32)}, 3, 64).result.counts["thread_instructions"] == 3 * 64
    )


def counts_of(source: str, arguments: dict, grid: int = 1, block: int = 64, **more) -> LaunchCounts:
    done = launch(source, arguments, grid, block, checks=Checks(counts=True), **more)
    assert done.faults == ()
    return done.result.counted


X = np.arange(4096, dtype=np.float32)


@pytest.mark.parametrize(
    ("index", "sectors"),
    [("i", 4), ("2 * i", 8), ("8 * i", 32), ("0", 1), ("i / 8", 1), ("i + 1", 5), ("31 - i % 32", 4)],
)
def test_sectors_of_a_request_follow_from_its_stride(index, sectors):
    source = f"""
__global__ void kernel(float* out, const float* x) {{
    int i = threadIdx.x;
    float v = x[{index}]; // load
    out[i] = v; // store
}}
"""
    counts = counts_of(source, {"out": X[:32] * 0, "x": X}, block=32)
    load, store = (counts.lines[line_of(source, at)] for at in ("load", "store"))
    assert (load.global_requests, load.global_sectors, load.global_read_bytes) == (1, sectors, 128)
    assert (store.global_sectors, store.global_written_bytes, store.global_read_bytes) == (4, 128, 0)


def test_atomics_count_as_atomics_that_read_and_write():
    source = "__global__ void kernel(int* sum) { atomicAdd(sum + threadIdx.x % 2, (int)threadIdx.x); }"
    total = counts_of(source, {"sum": np.zeros(2, np.int32)}).total
    assert total.atomics == 2
    assert (total.global_read_bytes, total.global_written_bytes) == (256, 256)


@pytest.mark.parametrize(("limit", "divergent"), [(64, 0), (32, 0), (40, 1), (0, 0)])
def test_a_branch_diverges_where_a_warp_splits(limit, divergent):
    source = """
__global__ void kernel(float* out, int limit) {
    if (threadIdx.x < limit) { // split
        out[threadIdx.x] = 1.0f; // inside
        __threadfence();
    }
}
"""
    counts = counts_of(source, {"out": X[:64] * 0, "limit": np.int32(limit)})
    split = counts.lines[line_of(source, "split")]
    assert (split.branches, split.divergent_branches) == (2, divergent)
    inside = counts.lines.get(line_of(source, "inside"), Tally())
    assert inside.global_written_bytes == 4 * limit
    assert inside.active_share == {64: 1.0, 32: 1.0, 40: 40 / 64, 0: None}[limit]


def test_every_barrier_of_a_warp_is_counted():
    source = """
__global__ void kernel(float* out) {
    for (int k = 0; k < 5; k++) { __syncthreads(); out[blockIdx.x * 64 + threadIdx.x] += k; }
}
"""
    assert counts_of(source, {"out": X[:192] * 0}, grid=3).total.barriers == 3 * 2 * 5


def test_lines_add_up_to_the_total_and_waves_to_the_grid():
    x = np.arange(64 * 64, dtype=np.float32)
    arguments = {"out": x * 0, "x": x, "n": np.int32(64)}
    source = TILED.replace("PITCH", "32")
    waves = [
        launch(
            source, arguments, (2, 2), (32, 8), checks=Checks(counts=True), limits=Limits(wave_threads=size)
        )
        for size in (256, 1 << 15)
    ]
    apart, together = (done.result.counted for done in waves)
    assert apart == together
    assert sum(together.lines.values(), Tally()) == together.total
    assert together.total.thread_instructions == waves[0].result.counts["thread_instructions"]
    assert together.total.shared_conflicts == 31 * 64 * 64 // 32
    assert (together + together).total.instructions == 2 * together.total.instructions
    assert together.shifted(10).lines.keys() == {line + 10 for line in together.lines}
    document = together.document()
    assert document["total"]["wavefronts_per_request"] == (32 + 1) / 2
    assert [row["line"] for row in document["lines"]] == sorted(together.lines)


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("add.s32", "integer"), ("setp.lt.f32", "fp32"), ("fma.rn.f16x2", "fp16"), ("add.rn.bf16", "fp16"),
        ("mul.f64", "fp64"), ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "tensor"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", "load_store"), ("ld.global.nc.v4.f32", "load_store"),
        ("bar.sync", "barrier"), ("bar.warp.sync", "warp"), ("red.global.add.f32", "atomic"), ("bra.uni", "control"),
        ("ex2.approx.ftz.f32", "special"), ("shfl.sync.bfly.b32", "warp"), ("cvt.rn.f16.f32", "conversion"),
        ("selp.b32", "integer"),
    ],
)  # fmt: skip
def test_the_class_of_an_instruction_is_the_unit_that_it_asks_for(opcode, expected):
    assert instruction_class(opcode) == expected
