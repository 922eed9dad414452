"""Integer overflow in addresses: found where it wrapped, with its operands; silent where no address is made of it."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of

X = np.arange(256, dtype=np.float32)


def faults(index: str, declared: str = "int", line: str = "", n: int = 70000, **more):
    source = f"""
__global__ void kernel(float* out, const float* x, int n) {{
    int t = threadIdx.x;
    {line}
    {declared} i = {index}; // wraps
    if (t < 32) out[t] = x[i]; // access
}}
"""
    reported = launch(source, {"out": X[:32] * 0, "x": X, "n": np.int32(n)}, **more).faults
    return reported, line_of(source, "wraps"), line_of(source, "access")


@pytest.mark.parametrize(
    ("index", "expression"),
    [
        ("n * n + t", "70000 * 70000"),
        ("n * 40000 + t", "70000 * 40000"),
        ("(n << 20) - t", "70000 << 20"),
        ("(n * 30000 + t * n) + n * 3000", "33000 * 70000"),
        ("(n + 2147483000) / (n - 69990)", "70000 + 2147483000"),
        ("max(n * n + n * n, 7) - 200", "70000 * 70000"),
    ],
)
def test_a_wrapped_index_is_found_at_its_line_with_its_operands(index, expression):
    (fault, *_), wraps, access = faults(index)
    assert (fault.kind, fault.line) == ("overflow", wraps)
    assert expression in fault.message
    assert f"line {access} accesses memory by it" in fault.message
    assert (fault.block, fault.thread) == ((0, 0, 0), (0, 0, 0))


def test_only_the_threads_that_wrapped_are_named():
    (fault, *_), wraps, _ = faults("t < 5 ? t : n * (n + t)")
    assert (fault.kind, fault.line, fault.thread) == ("overflow", wraps, (5, 0, 0))
    assert "70005 * 70000 = 4900350000" in fault.message


def test_an_unsigned_index_that_wraps_is_found_as_well():
    (fault, *_), wraps, _ = faults("(unsigned)n * (unsigned)n + t", "unsigned")
    assert (fault.kind, fault.line) == ("overflow", wraps)


@pytest.mark.parametrize(
    ("declared", "index"),
    [
        ("unsigned", "((unsigned)t - 1u) + 1u"),
        ("unsigned", "(unsigned)(t + 1) * 2654435769u >> 24"),
        ("unsigned", "((unsigned)(t + n) * 2654435769u + 12345u) % 200u"),
        ("unsigned", "((unsigned)(t + n) * 2654435769u) % (unsigned)(n - 69800)"),
        ("unsigned", "((unsigned)(t + n) * 2654435769u) & 255u"),
        ("unsigned", "(((unsigned)(t + n) * 2654435769u) ^ 77u) / 33554432u"),
        ("int", "(n * 30000 - n * 29999) - n + t"),
        ("long long", "((long long)n * n + t) % 200"),
        ("size_t", "(size_t)n * (size_t)n - 4900000000ull + t"),
        ("int", "(int)(((unsigned)n * 40000u + 1u) - (unsigned)n * 40000u)"),
    ],
)
def test_wraps_that_are_meant_are_silent(declared, index):
    assert faults(index, declared)[0] == ()


def test_what_a_guard_keeps_from_memory_is_silent():
    source = """
__global__ void kernel(float* out, const float* x, int n) {
    int i = (blockIdx.x * 64 + threadIdx.x) * n;
    if (threadIdx.x < 1) out[threadIdx.x] = x[i];
    unsigned before = threadIdx.x - 1u;
    if (before < 32u) out[before] = x[before];
    unsigned hash = threadIdx.x * 2654435769u;
    if (hash > 7u) out[32] = 0.0f;
}
"""
    assert launch(source, {"out": X * 0, "x": X, "n": np.int32(2**30)}, 1, 64).faults == ()
