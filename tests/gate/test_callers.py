"""Without a GPU the callers' sizes are checked as far as they fit, and how far that was is said."""

from itertools import count
from types import SimpleNamespace

import pytest

from benchmarks.strangers.fresh import ground
from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.stages import callers

LARGE = workload("\n[[profile_dims]]\nN = 8192\nC = 4096\n")
SMALL = workload("\n[[profile_dims]]\nN = 6\nC = 600\n")


def check(old: str, new: str, w=LARGE, options=GateOptions()):  # noqa: B008 - frozen
    v = judge(affine(), affine(old, new), w, device="emulated", options=options)
    return v, v.stage("check")


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ("(i % 4096 == 517 && n % 4096 == 0 ? 3.0f : 2.0f) * x[i]", "hidden shape"),
        pytest.param("(n > 9000000 ? 3.0f : 2.0f) * x[i]", "N ", marks=pytest.mark.long),
        ("2.0f * x[(int)((unsigned)i * 256u / 256u)]", "N 8192, C 4096"),
    ],
    ids=["a column", "a row", "an index that overflows"],
)
def test_what_is_wrong_at_the_callers_sizes_alone_is_rejected(wrong: str, where: str):
    v, checked = check("2.0f * x[i]", wrong, options=GateOptions(callers_seconds=10))
    assert v.outcome == "rejected", checked.reason
    assert where in checked.details["case"]


@pytest.mark.long
def test_what_was_not_reached_is_said():
    _, checked = check("2.0f * x[i]", "x[i] * 2.0f")
    callers = checked.details["callers"]
    assert checked.status == "pass"
    assert callers["largest"]["C"] == 4096 and callers["largest"]["N"] == 8192
    assert callers["blocks_at_full_size"] >= 3
    assert "largest checked: N 8192 of 8192, C 4096 of 4096; together N " in checked.reason


def test_nothing_is_said_where_everything_was_reached():
    _, checked = check("2.0f * x[i]", "x[i] * 2.0f", SMALL)
    assert "largest checked" not in checked.reason
    assert checked.details["callers"]["largest"] | {"N": 6} == {"N": 6, "C": 600}


COUNTS = """extern "C" __global__ void counts(int *y, const unsigned char *x, int n) {
    __shared__ int h[256];
    h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&h[x[i]], 1);
    __syncthreads();
    y[threadIdx.x] = h[threadIdx.x];
}
"""


def test_counts_that_overflow_where_data_are_alike_at_the_callers_size_are_wrong():
    columns = [
        ("y", "output", "int32", "256"),
        ("x", "input", "uint8", "n", "integers"),
        ("n", "scalar", "int32", "n"),
    ]
    of = ground("counts", COUNTS, {"n": [200, 900]}, columns, "1", 256, {"n": 70000})
    short = COUNTS.replace("= h[threadIdx.x];", "= h[threadIdx.x] & 65535;")
    v = judge(of.program(), of.program(short), of.workload, device="emulated")
    assert v.outcome == "rejected" and "n 70000" in v.reason and "constant rows" in v.reason


DOTS = """__global__ void dots(int *y, const signed char *a, const signed char *b, int C) {
    TYPE s = 0;
    for (int c = threadIdx.x; c < C; c += 32) s += (TYPE)(a[blockIdx.x * C + c] * b[c]);
    for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x == 0) y[blockIdx.x] = (int)s;
}
"""


def test_sums_of_integers_that_a_float_cannot_hold_at_the_callers_size_are_wrong():
    columns = [
        ("y", "output", "int32", "N"),
        ("a", "input", "int8", "N,C", "integers(-127, 127)"),
        ("b", "input", "int8", "C", "integers(-127, 127)"),
        ("C", "scalar", "int32", "C"),
    ]
    whole, floats = DOTS.replace("TYPE", "int"), DOTS.replace("TYPE", "float")
    of = ground("dots", whole, {"N": [2, 3], "C": [40, 60]}, columns, "N", 32, {"N": 8, "C": 3000})
    v = judge(of.program(), of.program(floats), of.workload, device="emulated")
    assert v.outcome == "rejected" and "C 3000" in v.reason and "near their highest" in v.reason


@pytest.mark.parametrize(("clock", "reached"), [(0.5, True), (5.0, False)])
def test_other_work_on_the_machine_takes_no_time_from_small_kernels(monkeypatch, clock: float, reached: bool):
    """Each look at a clock finds the processor a little further, and everybody's clock `clock` seconds."""
    clocks = {"thread_time": count(0, 0.01).__next__, "monotonic": count(0, clock).__next__}
    monkeypatch.setattr(callers, "time", SimpleNamespace(**clocks))
    _, checked = check("2.0f * x[i]", "x[i] * 2.0f", SMALL)
    assert (checked.details["callers"]["left_out"] == []) is reached
    assert ("largest checked" not in checked.reason) is reached


def test_values_at_the_callers_size_for_which_there_was_no_time_are_told(monkeypatch):
    columns = [
        ("y", "output", "int32", "n"),
        ("x", "input", "uint8", "n", "integers"),
        ("n", "scalar", "int32", "n"),
    ]
    body = "{ int i = threadIdx.x; if (i < n) y[i] = x[i]; }"
    text = f"__global__ void copies(int *y, const unsigned char *x, int n) {body}"
    of = ground("copies", text, {"n": [20, 90]}, columns, "1", 512, {"n": 500})
    monkeypatch.setattr(callers._Room, "has", lambda *_: False)
    v = judge(of.program(), of.program(text.replace("= x[i]", "= (int)x[i]")), of.workload, device="emulated")
    checked = v.stage("check")
    assert checked is not None and "; no time for n 500, hidden shape" in checked.reason


def test_single_blocks_that_do_not_end_in_their_time_are_told(monkeypatch):
    """A launch that would take minutes: the callers' rows are so many that they are never checked whole."""
    slow = "for (int k = 0; k < (n > 30000000 ? 1 << 20 : 1); k++) y[i] = 2.0f * x[i] + 1.0f + 0.0f * k"
    monkeypatch.setattr(callers, "_BY_THE_CLOCK", 1.0)
    options = GateOptions(callers_seconds=1.0, algebra_seconds=0)
    programs = (
        affine("y[i] = 2.0f * x[i] + 1.0f", f"{first} + 0.0f")
        for first in (slow, slow.replace("k++", "k += 1"))
    )
    checked = judge(*programs, LARGE, device="emulated", options=options).stage("check")
    assert checked.status == "pass"
    assert "did not end in their time" in checked.details["callers"]["not_at_full_size"]
