"""Without a GPU the callers' sizes are checked as far as they fit, and how far that was is said."""

import pytest

from benchmarks.strangers.fresh import ground
from gate.programs import affine, workload
from kernel_gate.gate import judge

LARGE = workload("\n[[profile_dims]]\nN = 8192\nC = 4096\n")
SMALL = workload("\n[[profile_dims]]\nN = 6\nC = 600\n")


def check(old: str, new: str, w=LARGE):
    v = judge(affine(), affine(old, new), w, device="emulated")
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
    v, checked = check("2.0f * x[i]", wrong)
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
