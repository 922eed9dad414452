"""Functions of the device library are no obstacle; others that the file does not define are, whatever their names."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.cuda_floats import is_single
from kernel_lineage.rewrite.assists.layout import syntax_of
from kernel_lineage.rewrite.assists.loop_changes import only_gives_a_value
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text

KERNEL = """\
__global__ void waves(float* out, const double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double sine = 0, cosine = 1;
        BODY
    }
}
void run(float* out, const double* x, int n) { waves<<<(n + 255) / 256, 256>>>(out, x, n); }
"""


def strided(body: str) -> Candidate | Refusal:
    """What the assist makes of a kernel in which each thread takes one element."""
    assist = all_assists()["loop_over_grid"]
    kernel = kernel_in_text(KERNEL.replace("BODY", body), "waves")
    return assist.rewrite(kernel, next(a for a in anchors_of(kernel) if a.pattern == assist.pattern))


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = cos(x[i]) * sin(x[i]);",
        "out[i] = (int)floor(x[i] + 0.5);",
        "out[i] = std::hypot(atan2(x[i], 2.0), ::tan(x[i]));",
        "sincos(x[i], &sine, &cosine); out[i] = sine + cosine;",
        "out[i] = lrintf(__sinf(x[i])) + isnan(x[i]) + erfc(x[i]);",
    ],
)
def test_mathematics_reads_no_grid(body: str):
    made = strided(body)
    assert isinstance(made, Candidate), made.reason


@pytest.mark.parametrize("call", ["wavef(x[i])", "mine::cos(x[i])", "cos_of_block(x[i])", "sinff(x[i])"])
def test_what_another_file_defines_may_read_it(call: str):
    made = strided(f"out[i] = {call};")
    assert isinstance(made, Refusal) and "is not in this file" in made.reason


def test_a_function_that_also_writes_gives_more_than_a_value():
    assert only_gives_a_value("std::cos") and only_gives_a_value("fmodf") and only_gives_a_value("hexp")
    assert not any(map(only_gives_a_value, ("sincos", "sincosf", "modf", "frexpf", "std::remquo")))


def test_the_same_table_tells_which_functions_give_a_float():
    kernel = kernel_in_text(KERNEL.replace("BODY", "out[i] = atan2f(1, 2); out[i] = lrintf(2.f);"), "waves")
    unit = syntax_of(kernel).entry
    assert [is_single(unit, call.node) for call in unit.calls] == [True, False]
