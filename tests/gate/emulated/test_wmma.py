"""`nvcuda::wmma`, as NVRTC compiles it, against NumPy."""

import numpy as np
import pytest

from gate.emulated.cuda_source import image, launch, line_of
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.program import Program

RNG = np.random.default_rng(8)

SOURCE = """
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
using A_LAYOUT = wmma::{la}; using B_LAYOUT = wmma::{lb};
__global__ void kernel(const {t}* a, const {t}* b, const {acc}* c, {acc}* d) {{
    wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {frag}, A_LAYOUT> fa;
    wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {frag}, B_LAYOUT> fb;
    wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {acc}> fc;
    wmma::load_matrix_sync(fc, c, {n}, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, a, {lda});
    wmma::load_matrix_sync(fb, b, {ldb});
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] * ({acc})2;
    wmma::store_matrix_sync(d, fc, {n}, wmma::mem_row_major);
}}
"""

TYPES = {
    "half": (np.float16, "half"),
    "__nv_bfloat16": (np.uint16, "__nv_bfloat16"),
    "float": (np.float32, "wmma::precision::tf32"),
    "double": (np.float64, "double"),
    "signed char": (np.int8, "signed char"),
    "unsigned char": (np.uint8, "unsigned char"),
}
RESULT = {"float": np.float32, "half": np.float16, "int": np.int32, "double": np.float64}
CASES = [
    *((s, "half", c) for s in ((16, 16, 16), (8, 32, 16), (32, 8, 16)) for c in ("float", "half")),
    *((s, "__nv_bfloat16", "float") for s in ((16, 16, 16), (8, 32, 16), (32, 8, 16))),
    *((s, t, "int") for s in ((16, 16, 16), (8, 32, 16), (32, 8, 16)) for t in ("signed char", "unsigned char")),
    ((16, 16, 8), "float", "float"),
    ((8, 8, 4), "double", "double"),
]  # fmt: skip


@pytest.mark.parametrize("layouts", [("row_major", "col_major"), ("col_major", "row_major")])
@pytest.mark.parametrize(("extent", "kind", "acc"), CASES)
def test_a_product_of_fragments(extent, kind, acc, layouts):
    m, n, k = extent
    by_rows_a, by_rows_b = (layout == "row_major" for layout in layouts)
    lda, ldb = (k if by_rows_a else m) + 16, (n if by_rows_b else k) + 16
    source = SOURCE.format(
        t=kind, frag=TYPES[kind][1], acc=acc, m=m, n=n, k=k, lda=lda, ldb=ldb, la=layouts[0], lb=layouts[1]
    )
    low = 0 if kind == "unsigned char" else -8
    x, y, z = (RNG.integers(low, 8, s).astype(np.float64) for s in ((m, k), (k, n), (m, n)))

    def memory(values: np.ndarray, by_rows: bool, stride: int) -> np.ndarray:
        lines = values if by_rows else values.T
        padded = np.zeros((len(lines), stride))
        padded[:, : lines.shape[1]] = lines
        if kind == "__nv_bfloat16":
            return (padded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return padded.astype(TYPES[kind][0])

    arguments = {
        "a": memory(x, by_rows_a, lda), "b": memory(y, by_rows_b, ldb),
        "c": z.astype(RESULT[acc]), "d": np.zeros((m, n), RESULT[acc]),
    }  # fmt: skip
    done = launch(compile_nvrtc(Program("cuda", source, "kernel")), arguments, 1, 32)
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["d"], (2 * (x @ y + z)).astype(RESULT[acc]))


TILED = """
#include <mma.h>
using namespace nvcuda;
__global__ void kernel(const half* a, const half* b, float* c, int n) {
    __shared__ half s[32][24], t[16][40];
    int warp = threadIdx.x / 32, row = 32 * blockIdx.y, column = 32 * blockIdx.x;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            s[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];  // write
            t[i / 32][i % 32] = b[(k + i / 32) * n + column + i % 32];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
        wmma::load_matrix_sync(x, &s[warp / 2 * 16][0], 24);  // read
        wmma::load_matrix_sync(y, &t[0][warp % 2 * 16], 40);
        wmma::mma_sync(sum, x, y, sum);
        __syncthreads();  // last
    }
    wmma::store_matrix_sync(c + (row + warp / 2 * 16) * n + column + warp % 2 * 16, sum, n, wmma::mem_row_major);
}
"""


def _multiply(source: str):
    n = 64
    a, b = (RNG.normal(size=(n, n)).astype(np.float16) for _ in range(2))
    arguments = {"a": a, "b": b, "c": np.zeros((n, n), np.float32), "n": np.int32(n)}
    return launch(image(source), arguments, (2, 2), 128), a.astype(np.float64) @ b.astype(np.float64)


def test_a_tiled_product():
    done, expected = _multiply(TILED)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["c"], expected, rtol=1e-5, atol=1e-4)


def test_a_dropped_barrier_is_a_race_at_its_lines():
    done, _ = _multiply(TILED.replace("__syncthreads();  // last", ""))
    lines = {f.line for f in done.faults if f.kind == "race"}
    assert line_of(TILED, "write") in lines or line_of(TILED, "read") in lines


def test_a_column_too_far_is_out_of_bounds():
    done, _ = _multiply(TILED.replace("s[32][24]", "s[31][24]"))
    assert [f.kind for f in done.faults] == ["out_of_bounds"]
    assert done.faults[0].line == line_of(TILED, "write")


def test_rows_that_nobody_wrote_are_uninitialised():
    done, _ = _multiply(TILED.replace("i < 512", "i < 256"))
    assert {f.kind for f in done.faults} == {"uninitialised"}
    assert line_of(TILED, "read") in {f.line for f in done.faults}


def test_a_matrix_starts_at_a_multiple_of_sixteen_bytes():
    source = SOURCE.format(
        t="half", frag="half", acc="float", m=16, n=16, k=16, lda=16, ldb=16, la="row_major", lb="row_major"
    )
    matrix = np.ones(256 + 8, np.float16)
    for past, faults in ((0, 0), (8, 0), (2, 1), (4, 1)):
        moved = source.replace("(fa, a,", f"(fa, a + {past},")
        arguments = {"a": matrix, "b": matrix, "c": np.zeros(256, np.float32), "d": np.zeros(256, np.float32)}
        done = launch(moved, arguments, 1, 32)
        assert len(done.faults) == faults, (past, done.faults)
        assert all(f.kind == "misaligned" and "wmma" in f.message for f in done.faults)
    moved = source.replace("(fa, a,", "(fa, a + 1,")
    (fault,) = launch(moved, arguments, 1, 32).faults
    assert (fault.buffer, "2 bytes past a multiple of 16" in fault.message) == ("a", True)
