"""Counts of transactions are exact: they follow from the addresses alone."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from kernel_gate.emulated.launch import Checks

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
