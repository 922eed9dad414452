"""Seeded bugs are found at their line; the honest twin of each is silent."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.emulated.launch import Limits


@dataclass(frozen=True)
class Bug:
    """One kernel in two versions: BAD stands for the wrong text, and its twin replaces it."""

    name: str
    source: str
    bad: str
    good: str
    kind: str
    arguments: dict[str, Any]
    grid: Any = 1
    block: Any = 64
    details: dict[str, Any] = field(default_factory=dict)


def zeros(n: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(n, dtype)


ONES = np.ones(256, np.float32)
BUGS = [
    Bug(
        "off by one",
        """
__global__ void kernel(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (BAD)
        out[i] = 2.0f * x[i]; // here
}
""",
        "i <= n",
        "i < n",
        "out_of_bounds",
        {"out": zeros(200), "x": ONES[:200], "n": np.int32(200)},
        grid=4,
        details={"buffer": "x", "element": 200, "block": (3, 0, 0), "thread": (8, 0, 0)},
    ),
    Bug(
        "before the start",
        """
__global__ void kernel(float* out, const float* x) {
    int i = threadIdx.x;
    out[i] = x[BAD] - x[i]; // here
}
""",
        "i - 1",
        "max(i - 1, 0)",
        "out_of_bounds",
        {"out": zeros(64), "x": ONES[:64]},
        details={"buffer": "x", "element": -1, "thread": (0, 0, 0)},
    ),
    Bug(
        "far into another buffer",
        """
__global__ void kernel(float* out, const float* x, int far) {
    out[threadIdx.x] = x[threadIdx.x + (BAD)]; // here
}
""",
        "far",
        "far * 0",
        "out_of_bounds",
        {"out": zeros(64), "x": ONES[:64], "far": np.int32(1 << 28)},
        details={"buffer": "x", "element": 1 << 28},
    ),
    Bug(
        "off by one in a shared tile",
        """
__global__ void kernel(float* out, const float* x) {
    __shared__ float tile[64];
    __shared__ float other[64];
    tile[threadIdx.x] = x[threadIdx.x];
    other[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = tile[BAD] + other[63 - threadIdx.x]; // here
}
""",
        "threadIdx.x + 1",
        "(threadIdx.x + 1) % 64",
        "out_of_bounds",
        {"out": zeros(64), "x": ONES[:64]},
        details={"thread": (63, 0, 0), "element": 64},
    ),
    Bug(
        "misaligned float4",
        """
__global__ void kernel(float* out, const float* x) {
    float4 v = *reinterpret_cast<const float4*>(x + 4 * threadIdx.x + BAD); // here
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
""",
        "1",
        "0",
        "misaligned",
        {"out": zeros(32), "x": ONES[:160]},
        block=32,
        details={"buffer": "x", "element": 1},
    ),
    Bug(
        "missing barrier",
        """
__global__ void kernel(float* out, const float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    BAD
    out[threadIdx.x] = tile[63 - threadIdx.x]; // here
}
""",
        "",
        "__syncthreads();",
        "race",
        {"out": zeros(64), "x": ONES[:64]},
    ),
    Bug(
        "barrier missing at the end of a loop",
        """
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[64];
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        tile[threadIdx.x] = x[threadIdx.x + k];
        __syncthreads();
        sum += tile[63 - threadIdx.x]; // here
        BAD
    }
    out[threadIdx.x] = sum;
}
""",
        "",
        "__syncthreads();",
        "race",
        {"out": zeros(64), "x": ONES[:128], "n": np.int32(3)},
    ),
    Bug(
        "two writers",
        """
__global__ void kernel(float* out, const float* x) {
    __shared__ float total;
    BAD = x[threadIdx.x]; // here
    __syncthreads();
    out[threadIdx.x] = total;
}
""",
        "total",
        "if (threadIdx.x == 5) total",
        "race",
        {"out": zeros(64), "x": np.arange(64, dtype=np.float32)},
    ),
    Bug(
        "uninitialised shared memory",
        """
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[64];
    if (threadIdx.x < BAD) tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x]; // here
}
""",
        "n - 1",
        "n",
        "uninitialised",
        {"out": zeros(64), "x": ONES[:64], "n": np.int32(64)},
        details={"thread": (63, 0, 0)},
    ),
    Bug(
        "barrier in a branch",
        """
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < BAD) __syncthreads(); // here
    out[threadIdx.x] = x[63 - threadIdx.x];
}
""",
        "n - 32",
        "n",
        "barrier",
        {"out": zeros(64), "x": ONES[:64], "n": np.int32(64)},
    ),
    Bug(
        "shuffle from a lane that left",
        """
__global__ void kernel(float* out, const float* x, int n) {
    float v = x[threadIdx.x];
    if (threadIdx.x < BAD)
        out[threadIdx.x] = __shfl_down_sync(0xffffffffu, v, 1); // here
}
""",
        "n - 8",
        "n",
        "shuffle",
        {"out": zeros(64), "x": ONES[:64], "n": np.int32(64)},
        details={"thread": (55, 0, 0)},
    ),
    Bug(
        "a shuffle by lanes that are not in its mask",
        """
__global__ void kernel(float* out, const float* x) {
    float v = x[threadIdx.x];
    out[threadIdx.x] = __shfl_xor_sync(BAD, v, 8); // here
}
""",
        "0xffffu",
        "0xffffffffu",
        "shuffle",
        {"out": zeros(64), "x": ONES[:64]},
        details={"thread": (16, 0, 0)},
    ),
    Bug(
        "a warp barrier that leaves a lane out",
        """
__global__ void kernel(float* out, const float* x) {
    __shared__ float part[32];
    part[threadIdx.x] = x[threadIdx.x];
    __syncwarp(BAD); // here
    out[threadIdx.x] = part[threadIdx.x ^ 1];
}
""",
        "0x7fffffffu",
        "0xffffffffu",
        "shuffle",
        {"out": zeros(32), "x": ONES[:32]},
        block=32,
        details={"thread": (31, 0, 0)},
    ),
    Bug(
        "two blocks write one element",
        """
__global__ void kernel(float* out, const float* x) {
    out[BAD] = x[blockIdx.x * 64 + threadIdx.x]; // here
}
""",
        "threadIdx.x",
        "blockIdx.x * 64 + threadIdx.x",
        "race",
        {"out": zeros(128), "x": np.arange(128, dtype=np.float32)},
        grid=2,
        details={"buffer": "out"},
    ),
    Bug(
        "a block reads what another writes",
        """
__global__ void kernel(float* y, float* out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = y[BAD];
    y[i] = 7.0f; // here
}
""",
        "127 - i",
        "i",
        "race",
        {"y": np.arange(128, dtype=np.float32), "out": zeros(128)},
        grid=2,
        details={"buffer": "y"},
    ),
    Bug(
        "missing barrier around global scratch",
        """
__global__ void kernel(float* out, float* scratch, const float* x) {
    scratch[threadIdx.x] = x[threadIdx.x];
    BAD
    out[threadIdx.x] = scratch[63 - threadIdx.x]; // here
}
""",
        "",
        "__syncthreads();",
        "race",
        {"out": zeros(64), "scratch": zeros(64), "x": np.arange(64, dtype=np.float32)},
        details={"buffer": "scratch"},
    ),
    Bug(
        "plain sum instead of an atomic one",
        """
__global__ void kernel(float* total, const float* x) {
    BAD; // here
}
""",
        "*total += x[threadIdx.x]",
        "atomicAdd(total, x[threadIdx.x])",
        "race",
        {"total": zeros(1), "x": np.arange(64, dtype=np.float32)},
        details={"buffer": "total"},
    ),
    Bug(
        "missing warp barrier",
        """
__global__ void kernel(float* out, const float* x) {
    __shared__ float tile[64];
    int partner = threadIdx.x ^ 1;
    tile[threadIdx.x] = x[threadIdx.x];
    BAD
    out[threadIdx.x] = tile[partner]; // here
}
""",
        "",
        "__syncwarp();",
        "race",
        {"out": zeros(64), "x": np.arange(64, dtype=np.float32)},
    ),
    Bug(
        "failed assertion",
        """
#include <assert.h>
__global__ void kernel(float* out, int n) {
    assert(BAD); // here
    out[threadIdx.x] = n;
}
""",
        "n % 3 == 0",
        "n % 4 == 0",
        "trap",
        {"out": zeros(64), "n": np.int32(64)},
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda b: b.name)
def test_a_seeded_bug_is_found_at_its_line(bug):
    source = bug.source.replace("BAD", bug.bad)
    fault = launch(source, bug.arguments, bug.grid, bug.block).faults[0]
    assert (fault.kind, fault.line) == (bug.kind, line_of(source, "here"))
    for name, expected in bug.details.items():
        assert getattr(fault, name) == expected


@pytest.mark.parametrize("bug", BUGS, ids=lambda b: b.name)
def test_its_honest_twin_is_silent(bug):
    assert launch(bug.source.replace("BAD", bug.good), bug.arguments, bug.grid, bug.block).faults == ()


def test_an_uninitialised_output_that_is_read_is_found_when_declared():
    source = """
__global__ void kernel(float* out, const float* x) {
    out[threadIdx.x] += x[threadIdx.x]; // here
}
"""
    arguments = {"out": zeros(64), "x": ONES[:64]}
    assert launch(source, arguments, 1, 64).faults == ()
    fault = launch(source, arguments, 1, 64, uninitialised=("out",)).faults[0]
    assert (fault.kind, fault.line, fault.buffer) == ("uninitialised", line_of(source, "here"), "out")


@pytest.mark.parametrize(
    ("store", "element"),
    [("x[i + 3] = 5.0f", 3), ("atomicAdd(x + 7, 1.0f)", 7), ("reinterpret_cast<float4*>(x)[i] = v", 2)],
)
def test_a_store_that_changes_an_input_is_found_when_declared(store, element):
    source = f"""
__global__ void kernel(float* out, float* x) {{
    int i = threadIdx.x;
    float4 v = make_float4(1.0f, 1.0f, 2.0f, 1.0f);
    {store}; // here
    out[i] = v.x;
}}
"""
    arguments = {"out": zeros(32), "x": ONES}
    assert launch(source, arguments).faults == ()
    fault = launch(source, arguments, inputs=("x",)).faults[0]
    assert (fault.kind, fault.line, fault.buffer) == ("input_changed", line_of(source, "here"), "x")
    assert (fault.element, fault.block, fault.thread) == (element, (0, 0, 0), (0, 0, 0))


def test_storing_what_an_input_holds_already_is_let_through():
    source = "__global__ void kernel(float* x) { x[threadIdx.x] = 1.0f; }"
    assert launch(source, {"x": ONES}, inputs=("x",)).faults == ()


def test_writing_the_same_value_twice_is_benign():
    source = """
__global__ void kernel(float* out, const float* x) {
    __shared__ float first;
    first = x[0];
    __syncthreads();
    out[0] = first;
}
"""
    done = launch(source, {"out": zeros(1), "x": ONES}, 4, 64)
    assert done.faults == ()
    assert done.arrays["out"][0] == 1


def test_two_ways_to_no_number_write_the_same_value():
    source = """
__global__ void kernel(float* out, const float* x) {
    __shared__ float both;
    float nan = threadIdx.x ? x[0] - x[0] : 0 * x[0] + x[1];
    both = nan;
    __syncthreads();
    out[threadIdx.x] = both;
}
"""
    x = np.array([np.inf, np.nan], np.float32)
    done = launch(source, {"out": zeros(64), "x": x}, 1, 64)
    assert done.faults == () and np.isnan(done.arrays["out"]).all()


def test_an_infinite_loop_ends_with_its_line():
    source = """
__global__ void kernel(volatile int* flag) {
    while (*flag == 0) { } // here
}
"""
    done = launch(source, {"flag": np.zeros(1, np.int32)}, limits=Limits(steps=500))
    assert [(f.kind, f.line) for f in done.faults] == [("timeout", line_of(source, "here"))]


@pytest.mark.parametrize(
    ("grid", "block", "shared_bytes", "words"),
    [
        (1, (32, 33), 0, "1056 threads per block"),
        (0, 32, 0, "grid (0, 1, 1)"),
        ((1, 70000), 32, 0, "grid (1, 70000, 1)"),
        (1, 32, 200_000, "200000 bytes of shared memory"),
    ],
)
def test_a_launch_that_a_device_refuses_is_refused(grid, block, shared_bytes, words):
    done = launch(
        "__global__ void kernel(float* out) { out[0] = 1.0f; }", {"out": zeros(1)}, grid, block, shared_bytes
    )
    assert [f.kind for f in done.faults] == ["launch"]
    assert words in done.faults[0].message
    assert done.arrays["out"][0] == 0


def test_more_shared_memory_in_fixed_arrays_than_ptxas_takes_is_refused():
    """A device has more of it, for `extern` arrays alone."""
    source = """
__global__ void kernel(float* out) {
    __shared__ float rows[12289];
    rows[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = rows[31 - threadIdx.x];
}
"""
    done = launch(source, {"out": zeros(32)}, 1, 32)
    assert [f.kind for f in done.faults] == ["launch"]
    assert "no device builds it: 49156 bytes" in done.faults[0].message
    assert launch(source.replace("12289", "12288"), {"out": zeros(32)}, 1, 32).faults == ()


def test_wrong_arguments_are_refused():
    source = "__global__ void kernel(float* out, int n) { out[0] = n; }"
    for arguments in ({"out": zeros(1)}, {"out": zeros(1), "n": np.int64(3)}):
        assert [f.kind for f in launch(source, arguments).faults] == ["launch"]


def test_threads_that_returned_early_count_as_arrived():
    source = """
__global__ void kernel(float* out, const float* x, int n) {
    __shared__ float tile[64];
    if (threadIdx.x >= n) return;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
"""
    done = launch(source, {"out": zeros(64), "x": np.arange(64, dtype=np.float32), "n": np.int32(40)}, 1, 64)
    assert done.faults == ()
    assert done.arrays["out"][0] == 39


def test_a_register_that_was_never_set_is_not_zero():
    code = "__global__ void kernel(float* y, int n) { float sum; for (int i = 0; i < n; i++) sum += i; y[0] = sum; }"
    done = launch(code, {"y": np.zeros(1, np.float32), "n": np.int32(3)})
    assert np.isnan(done.arrays["y"][0])
