"""Whole kernels from the compiler, against NumPy in float64."""

import numpy as np
import pytest

from gate.emulated.cuda_source import image, launch, line_of
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.emulated.wave import Wave

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


VECTOR_ADD = """
__global__ void kernel(float* out, const float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
"""


@pytest.mark.parametrize("n", [1, 31, 256, 1000, 70_000])
def test_adds_vectors_of_any_length_exactly(n):
    a, b = floats(n), floats(n)
    done = launch(
        VECTOR_ADD,
        {"out": np.full(n, np.nan, np.float32), "a": a, "b": b, "n": np.int32(n)},
        -(-n // 256),
        256,
    )
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"], a + b)


LAYERNORM = """
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}
__device__ float block_sum(float v) {
    __shared__ float partial[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    v = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
    v = warp_sum(v);
    __syncthreads();
    return v;
}
__global__ void kernel(float* out, const float* x, const float* weight, const float* bias, int n) {
    const float* row = x + (size_t)blockIdx.x * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
    float mean = block_sum(sum) / n;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
    float scale = rsqrtf(block_sum(squares) / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[(size_t)blockIdx.x * n + i] = (row[i] - mean) * scale * weight[i] + bias[i];
}
"""


@pytest.mark.parametrize("columns", [1, 100, 768])
def test_layernorm_with_shuffles_and_shared_memory(columns):
    x, weight, bias = floats(9, columns), floats(columns), floats(columns)
    done = launch(
        LAYERNORM,
        {"out": np.full_like(x, np.nan), "x": x, "weight": weight, "bias": bias, "n": np.int32(columns)},
        9,
        128,
    )
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * weight + bias
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], expected, rtol=2e-5, atol=2e-5)


PARTIAL_WARP = """
__global__ void kernel(float* out, const float* x) {
    int live = blockDim.x, lane = threadIdx.x;
    unsigned mask = (1u << live) - 1u;
    float s = x[lane];
    for (int o = 16; o > 0; o /= 2) {
        float other = __shfl_down_sync(mask, s, o);
        if (KEPT) s += other;
    }
    if (lane == 0) out[0] = s;
}
"""


@pytest.mark.parametrize(("kept", "is_right"), [("lane + o < live", True), ("lane + o < 32", False)])
def test_what_a_shuffle_reads_of_lanes_that_are_not_in_its_mask_may_be_thrown_away(kept: str, is_right: bool):
    x = floats(20)
    arrays = {"out": np.zeros(1, np.float32), "x": x}
    done = launch(PARTIAL_WARP.replace("KEPT", kept), arrays, 1, 20)
    assert done.faults == ()
    assert bool(np.isclose(done.arrays["out"][0], x.sum(), rtol=1e-5)) == is_right


MATMUL = """
#define T 16
__global__ void kernel(float* c, const float* a, const float* b, int m, int n, int k) {
    __shared__ float ta[T][T], tb[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        ta[threadIdx.y][threadIdx.x] = row < m && p + threadIdx.x < k ? a[row * k + p + threadIdx.x] : 0.0f;
        tb[threadIdx.y][threadIdx.x] = p + threadIdx.y < k && col < n ? b[(p + threadIdx.y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
"""


@pytest.mark.parametrize("shape", [(16, 16, 16), (33, 17, 50), (1, 64, 7)])
def test_tiled_matmul_on_shapes_that_do_not_divide(shape):
    m, n, k = shape
    a, b = floats(m, k), floats(k, n)
    done = launch(
        MATMUL,
        {
            "c": np.full((m, n), np.nan, np.float32),
            "a": a,
            "b": b,
            "m": np.int32(m),
            "n": np.int32(n),
            "k": np.int32(k),
        },
        (-(-n // 16), -(-m // 16)),
        (16, 16),
    )
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["c"], a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


LAST_BLOCK = """
__device__ unsigned int arrived = 0;
__global__ void kernel(float* total, float* partial, const float* x, int n) {
    __shared__ bool last;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float all = 0.0f;
        for (int b = 0; b < gridDim.x; b++) all += partial[b];
        *total = all;
    }
}
"""


def test_the_last_block_reads_what_the_others_released():
    x = floats(5000)
    done = launch(
        LAST_BLOCK,
        {"total": np.zeros(1, np.float32), "partial": np.zeros(20, np.float32), "x": x, "n": np.int32(5000)},
        20,
        32,
    )
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["total"][0], x.astype(np.float64).sum(), rtol=1e-4)


HALVES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void kernel(__half* h, __nv_bfloat16* b, const float* x) {
    int i = threadIdx.x;
    __half2 pair = __floats2half2_rn(x[i], x[i] + 1.0f);
    pair = __hfma2(pair, pair, pair);
    h[i] = __hadd(__low2half(pair), __high2half(pair));
    __nv_bfloat16 v = __float2bfloat16(x[i]);
    b[i] = __hmul(v, __hmax(v, __float2bfloat16(0.5f)));
}
"""


def bf16(values: np.ndarray) -> np.ndarray:
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def test_halves_round_after_every_operation():
    x = floats(64)
    done = launch(HALVES, {"h": np.zeros(64, np.float16), "b": np.zeros(64, np.uint16), "x": x}, 1, 64)
    low, high = x.astype(np.float16), (x + np.float32(1)).astype(np.float16)
    squared = [(v.astype(np.float64) ** 2 + v).astype(np.float16) for v in (low, high)]
    np.testing.assert_array_equal(done.arrays["h"], squared[0] + squared[1])
    v = bf16(x)
    product = bf16(v * np.maximum(v, 0.5))
    np.testing.assert_array_equal(done.arrays["b"], (product.view(np.uint32) >> 16).astype(np.uint16))
    assert done.faults == ()


CALLS = """
struct Pair { float a; double b; };
__constant__ float table[4] = {1.0f, 2.0f, 4.0f, 8.0f};
__noinline__ __device__ Pair twice(Pair p) { p.a *= 2.0f; p.b += p.a; return p; }
__noinline__ __device__ float powered(float x, int n) { float y = 1.0f; for (int i = 0; i < n; i++) y *= x; return y; }
__global__ void kernel(float* out, Pair p, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Pair q = twice(p);
    float stack[8];
    for (int k = 0; k < 8; k++) stack[(k * 3 + i) % 8] = k * q.a;
    out[i] = powered(table[i % 4], i % 3) + (float)q.b + stack[i % 8];
}
"""


def test_calls_structs_constants_and_local_arrays():
    layout = np.dtype({"names": ["a", "b"], "formats": ["f4", "f8"], "offsets": [0, 8], "itemsize": 16})
    pair = np.array((1.5, 0.25), layout)[()]
    done = launch(CALLS, {"out": np.full(40, np.nan, np.float32), "p": pair, "n": np.int32(33)}, 1, 40)
    i = np.arange(33)
    stack = np.zeros((33, 8))
    for t in range(33):
        for step in range(8):
            stack[t, (step * 3 + t) % 8] = step * 3.0
    expected = (2.0 ** (i % 4)) ** (i % 3) + 3.25 + stack[i, i % 8]
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"][:33], expected.astype(np.float32))
    assert np.isnan(done.arrays["out"][33:]).all()


def test_the_order_of_blocks_and_the_size_of_waves_change_nothing_for_a_sound_kernel():
    x, weight, bias = floats(40, 96), floats(96), floats(96)
    arguments = {"out": np.zeros_like(x), "x": x, "weight": weight, "bias": bias, "n": np.int32(96)}
    reference = launch(LAYERNORM, arguments, 40, 64).arrays["out"]
    for checks, limits in ((Checks(order_seed=3), Limits()), (Checks(), Limits(wave_threads=64))):
        again = launch(image(LAYERNORM), arguments, 40, 64, checks=checks, limits=limits)
        np.testing.assert_array_equal(again.arrays["out"], reference)


PIPELINE = """
#include <cuda_pipeline.h>
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[2][64];
    __pipeline_memcpy_async(&tile[0][threadIdx.x], &x[threadIdx.x], 4);
    __pipeline_commit();
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        if (k + 1 < n) __pipeline_memcpy_async(&tile[(k + 1) % 2][threadIdx.x], &x[(k + 1) * 64 + threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(WAIT);
        __syncthreads();
        sum += tile[k % 2][63 - threadIdx.x]; // read
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
"""


def test_asynchronous_copies_in_two_stages():
    x = floats(5, 64)
    arguments = {"out": np.zeros(64, np.float32), "x": x, "n": np.int32(5)}
    done = launch(PIPELINE.replace("WAIT", "1"), arguments, 1, 64)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], x.astype(np.float64).sum(0)[::-1], rtol=1e-5, atol=1e-6)


def test_reading_a_tile_before_its_copy_was_waited_for_is_found():
    source = PIPELINE.replace("WAIT", "2")
    arguments = {"out": np.zeros(64, np.float32), "x": floats(5, 64), "n": np.int32(5)}
    faults = launch(source, arguments, 1, 64).faults
    assert {(f.kind, f.line) for f in faults} >= {("race", line_of(source, "read"))}


def test_a_copy_fills_what_its_source_lacks_with_zeros():
    source = """
#include <cuda_pipeline.h>
__global__ void kernel(float4* out, const float4* x) {
    __shared__ float4 tile[32];
    __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], 16, threadIdx.x % 2 ? 12 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
    x = floats(32, 4)
    done = launch(source, {"out": np.full((32, 4), np.nan, np.float32), "x": x})
    expected = x.copy()
    expected[1::2, 1:] = 0
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"], expected)


@pytest.mark.parametrize("length", [4, 12, 16])
def test_a_copy_needs_the_alignment_of_its_row_whatever_it_reads_of_it(length):
    source = f"""
#include <cuda_pipeline.h>
__global__ void kernel(float* out, const float* x) {{
    __shared__ alignas(16) float tile[4];
    __pipeline_memcpy_async(tile, x + 1, 16, 16 - {length});  // copied
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[0] = tile[0];
}}
"""
    (fault,) = launch(source, {"out": np.zeros(1, np.float32), "x": floats(8)}, 1, 1).faults
    assert fault.kind == "misaligned" and "4 bytes past a multiple of 16" in fault.message


MANY_VARIABLES = (
    "\n".join(f"__device__ int unread{n} = {n};" for n in range(2100))
    + """
__device__ int one[2] = {5, 6};
__device__ int* through = one;
__global__ void kernel(int* out) { out[threadIdx.x] = through[threadIdx.x]; }
"""
)


def test_variables_that_no_code_reaches_take_no_buffer():
    done = launch(MANY_VARIABLES, {"out": np.zeros(2, np.int32)}, 1, 2)
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"], [5, 6])


@pytest.mark.parametrize(("kind", "values"), [("float", 8), ("double", 8), ("short", 8)])
def test_elements_of_a_variable_are_counted_by_their_type(kind, values):
    source = f"""
__device__ {kind} part[{values}];
__global__ void kernel(float* out) {{
    if (blockIdx.x == FROM) part[3 + threadIdx.x] = 1;
    if (blockIdx.x == 1) out[0] = part[3 + AT];
}}
"""
    race = launch(source.replace("FROM", "0").replace("AT", "1"), {"out": np.zeros(1, np.float32)}, 2, 2)
    assert [(f.kind, f.buffer, f.element) for f in race.faults] == [("race", "part", 4)]
    beyond = launch(source.replace("FROM", "9").replace("AT", "5"), {"out": np.zeros(1, np.float32)}, 2, 2)
    assert [(f.kind, f.buffer, f.element) for f in beyond.faults] == [("out_of_bounds", "part", values)]
    assert f"part[{values}] of {values} elements" in beyond.faults[0].message


def test_votes_and_matches_count_the_lanes_of_their_own_mask():
    source = """
__global__ void kernel(unsigned* out, const int* x) {
    int t = threadIdx.x;
    unsigned half = t % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    out[t] = __ballot_sync(half, x[t] & 1);
    out[64 + t] = __all_sync(half, x[t] < 16);
    out[128 + t] = __match_any_sync(half, x[t] % 3);
}
"""
    x = np.tile(np.arange(32), 2).astype(np.int32)
    done = launch(source, {"out": np.zeros(192, np.uint32), "x": x}, 1, 64)
    assert done.faults == ()
    out = done.arrays["out"].reshape(3, 64)
    for t in range(64):
        same = [k for k in range(32) if (k < 16) == (t % 32 < 16)]
        assert out[0, t] == sum(1 << k for k in same if k & 1)
        assert out[1, t] == (t % 32 < 16)
        assert out[2, t] == sum(1 << k for k in same if k % 3 == t % 32 % 3)


@pytest.mark.parametrize(("rounds", "most_moved"), [("n", 70 * 70), ("i + 1", 70 * 70 * 8)])
def test_registers_are_moved_where_threads_part_for_the_few_that_have_not_ended(
    monkeypatch, rounds, most_moved
):
    """70 of 4096 threads run a loop: of one length for all, whose rounds move nothing, or of 70 lengths."""
    source = f"""
__global__ void kernel(int* out, const int* in, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int k = 0; k < {rounds}; k++) sum = sum * 3 + (in[k] ^ sum ^ i);
    if (i % 3 == 1) sum = -sum - in[i];
    out[i] = sum;
}}
"""
    moved: list[int] = []
    scatter = Wave._scatter

    def looked_at(wave, register, threads, value):
        moved.append(len(threads))
        scatter(wave, register, threads, value)

    monkeypatch.setattr(Wave, "_scatter", looked_at)
    values = np.arange(70, dtype=np.int32) * 7 % 11
    done = launch(source, {"out": np.zeros(70, np.int32), "in": values, "n": np.int32(70)}, grid=64, block=64)
    expected = []
    for i in range(70):
        total = np.int32(0)
        with np.errstate(over="ignore"):
            for k in range(70 if rounds == "n" else i + 1):
                total = total * np.int32(3) + (values[k] ^ total ^ np.int32(i))
            expected.append(-total - values[i] if i % 3 == 1 else total)
    assert done.faults == ()
    assert done.arrays["out"].tolist() == [int(e) for e in expected]
    assert max(moved) <= 70
    assert sum(moved) < most_moved
