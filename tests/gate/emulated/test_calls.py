"""Calls: device functions, recursion, pointers, virtual functions; printf, assert, trap; stacks that grow."""

import numpy as np
import pytest

from gate.emulated.cuda_source import image, launch, line_of
from gate.emulated.single_opcode import run
from kernel_gate.devices.emulated import EmulatedDevice

RECURSION = """
__device__ __noinline__ int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void kernel(int* out, int which, int most) {
    int i = threadIdx.x % most;
    out[threadIdx.x] = which ? fibonacci(i) : factorial(i);
}
"""


@pytest.mark.parametrize(
    ("which", "expected"), [(0, [1, 1, 2, 6, 24, 120, 720, 5040]), (1, [0, 1, 1, 2, 3, 5, 8, 13])]
)
@pytest.mark.long
def test_recursion_is_followed(which, expected):
    done = launch(RECURSION, {"out": np.zeros(32, np.int32), "which": np.int32(which), "most": np.int32(8)})
    assert done.faults == ()
    assert done.arrays["out"].tolist() == expected * 4


def test_recursion_that_is_too_deep_is_named():
    source = """
__device__ __noinline__ int depth(int n, int* x) { return n == 0 ? 0 : x[n] + depth(n - 1, x) * 2; }
__global__ void kernel(int* out, int* x, int n) { out[0] = depth(n, x); }
"""
    arguments = {"out": np.zeros(1, np.int32), "x": np.ones(2000, np.int32)}
    assert launch(source, {**arguments, "n": np.int32(20)}, block=1).arrays["out"].tolist() == [2**20 - 1]
    fault = launch(source, {**arguments, "n": np.int32(1999)}, block=1).faults[0]
    assert fault.kind == "unsupported"
    assert "calls itself deeper" in fault.message


POINTERS = """
typedef float (*function)(float);
struct Operation { __device__ virtual float run(float x) const = 0; };
struct Twice : Operation { __device__ float run(float x) const override { return 2 * x; } };
struct Half : Operation { __device__ float run(float x) const override { return x / 2; } };
__device__ __noinline__ float plus(float x) { return x + 1; }
__device__ __noinline__ float minus(float x) { return x - 1; }
__device__ function table[3] = {plus, minus, nullptr};
__device__ Operation* made;
__global__ void kernel(float* out, int third) {
    int i = threadIdx.x;
    Twice twice;
    Half half;
    const Operation* operation = i % 2 ? (const Operation*)&twice : &half;
    out[i] = operation->run(i) + 100 * table[third ? 2 : i / 16](i);
}
"""


def test_calls_through_pointers_and_virtual_functions():
    done = launch(POINTERS, {"out": np.zeros(32, np.float32), "third": np.int32(0)})
    i = np.arange(32)
    assert done.faults == ()
    wanted = np.where(i % 2, 2 * i, i / 2) + 100 * np.where(i < 16, i + 1, i - 1)
    np.testing.assert_array_equal(done.arrays["out"], wanted)


def test_a_call_through_a_null_pointer_traps():
    fault = launch(POINTERS, {"out": np.zeros(32, np.float32), "third": np.int32(1)}).faults[0]
    assert (fault.kind, "holds no function" in fault.message) == ("trap", True)


def test_printf_is_text_in_the_result():
    source = r"""
#include <cstdio>
__global__ void kernel(const float* x) {
    int i = threadIdx.x;
    const char* name = i ? "odd" : "even";
    if (i < 2) printf("thread %d: %5.2f|%-4u|%s|%c|%lld|%x|%%\n", i, x[i], i + 7u, name, 'a' + i, -5ll - i, 255);
    if (i == 31) printf("last\n");
}
"""
    done = launch(source, {"x": np.array([1.5, -2.25], np.float32)})
    assert done.faults == ()
    assert done.result.counts["printf"] == [
        "thread 0:  1.50|7   |even|a|-5|ff|%\n",
        "thread 1: -2.25|8   |odd|b|-6|ff|%\n",
        "last\n",
    ]


def test_a_failed_assertion_says_what_and_where():
    source = """
#include <cassert>
__global__ void kernel(const int* x) {
    assert(x[threadIdx.x] >= 0);  // assertion
}
"""
    x = np.ones(32, np.int32)
    assert launch(source, {"x": x}).faults == ()
    x[5] = -1
    fault = launch(source, {"x": x}).faults[0]
    line = line_of(source, "assertion")
    assert (fault.kind, fault.thread, fault.line) == ("trap", (5, 0, 0), line)
    assert f"assertion failed: `x[threadIdx.x] >= 0` at program.cu:{line}" in fault.message


def test_a_stack_grows_while_a_thread_runs_and_shrinks_again():
    sizes = np.arange(1, 33, dtype=np.uint32) * 24
    text = """{ .reg .u64 s, n, first, last, again; stacksave.u64 s; cvt.u64.u32 n, a; alloca.u64 first, n, 16;
        add.u64 last, first, n; st.local.u32 [last-4], a; alloca.u64 again, n, 16; st.local.u32 [again], 7;
        ld.local.u32 d, [last-4]; stackrestore.u64 s; alloca.u64 again, n, 16; sub.u64 again, again, first;
        cvt.u32.u64 %t, again; add.u32 d, d, %t; }"""
    np.testing.assert_array_equal(run(text, "u32", {"u32": sizes}), sizes)


def test_parameters_are_reached_by_a_generic_address():
    source = """
struct Table { int values[8]; };
__device__ __noinline__ int at(const int* values, int i) { return values[i]; }
__global__ void kernel(const __grid_constant__ Table table, int* out) {
    out[threadIdx.x] = at(table.values, threadIdx.x % 8);
}
"""
    device = EmulatedDevice()
    kernel = device.load(image(source))
    out = device.allocate(128, "out", 4)
    table = np.array([(np.arange(8, dtype=np.int32) * 3,)], np.dtype([("values", np.int32, 8)]))[0]
    done = kernel.launch((1, 1, 1), (32, 1, 1), 0, [table, out])
    assert done.faults == ()
    assert out.read().view(np.int32).tolist() == [i % 8 * 3 for i in range(32)]
