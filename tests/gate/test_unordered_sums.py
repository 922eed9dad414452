"""Sums whose order a lock, a swap or a ticket decides may vary within the tolerance; what varies otherwise may not."""

from dataclasses import replace

import pytest

from benchmarks.strangers.model import workload_of
from gate.emulated.cuda_source import image
from kernel_gate.devices.image import Image
from kernel_gate.gate import judge
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages.unordered_sums import adds_in_any_order
from kernel_gate.workload import parse_workload

HEAD = """__global__ void kernel(float *y, const float *x, int *word, float *part, int n, int C) {
    int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t;
"""
SWAPPED = """int *at = (int *)&y[t]; int old = *at, seen;
    do { seen = old; old = atomicCAS(at, seen, __float_as_int(__int_as_float(seen) + x[i])); } while (old != seen);"""
EXCHANGED = "float s = x[i]; do { s += atomicExch(&y[t], 0.0f); } while ((s = atomicExch(&y[t], s)) != 0.0f);"
HALVES = """unsigned *at = (unsigned *)y + t, old = *at, seen;
    do {
        seen = old;
        unsigned low = __half_as_ushort(__ushort_as_half((unsigned short)seen) + __float2half(x[i]));
        old = atomicCAS(at, seen, (seen & 0xFFFF0000u) | low);
    } while (old != seen);"""
LOCKED = """if (t == 0) TAKE
    __syncthreads();
    __threadfence();
    y[t] += x[i];
    __syncthreads();
    if (t == 0) { __threadfence(); GIVE }"""
BY_SWAP = LOCKED.replace("TAKE", "while (atomicCAS(word, 0, 1)) {}").replace("GIVE", "atomicExch(word, 0);")
BY_EXCHANGE = LOCKED.replace("TAKE", "while (atomicExch(word, 1)) {}").replace("GIVE", "atomicExch(word, 0);")
BY_TICKET = LOCKED.replace(
    "TAKE", "{ int mine = atomicAdd(word, 1); while (*(volatile int *)(word + 1) != mine) {} }"
).replace("GIVE", "atomicAdd(word + 1, 1);")
BY_ARRIVAL = """__shared__ int mine;
    if (t == 0) mine = atomicAdd(word, 1);
    __syncthreads();
    part[mine * 64 + t] = x[i];
    __threadfence();
    __syncthreads();
    if (t == 0) mine = atomicAdd(word + 1, 1);
    __syncthreads();
    if (mine < (int)gridDim.x - 1) return;
    __threadfence();
    float s = 0.0f;
    for (int k = 0; k < gridDim.x; k++) s += part[k * 64 + t];
    y[t] = s;"""
BY_NUMBER = BY_ARRIVAL.replace("part[mine * 64 + t] = x[i]", "part[i] = x[i]")
LOOKED_BACK = """float s = x[i]; int at = b;
    volatile float *parts = (volatile float *)part, *sums = parts + n; volatile int *state = word;
    parts[b] = s; __threadfence(); state[b] = 1;
    while (at > 0) {
        int seen = state[--at];
        if (!seen) { at++; continue; }
        __threadfence();
        if (seen == 2) { s += sums[at]; break; }
        s += parts[at];
    }
    sums[b] = s; __threadfence(); state[b] = 2;
    y[b] = s;"""
IN_A_WORD = """float s = x[i], own = s; volatile unsigned long long *state = (unsigned long long *)part;
    state[b] = 1ull << 32 | __float_as_uint(own);
    for (int at = b - 1; at >= 0;) {
        unsigned long long seen = state[at];
        if (seen >> 32 == 0) continue;
        s += __uint_as_float((unsigned)seen);
        if (seen >> 32 == 2) break;
        at--;
    }
    state[b] = 2ull << 32 | __float_as_uint(s);
    y[b] = s;"""
OF_EACH = """volatile float *parts = part; volatile int *state = word;
    parts[b] = x[i]; __threadfence(); state[b] = 1;
    float s = 0.0f;
    for (int at = 0; at <= b; at++) {
        while (!state[at]) {}
        __threadfence();
        s += parts[at];
    }
    y[b] = s;"""
OF_THE_LAST = """volatile float *sums = part; volatile int *state = word;
    float s = x[i];
    if (b) { while (!state[b - 1]) {} __threadfence(); s += sums[b - 1]; }
    sums[b] = s; __threadfence(); state[b] = 1;
    y[b] = s;"""
UNTIL_ZERO = """const volatile float *in = x; float s = 0.0f, v;
    for (int k = i; (v = in[k]) != 0.0f; k++) s += v;
    y[i] = s;"""
COUNTED_BACK = LOOKED_BACK.replace("float", "int")
LARGEST = SWAPPED.replace("__int_as_float(seen) + x[i]", "fmaxf(__int_as_float(seen), x[i])")
COUNTED = SWAPPED.replace("__float_as_int(__int_as_float(seen) + x[i])", "seen + (x[i] > 0.0f)")
IN_PLACE = "y[i] = y[i] * 0.5f + x[i];"
AFTER_ALL = """if (t == 0) {
        int old = atomicAdd(word, b == 0 ? 0x80000000 - (gridDim.x - 1) : 1);
        while (((old ^ *(volatile int *)word) & 0x80000000) == 0) {}
    }
    __syncthreads();
    y[i] = y[i] * 0.5f + x[i];"""
NEXT = """__shared__ int tile;
    for (;;) {
        __syncthreads();
        if (t == 0) tile = atomicAdd(word, 1);
        __syncthreads();
        if (tile >= n) return;
        y[tile * 64 + t] = y[tile * 64 + t] * 0.5f + x[tile * 64 + t];
    }"""


def compiled(body: str) -> Image:
    return image("#include <cuda_fp16.h>\n" + HEAD + body + "\n}\n")


@pytest.mark.parametrize(
    "body",
    [
        *(SWAPPED, EXCHANGED, HALVES, BY_SWAP, BY_EXCHANGE, BY_TICKET, BY_ARRIVAL, LOOKED_BACK, IN_A_WORD),
        "atomicAdd(&y[t], x[i]);",
    ],
)
def test_sums_in_an_order_that_nothing_fixes(body: str):
    assert adds_in_any_order([compiled(body)])


@pytest.mark.parametrize(
    "body",
    [BY_NUMBER, LARGEST, COUNTED, IN_PLACE, AFTER_ALL, NEXT, OF_EACH, OF_THE_LAST, UNTIL_ZERO, COUNTED_BACK],
)
def test_sums_in_one_order_and_what_has_no_order(body: str):
    assert not adds_in_any_order([compiled(body)])


def test_what_cannot_be_read_has_one_order():
    code = compiled(BY_SWAP)
    assert not adds_in_any_order([replace(code, ptx=code.ptx.replace("add.f32", "add.f32 ("))])
    assert not adds_in_any_order([replace(code, entry="another")])


SUMS = """__global__ void sums(float *y, const float *x, int N) {
    if (blockIdx.x) return;
    for (int r = 0; r < N; r++) y[threadIdx.x] += x[r * 64 + threadIdx.x];
}
"""
W = parse_workload(
    workload_of(
        "sums",
        {"N": [3, 6]},
        [
            ("y", "inout", "float32", "64"),
            ("x", "input", "float32", "N,64"),
            ("N", "scalar", "int32", "N"),
        ],
        "N",
        64,
        {"N": 64},
    )
)


def verdict_of(body: str):
    head = "__device__ int word[2];\n__global__ void sums(float *y, const float *x, int N) {\n"
    head += "    int t = threadIdx.x, i = blockIdx.x * 64 + t;\n"
    baseline, candidate = (
        Program("cuda", text, "sums", name="sums.cu") for text in (SUMS, head + body + "\n}\n")
    )
    return judge(baseline, candidate, W, device="emulated")


@pytest.mark.long
@pytest.mark.parametrize("body", [SWAPPED, BY_SWAP], ids=["swap", "lock"])
def test_an_honest_sum_in_another_order_is_let_through(body: str):
    verdict = verdict_of(body)
    assert verdict.stage("sanitize").status == "pass", verdict.reason
    assert "as sums by atomics and under locks may" in str(verdict.stage("check").details["notes"])


@pytest.mark.parametrize(
    "body",
    [
        BY_SWAP.replace("atomicCAS(word, 0, 1)", "atomicCAS(word, 1, 1) > 0"),
        "y[t] = *(volatile float *)&y[t] + x[i];",
    ],
    ids=["a lock that is never taken", "no lock"],
)
def test_a_sum_that_loses_terms_in_some_orders_is_refused(body: str):
    verdict = verdict_of(body)
    assert verdict.outcome == "rejected", verdict.reason
    assert verdict.code in {Reason.RACE, Reason.WRONG_VALUE, Reason.NOT_REPEATABLE}
