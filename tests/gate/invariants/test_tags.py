"""Tags follow data through registers, memory of every kind, shuffles and matrices, to what is asserted of them."""

import numpy as np
import pytest

from gate.emulated.cuda_source import line_of
from gate.invariants.asserting import floats, only, watch

TILED = """
__global__ void kernel(float *C, const float *A, const float *B, int M, int N, int K) {
  // klineage: tag A[i][k]
  // klineage: tag B[k][j]
  // klineage: tag C[i][j]
  __shared__ float As[8][8], Bs[8][8];
  int ty = threadIdx.y, tx = threadIdx.x, row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
  float sum = 0;
  for (int t = 0; t < K; t += 8) {
    As[ty][tx] = row < M && t + tx < K ? A[row * K + t + tx] : 0.0f;  // loads A
    Bs[ty][tx] = t + ty < K && col < N ? B[(t + ty) * N + col] : 0.0f;  // loads B
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
      sum += As[ty][k] * Bs[k][tx];  // klineage: assert same(tag(As[ty][k]).k, tag(Bs[k][tx]).k)
    }
    __syncthreads();
  }
  // klineage: assert tag(sum).i == row and tag(sum).j == col
  if (row < M && col < N) C[row * N + col] = sum;  // klineage: assert stored.i == at.i and stored.j == at.j
}
"""


def tiled(old: str = "", new: str = "", shape: tuple[int, int, int] = (9, 11, 13)):
    m, n, k = shape
    arguments = {"C": np.zeros((m, n), np.float32), "A": floats(m, k), "B": floats(k, n)}
    scalars = {"M": np.int32(m), "N": np.int32(n), "K": np.int32(k)}
    assert old in TILED
    return watch(TILED.replace(old, new), {**arguments, **scalars}, (2, 2), (8, 8))


def test_a_tiled_product_multiplies_data_of_one_k():
    factors, sums, stores = tiled().asserted
    assert [assertion.violated for assertion in (factors, sums, stores)] == [0, 0, 0]
    assert factors.compared == 9 * 11 * 13
    assert factors.untagged == 16 * 16 * 16 - factors.compared
    assert stores.compared == 9 * 11


def test_a_wrong_slice_of_k_is_named_with_both_data_and_who_loaded_them():
    factors, sums, stores = tiled("B[(t + ty) * N + col]", "B[(t + 7 - ty) % K * N + col]").asserted
    assert factors.violated > 0
    assert (sums.violated, stores.violated) == (0, 0)
    violation = factors.violation
    assert violation is not None
    assert violation.line == line_of(TILED, "klineage: assert same")
    assert (violation.block, violation.thread) == ((0, 0, 0), (0, 0, 0))
    loads = [line_of(TILED, "loads A"), line_of(TILED, "loads B")]
    assert [(other.what, other.line) for other in violation.related] == [
        ("A[0, 0] was loaded here", loads[0]),
        ("B[7, 0] was loaded here", loads[1]),
    ]
    assert f"tag(As[ty][k]).k is 0, from A[0, 0], which line {loads[0]} loaded" in violation.message
    assert f"tag(Bs[k][tx]).k is 7, from B[7, 0], which line {loads[1]} loaded" in violation.message


def test_a_sum_carries_what_all_its_terms_agree_on():
    _, sums, stores = tiled("A[row * K + t + tx]", "A[(row + t / 8) % M * K + t + tx]").asserted
    assert sums.violated and stores.violated
    assert "tag(sum).i is 0, from A[0, 0]" in sums.violation.message
    assert "tag(sum).i is 1, from A[1, " in sums.violation.message


TRANSPOSE = """
__global__ void kernel(float *out, const float *x, int R, int C) {
  // klineage: tag x[r][c]
  // klineage: tag out[c][r]
  __shared__ float tile[8][9];
  int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  c = blockIdx.x * 8 + threadIdx.y, r = blockIdx.y * 8 + threadIdx.x;
  if (r < R && c < C) {
    // klineage: assert tag(tile[threadIdx.x][threadIdx.y]).r == r
    out[c * R + r] = tile[threadIdx.x][threadIdx.y];  // klineage: assert stored.r == at.r and stored.c == at.c
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("", "", (0, 0)),
        (
            "out[c * R + r] = tile[threadIdx.x][threadIdx.y]",
            "out[c * R + r] = tile[threadIdx.y][threadIdx.x]",
            (0, 90),
        ),
    ],
    ids=["right", "not turned"],
)
def test_a_transpose_stores_the_element_of_the_swapped_place(old, new, violated):
    arguments = {
        "out": np.zeros((16, 8), np.float32),
        "x": floats(8, 16),
        "R": np.int32(8),
        "C": np.int32(16),
    }
    placed, stored = watch(TRANSPOSE.replace(old, new), arguments, (2, 1), (8, 8)).asserted
    assert placed.compared == stored.compared == 8 * 16
    assert placed.violated == violated[0]
    assert (stored.violated > 0) == (violated[1] > 0)
    if stored.violated:
        assert "at.r is 1, of out[0, 1]" in stored.violation.message


REDUCTION = """
__global__ void kernel(float *out, const float *x, int C) {
  // klineage: tag x[row][col]
  float sum = 0;
  for (int c = threadIdx.x; c < C; c += 32) sum += x[blockIdx.x * C + c];
  for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  // klineage: assert tag(sum).row == blockIdx.x and tag(sum).col < C
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
"""


def test_a_reduction_over_a_warp_stays_in_its_row():
    arguments = {"out": np.zeros(3, np.float32), "x": floats(3, 70), "C": np.int32(70)}
    assert only(watch(REDUCTION, arguments, 3)).violated == 0
    wrong = only(
        watch(
            REDUCTION.replace("c < C;", "c <= C;"), {**arguments, "C": np.int32(64)} | {"x": floats(4, 64)}, 3
        )
    )
    assert wrong.violated == 3 * 32
    assert "tag(sum).row is 1, from x[1, 0]" in wrong.violation.message


HALVES = """
#include <cuda_fp16.h>
__global__ void kernel(float *out, const half2 *x) {
  // klineage: tag x[e]
  int i = threadIdx.x;
  half2 v = x[i];
  float low = __low2float(v), high = __high2float(v);
  // klineage: assert tag(low).e == 2 * i and tag(high).e == 2 * i + 1
  half2 turned = __halves2half2(__high2half(v), __low2half(v));
  half2 sum = __hadd2(turned, __float2half2_rn(1.0f));
  // klineage: assert same(tag(__low2half(sum)).e, tag(high).e)
  unsigned bits = *(unsigned *)&v;
  unsigned again = bits >> 16 | bits << 16;
  // klineage: assert tag((unsigned short)(again & 0xffff)).e == 2 * i + 1
  unsigned mixed = __byte_perm(bits, again, 0x5410);
  // klineage: assert tag((unsigned short)mixed).e == 2 * i and tag((unsigned short)(mixed >> 16)).e == 2 * i + 1
  out[i] = low + high + __low2float(sum) + again + mixed;
}
"""


def test_halves_of_a_register_are_told_apart():
    assertions = watch(
        HALVES, {"out": np.zeros(32, np.float32), "x": np.arange(64, dtype=np.float16)}
    ).asserted
    assert [(a.compared, a.untagged, a.violated) for a in assertions] == [
        (64, 0, 0),
        (64, 0, 0),
        (32, 0, 0),
        (32, 0, 0),
    ]


MOVES = """
__global__ void kernel(float *out, const float4 *x, const int *chosen, float *kept) {
  // klineage: tag x[e]
  // klineage: tag chosen[c]
  int i = threadIdx.x;
  float4 v = x[i];
  // klineage: assert tag(v.z).e == 4 * i + 2
  float w = chosen[i] ? v.x : v.w;
  // klineage: assert tag(w).e == 4 * i + (chosen[i] ? 0 : 3)
  float far[6];
  for (int k = 0; k < 6; ++k) far[(k + i) % 6] = k < 4 ? ((const float *)x)[4 * i + k] : 0.0f;
  // klineage: assert tag(far[(2 + i) % 6]).e == 4 * i + 2
  kept[i] = v.y;
  __syncthreads();
  float back = kept[i ^ 1];
  // klineage: assert tag(back).e == 4 * (i ^ 1) + 1
  __shared__ float most;
  if (i == 0) most = 0;
  __syncthreads();
  atomicAdd(&most, v.x);
  __syncthreads();
  // klineage: assert tag(most).e <= 4 * 31 and tag(most).e >= 0
  if (i > 4) {
    v.x = 3.0f;
    // klineage: assert tag(v.x).e == 0
  }
  out[i] = v.x + w + far[i % 6] + back + most;
}
"""


def test_tags_follow_vectors_selections_local_and_global_memory_and_atomics():
    arguments = {
        "out": np.zeros(32, np.float32),
        "x": floats(32, 4).reshape(-1),
        "chosen": (np.arange(32) % 3 == 0).astype(np.int32),
        "kept": np.zeros(32, np.float32),
    }
    *followed, constant = watch(MOVES, arguments).asserted
    assert [(a.compared, a.untagged, a.violated) for a in followed] == [(32, 0, 0)] * 5
    assert (constant.compared, constant.untagged) == (0, 27)


LDMATRIX = """
#include <cuda_fp16.h>
__global__ void kernel(float *out, const half *A, const half *B) {
  // klineage: tag A[i][k]
  // klineage: tag B[k][j]
  __shared__ __align__(16) half As[16 * 16], Bs[16 * 8];
  int lane = threadIdx.x;
  for (int e = 0; e < 8; ++e) As[lane * 8 + e] = A[lane * 8 + e];
  unsigned to = (unsigned)__cvta_generic_to_shared(Bs + lane % 16 * 8);
  if (lane < 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(B + lane * 8));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  unsigned a[4], b[2];
  unsigned from = (unsigned)__cvta_generic_to_shared(As + lane % 16 * 16 + lane / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(to));
  // klineage: assert same(tag(a[0]).k, tag(b[0]).k) and same(tag(a[2]).k, tag(b[1]).k)
  float d[4] = {0, 0, 0, 0};
  // klineage: assert product(k)
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  // klineage: assert tag(d[0]).i == lane / 4 and tag(d[1]).j == lane % 4 * 2 + 1 and tag(d[2]).i == lane / 4 + 8
  for (int e = 0; e < 4; ++e) out[lane * 4 + e] = d[e];
}
"""


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("", "", [False, False, False]),
        ('"r"(b[0]), "r"(b[1]))', '"r"(b[1]), "r"(b[0]))', [False, True, False]),
        (
            "lane % 16 * 16 + lane / 16 * 8",
            "lane / 16 * 128 + lane % 16 / 8 * 8 + lane % 8 * 16",
            [True, True, True],
        ),
    ],
    ids=["right", "k swapped in b", "a's quarters swapped"],
)
def test_a_product_of_matrices_meets_one_k(old, new, violated):
    assert old in LDMATRIX
    arguments = {
        "out": np.zeros(128, np.float32),
        "A": np.arange(256, dtype=np.float16).reshape(16, 16),
        "B": np.arange(128, dtype=np.float16).reshape(16, 8),
    }
    assertions = watch(LDMATRIX.replace(old, new), arguments).asserted
    assert all(a.reached and not a.untagged for a in assertions)
    assert [a.violated > 0 for a in assertions] == violated


WMMA = """
#include <mma.h>
using namespace nvcuda;
__global__ void kernel(float *out, const half *A, const half *B) {
  // klineage: tag A[i][k]
  // klineage: tag B[k][j]
  // klineage: tag out[i][j]
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < 32; k += 16) {
    wmma::load_matrix_sync(a, A + k, 32);
    wmma::load_matrix_sync(b, B + k * 16, 16);
    wmma::mma_sync(sum, a, b, sum);  // klineage: assert product(k)
  }
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);  // klineage: assert stored.i == at.i and stored.j == at.j
}
"""


@pytest.mark.parametrize(
    ("old", "new", "violated"), [("", "", False), ("B + k * 16", "B + (k ^ 16) * 16", True)]
)
def test_fragments_of_wmma_are_followed(old, new, violated):
    arguments = {
        "out": np.zeros((16, 16), np.float32),
        "A": np.zeros((16, 32), np.float16),
        "B": np.zeros((32, 16), np.float16),
    }
    products, stores = watch(WMMA.replace(old, new), arguments).asserted
    assert products.compared and (products.violated > 0) == violated
    assert (stores.compared, stores.violated) == (256, 0)


REUSED = """
__global__ void kernel(float *out, const float *x) {
  // klineage: tag x[e]
  __shared__ float tile[32];
  int i = threadIdx.x;
  for (int round = 0; round < 2; ++round) {
    int e = round * 32 + i;
    if (e < 40) tile[i ^ 1] = x[e]; else tile[i ^ 1] = 0.0f;
    __syncthreads();
    float v = tile[i];
    // klineage: assert tag(v).e >= round * 32 and tag(v).e < (round + 1) * 32
    out[e] = v;
    __syncthreads();
  }
}
"""


def test_what_is_written_over_has_lost_its_tags():
    assertion = only(watch(REUSED, {"out": np.zeros(64, np.float32), "x": floats(40)}))
    assert (assertion.compared, assertion.untagged, assertion.violated) == (40, 24, 0)


def test_a_launch_of_a_kernel_that_states_nothing_says_nothing():
    arguments = {"C": np.zeros((8, 8), np.float32), "A": floats(8, 8), "B": floats(8, 8)}
    result = watch(TILED.replace("klineage", "kl"), arguments | {n: np.int32(8) for n in "MNK"}, 1, (8, 8))
    assert result.asserted == ()


UNTAGGED = """
__global__ void kernel(unsigned *out, const unsigned *x) {
  // klineage: tag x[e]
  out[threadIdx.x] = x[threadIdx.x];  // klineage: assert stored.e == at.e
}
"""


def test_a_store_to_a_buffer_without_a_tag_is_untagged():
    assertion = only(
        watch(UNTAGGED, {"out": np.zeros(128, np.uint32), "x": np.zeros(128, np.uint32)}, 1, 128)
    )
    assert (assertion.compared, assertion.untagged, assertion.violated) == (0, 128, 0)


LOST = """
__global__ void kernel(float *out, const float *x) {
  // klineage: tag x[e]
  __shared__ __align__(16) float tile[4];
  __shared__ unsigned long long barrier;
  unsigned at = (unsigned)__cvta_generic_to_shared(tile), b = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" :: "r"(b));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"  // bulk
                 :: "r"(at), "l"(x), "r"(b) : "memory");
  }
  __syncthreads();
  asm volatile("{.reg .pred p; w: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra w;}" :: "r"(b)
               : "memory");
  float v = tile[threadIdx.x % 4];
  // klineage: assert tag(v).e == threadIdx.x % 4
  out[threadIdx.x] = v;
}
"""


def test_what_a_bulk_copy_brings_has_no_tags_and_that_is_said():
    result = watch(LOST, {"out": np.zeros(32, np.float32), "x": floats(4)}, arch="sm_90")
    assert (only(result).compared, only(result).untagged) == (0, 32)
    (place,) = result.tags_lost
    assert place.what == "cp.async.bulk"
