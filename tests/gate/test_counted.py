"""Counts before → after in a verdict: a strided copy made coalesced says so at its line, and never as a time."""

import pytest

from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.program import Program
from kernel_gate.reporting.text import render
from kernel_gate.stages.counted import counts_of
from kernel_gate.verdict import Verdict

STRIDED = """__global__ void affine(float *y, const float *x, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, per = (n + 255) / 256;
    for (int k = 0; k < per; k++) {
        int i = t * per + k;
        if (i < n) y[i] = 2.0f * x[i] + 1.0f;
    }
}
"""
WORKLOAD = workload("", **{"N = [1, 3]": "N = [2, 16]", "C = [32, 70]": "C = [256]"})


def strided() -> Program:
    return Program("cuda", STRIDED, "affine", name="strided.cu", first_line=100)


@pytest.fixture(scope="module")
def judged() -> Verdict:
    return judge(strided(), affine(), WORKLOAD, device="emulated")


def test_the_sanitize_stage_has_both_programs_counts_of_the_largest_small_case(judged):
    counts = judged.stage("sanitize").details["counts"]
    before, after = counts["before"], counts["after"]
    assert counts["case"].startswith("N 16, C 256")
    assert after["total"]["sectors_per_request"] == 4.0
    assert before["total"]["sectors_per_request"] == 32.0
    loads = [row["line"] for row in before["lines"] if row["global_requests"]]
    assert loads == [104]
    assert after["total"]["global_read_bytes"] == before["total"]["global_read_bytes"] == 16 * 256 * 4


def test_the_text_says_what_changed_at_which_line(judged):
    text = render(judged)
    assert "sectors per global request 32.0 → 4.0 (worst: 32.0 at line 104 → 4.0 at line 3)" in text
    assert "warp instructions" in text


def test_a_case_that_does_not_pass_is_not_counted():
    counts = counts_of(None, None, WORKLOAD, [])
    assert counts == {"unavailable": "no named case has at most 65536 elements"}
