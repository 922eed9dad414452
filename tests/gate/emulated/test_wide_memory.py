"""Memory forms that compilers emit seldom: 128-bit values, vectors of eight, atomics of vectors and of 128 bits."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch


def kernel(asm: str, extra: str = "") -> str:
    return f"""
__global__ void kernel(unsigned* out, const unsigned* x) {{
    int i = threadIdx.x;
    {extra}
    {asm}
}}
"""


X = np.random.default_rng(2).integers(0, 2**32, 32 * 8, dtype=np.uint32)


def test_a_value_of_128_bits_is_moved_whole():
    text = kernel(
        'asm volatile("{ .reg .b128 q; .reg .b64 lo, hi; ld.global.b128 q, [%0]; mov.b128 {lo, hi}, q;'
        ' mov.b128 q, {hi, lo}; st.global.b128 [%1], q; }" :: "l"(x + 4 * i), "l"(out + 4 * i));'
    )
    done = launch(text, {"out": np.zeros(128, np.uint32), "x": X[:128]})
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"].reshape(-1, 4), X[:128].reshape(-1, 4)[:, [2, 3, 0, 1]])


def test_a_vector_of_eight():
    text = kernel(
        'asm volatile("{ .reg .b32 r<8>; ld.global.v8.b32 {r0,r1,r2,r3,r4,r5,r6,r7}, [%0];'
        ' st.global.v8.b32 [%1], {r7,r6,r5,r4,r3,r2,r1,r0}; }" :: "l"(x + 8 * i), "l"(out + 8 * i));'
    )
    done = launch(text, {"out": np.zeros(256, np.uint32), "x": X})
    np.testing.assert_array_equal(done.arrays["out"].reshape(-1, 8), X.reshape(-1, 8)[:, ::-1])


def test_a_vector_of_eight_must_be_aligned_to_its_32_bytes():
    text = kernel(
        'asm volatile("{ .reg .b32 r<8>; ld.global.v8.b32 {r0,r1,r2,r3,r4,r5,r6,r7}, [%0]; }" :: "l"(x + 4));'
    )
    fault = launch(text, {"out": X[:4].copy(), "x": X}).faults[0]
    assert (fault.kind, "multiple of 32" in fault.message) == ("misaligned", True)


@pytest.mark.parametrize("keeps", [False, True])
def test_each_element_of_a_vector_is_an_atomic_of_its_own(keeps):
    opcode = "atom.global.add.v4.f32 {a,b,c,d}," if keeps else "red.global.add.v4.f32"
    text = """
__global__ void kernel(float* total, float* before) {
    float x = threadIdx.x, a, b, c, d;
    asm volatile("{ .reg .f32 a, b, c, d; OPCODE [%4], {%5, %6, %7, %8}; mov.f32 %0, KEPT; mov.f32 %1, 0f00000000;"
                 " mov.f32 %2, 0f00000000; mov.f32 %3, 0f00000000; }"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(total), "f"(1.0f), "f"(x), "f"(2 * x), "f"(-x));
    before[threadIdx.x] = a + b + c + d;
}
""".replace("OPCODE", opcode).replace("KEPT", "a" if keeps else "0f00000000")
    done = launch(text, {"total": np.ones(4, np.float32), "before": np.zeros(32, np.float32)})
    assert done.faults == ()
    assert done.arrays["total"].tolist() == [33, 497, 993, -495]
    assert done.arrays["before"].tolist() == ([1 + t for t in range(32)] if keeps else [0] * 32)


def test_halves_are_added_in_pairs():
    text = """
__global__ void kernel(unsigned* total, const unsigned* x) {
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %1};" :: "l"(total), "r"(x[threadIdx.x]));
}
"""
    x = (np.arange(64, dtype=np.float16) / 4).view(np.uint32)
    done = launch(text, {"total": np.zeros(2, np.uint32), "x": x})
    wanted = [float(v) for v in (np.arange(64).reshape(-1, 2) / 4).sum(0)]
    assert done.arrays["total"].view(np.float16).tolist() == wanted * 2


def test_compare_and_swap_of_128_bits():
    text = """
__global__ void kernel(unsigned long long* cell, unsigned long long* seen) {
    unsigned long long t = threadIdx.x, lo, hi;
    asm volatile("{ .reg .b128 old, want, put; mov.b128 want, {%3, %3}; mov.b128 put, {%4, %4};"
                 " atom.global.cas.b128 old, [%2], want, put; mov.b128 {%0, %1}, old; }"
                 : "=l"(lo), "=l"(hi) : "l"(cell), "l"(t), "l"(t + 1));
    seen[threadIdx.x] = lo == hi ? lo : 999;
}
"""
    arguments = {"cell": np.zeros(2, np.uint64), "seen": np.zeros(32, np.uint64)}
    done = launch(text, arguments)
    assert done.faults == ()
    assert done.arrays["cell"].tolist() == [32, 32]
    assert done.arrays["seen"].tolist() == list(range(32))
