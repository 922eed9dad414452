"""A wrong element of a rewrite: the lines likeliest at fault are told from what another program computes for it.

The baseline is one thread to a row; each candidate is a warp to a row, and wrong in the line that says so.
"""

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.stages.statements import first_value, givers, head_around, loop_around, without_value
from kernel_gate.workload import parse_workload
from workload_texts import workload_text

WORKLOAD = workload_text(
    "centre",
    "N = [5]\nC = [70]",
    'grid = ["ceil_div(N, 2)"]\nblock = [64]',
    "y: output float32 [N, C]",
    "x: input float32 [N, C]",
    "N: int32 = N",
    "C: int32 = C",
)
PLAIN = """
extern "C" __global__ void centre(float* to, const float* from, int rows, int width) {
    int at = blockIdx.x * width;
    float total = 0.0f, largest = 0.0f;
    for (int j = 0; j < width; ++j) total += from[at + j];
    for (int j = 0; j < width; ++j) largest = max(largest, abs(from[at + j] - total / width));
    for (int j = 0; j < width; ++j) to[at + j] = (from[at + j] - total / width) / largest;
}
"""
WARP = """__global__ void centre(float* y, const float* x, int N, int C) {
    int row = blockIdx.x * 2 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= N) {
        return;
    }
    const float* here = x + row * C;
    float sum = 0.0f;
    for (int i = lane; i < C; i += 32) {
        sum += here[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(~0u, sum, offset);
    }
    float mean = sum / C;
    float most = 0.0f;
    for (int i = lane; i < C; i += 32) {
        float apart = fabsf(here[i] - mean);
        most = fmaxf(most, apart);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
    }
    for (int i = lane; i < C; i += 32) {
        y[row * C + i] = (here[i] - mean) / most;
    }
}
"""
TRITON = """import triton
import triton.language as tl


@triton.jit
def centre(y, x, N, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    here = tl.load(x + row * C + i, mask=i < C, other=0.0)
    mean = tl.sum(here, axis=0) / C
    apart = tl.where(i < C, here - mean, 0.0)
    most = tl.max(tl.abs(apart), axis=0)
    tl.store(y + row * C + i, apart / most, mask=i < C)
"""
WRONG = {
    "an operator": ("float mean = sum / C;", "float mean = sum * C;"),
    "a sign": ("fabsf(here[i] - mean)", "fabsf(here[i] + mean)"),
    "an index": ("sum += here[i];", "sum += here[i / 2];"),
    "a loop that ends early": ("i < C; i += 32) {\n        sum", "i < C / 32 * 32; i += 32) {\n        sum"),
    "a first value": ("float sum = 0.0f;", "float sum = 1.5f;"),
    "none at all": ("float sum = 0.0f;", "float sum;"),
    "a row that nobody stores": ("blockIdx.x * 2 + threadIdx.x / 32", "blockIdx.x * 3 + threadIdx.x / 32"),
}  # fmt: skip


def named(candidate: Program) -> list[int]:
    check = judge(
        Program("cuda", PLAIN, "centre", launch=LaunchSpec(("N",), ("1",)), name="plain.cu"),
        candidate,
        parse_workload(WORKLOAD),
        device="emulated",
        options=GateOptions(hidden=False),
    ).stages[1]
    lines = [r["line"] for r in check.details.get("related", ()) if r["what"] == "likely at fault"]
    assert f"; likeliest at fault: line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}" in check.reason
    return lines


@pytest.mark.parametrize("what", WRONG)
def test_the_line_at_fault_is_among_three_that_are_named(what: str):
    before, after = WRONG[what]
    assert WARP.count(before) == 1
    line = WARP[: WARP.index(before)].count("\n") + 1
    lines = named(Program("cuda", WARP.replace(before, after), "centre", name="warp.cu"))
    assert line in lines
    assert len(lines) <= 3


@pytest.mark.parametrize(
    ("before", "after"),
    [("here - mean", "here + mean"), ("apart / most", "most / apart"), ("/ C", "/ (C + 1)")],
)
def test_a_kernel_in_another_language_is_told_by_the_same(before: str, after: str):
    source = TRITON.replace(before, after, 1)
    line = TRITON[: TRITON.index(before)].count("\n") + 1
    launch = LaunchSpec(("N",), constexpr={"BLOCK": "next_power_of_2(C)"})
    assert line in named(Program("triton", source, "centre", launch=launch, name="rows.py"))


def test_an_access_at_fault_names_what_gave_its_index_and_what_guards_it():
    lines = named(Program("cuda", WARP.replace("row >= N", "row > N + 9"), "centre", name="warp.cu"))
    assert 6 in lines


TEXTS = dict(enumerate(WARP.splitlines(), 1))


@pytest.mark.parametrize(
    ("asked", "line", "answer"),
    [
        (givers, 9, (8, 7, 6)),
        (first_value, 9, 7),
        (first_value, 14, None),
        (loop_around, 12, 11),
        (loop_around, 14, None),
        (head_around, 4, 3),
        (head_around, 14, None),
    ],
)
def test_the_text_around_a_line_is_read(asked, line, answer):
    assert asked(TEXTS, line) == answer


def test_a_name_declared_without_a_value_is_seen():
    texts = {1: "    float sum;", 2: "    return sum;", 3: "    acc_t<float> other;", 4: "    y[0] = sum;"}
    assert without_value(texts, 4) == (3, 1)
