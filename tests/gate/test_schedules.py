"""Volatile, atomics and code within a warp are judged under unkind orders of warps and lanes."""

from dataclasses import replace

import pytest

from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.reasons import Reason

W = workload(**{'kind = "output"': 'kind = "output"\nnoalias = true'})
LINE = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
STAGED = """__shared__ QUALIFIER float s[64];
    int t = threadIdx.x, other = i ^ 32;
    s[t] = i < n ? x[i] : 0.0f;
    BARRIER
    if (other < n) y[other] = 2.0f * s[t ^ 32] + 1.0f;"""
IN_A_WARP = """__shared__ volatile float s[64];
    int t = threadIdx.x, other = i ^ 16;
    s[t] = i < n ? x[i] : 0.0f;
    BARRIER
    if (other < n) y[other] = 2.0f * s[t ^ 16] + 1.0f;"""
BY_ATOMICS = """__shared__ float s[64];
    int t = threadIdx.x, other = i ^ 32;
    atomicExch(&s[t], i < n ? x[i] : 0.0f);
    BARRIER
    float v = atomicExch(&s[t ^ 32], 0.0f);
    if (other < n) y[other] = 2.0f * v + 1.0f;"""


@pytest.mark.parametrize(
    ("text", "barrier"),
    [
        (STAGED.replace("QUALIFIER", "volatile"), "__syncthreads();"),
        (IN_A_WARP, "__syncwarp();"),
        (BY_ATOMICS, "__syncthreads();"),
    ],
    ids=["volatile", "a warp", "atomics"],
)
def test_a_missing_barrier_is_found_where_there_is_no_data_race(text: str, barrier: str):
    honest = judge(affine(), affine(LINE, text.replace("BARRIER", barrier)), W, device="emulated")
    assert honest.stage("sanitize").status == "pass", honest.reason
    missing = judge(affine(), affine(LINE, text.replace("BARRIER", "")), W, device="emulated")
    assert (missing.outcome, missing.code) == ("rejected", Reason.NOT_REPEATABLE), missing.reason
    assert "under another order of warps (" in missing.reason and "seed" in missing.reason


def test_a_race_names_array_and_element():
    v = judge(
        affine(), affine(LINE, STAGED.replace("QUALIFIER", "").replace("BARRIER", "")), W, device="emulated"
    )
    assert v.outcome == "rejected"
    assert "race on shared s[" in str(v.stage("sanitize").reason + v.stage("check").reason)


LOCKED = """if (threadIdx.x == 0) while (atomicCAS(&word, 0, 1)) {}
    __syncthreads();
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
    __syncthreads();
    if (threadIdx.x == 0) { __threadfence(); atomicExch(&word, 0); }"""


@pytest.mark.long
def test_blocks_that_wait_for_a_lock_end_under_every_order():
    text = affine(LINE, LOCKED).source.replace("__global__", "__device__ int word;\n__global__")
    honest = judge(affine(), replace(affine(), source=text), W, device="emulated")
    assert honest.stage("sanitize").status == "pass", honest.reason
    assert "did not end" not in str(honest.stage("check").details["notes"])
