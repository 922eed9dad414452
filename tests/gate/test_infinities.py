"""NaNs that one program alone makes of infinities: a condition where they alone do it, wrong elsewhere."""

import pytest

from benchmarks.strangers.fresh import ground
from gate.test_ranges import conditions
from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.verdict import Stage
from longer import first_now

ROWS = [
    ("y", "output", "float32", "N"),
    ("x", "input", "float32", "N,C"),
    ("C", "scalar", "int32", "C"),
]
HEAD = "__global__ void kernel(float *y, const float *x, int C) {\n    const float *r = x + (size_t)blockIdx.x * C;\n"
SUM = "float s = 0.0f;\n    for (int c = 0; c < C; c++) s += r[c];\n    y[blockIdx.x] = s;\n}\n"
COMPENSATED = """float s = 0.0f, e = 0.0f;
    for (int c = 0; c < C; c++) { float v = r[c] - e, t = s + v; e = (t - s) - v; s = t; }
    y[blockIdx.x] = s;
}
"""
LOG_SUM = """float m = -INFINITY, s = 0.0f;
    for (int c = 0; c < C; c++) m = fmaxf(m, r[c]);
    for (int c = 0; c < C; c++) s += expf(r[c] - m);
    y[blockIdx.x] = m + logf(s);
}
"""
CARRIED = """float m[8], s[8], most = -INFINITY, sum = 0.0f;
    for (int k = 0; k < 8; k++) m[k] = -INFINITY, s[k] = 0.0f;
    for (int c = 0; c < C; c++) {
        int k = c % 8; float n = fmaxf(m[k], r[c]);
        s[k] = s[k] * expf(m[k] - n) + expf(r[c] - n); m[k] = n;
    }
    for (int k = 0; k < min(C, 8); k++) {
        float n = fmaxf(most, m[k]);
        sum = sum * expf(most - n) + s[k] * expf(m[k] - n); most = n;
    }
    y[blockIdx.x] = most + logf(sum);
}
"""
ASKED = LOG_SUM.replace("s += expf(r[c] - m)", "s += expf(r[c] - (m == -INFINITY ? 0.0f : m))")


def checked(before: str, after: str, seed: int = 7) -> Stage:
    of = ground("kernel", HEAD + before, {"N": [3, 5], "C": [8, 20]}, ROWS, "N", 1, {"N": 64, "C": 128})
    with Kept() as kept:
        options = GateOptions(seed=seed, callers_seconds=0)
        verdict = judge(
            of.program(), of.program(HEAD + after), of.workload, device="emulated", options=options, kept=kept
        )
    stage = verdict.stage("check")
    assert stage is not None
    return stage


@pytest.mark.parametrize(
    ("before", "after"),
    first_now([(SUM, COMPENSATED), (COMPENSATED, SUM), (LOG_SUM, ASKED)], 2),
)
def test_what_only_infinities_make_nan_is_needed_of_the_inputs(before, after):
    stage = checked(before, after)
    assert stage.status == "pass" and conditions(stage) == ["finite(x)"]
    assert "with numbers for infinities it agrees" in stage.details["conditions"][0]["evidence"]


def test_both_alike_need_nothing():
    stage = checked(SUM, SUM.replace("s += r[c]", "s = r[c] + s"))
    assert stage.status == "pass" and conditions(stage) == []


@pytest.mark.parametrize(
    ("before", "after"),
    first_now(
        [
            (
                SUM.replace("s += r[c]", "if (r[c] == r[c]) s += r[c]"),
                SUM,
            ),  # a NaN that the baseline leaves out
            (SUM, SUM.replace("= s;", "= s != s || isinf(s) ? 0.0f : s;")),  # one that is hidden
            (LOG_SUM.replace("= m +", "= m == -INFINITY ? 0.0f : m +"), LOG_SUM),  # masked rows
            (LOG_SUM, ASKED.replace("m + logf(s)", "m == -INFINITY ? 0.0f : m + logf(s)")),
            (LOG_SUM, LOG_SUM.replace("m = -INFINITY", "m = -4000.5f")),  # a number for a row of infinities
            (LOG_SUM, CARRIED),  # rows of which a part is masked, which has a maximum of its own
        ],
        3,
    ),
)
def test_nans_of_nans_hidden_ones_and_masked_rows_are_wrong(before, after):
    assert checked(before, after).status == "fail"


WEIGHED = [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,C"), ("w", "input", "float32", "2"),
           ("C", "scalar", "int32", "C")]  # fmt: skip
OF_WEIGHTS = """__global__ void kernel(float *y, const float *x, const float *w, int C) {
    const float *r = x + (size_t)blockIdx.x * C;
    for (int c = 0; c < C; c++) {
        float s = w[1] * r[c];
        LAST
        y[(size_t)blockIdx.x * C + c] = s;
    }
}
"""
LEFT_OUT = "if (c > 0) s += w[0] * r[c - 1];"


@pytest.mark.parametrize(
    ("last", "needed"),
    [
        ("s += w[0] * (c > 0 ? r[c - 1] : 0.0f);", ["finite(w)"]),
        ("if (c > 0 && r[c - 1] == r[c - 1]) s += w[0] * r[c - 1];", None),
    ],
    ids=["a weight beside the row", "NaNs that are left out"],
)
def test_what_is_multiplied_by_nothing_but_zero_is_needed_finite(last, needed):
    text = OF_WEIGHTS.replace("LAST", LEFT_OUT)
    of = ground("kernel", text, {"N": [3, 5], "C": [8, 20]}, WEIGHED, "N", 1, {"N": 64, "C": 128})
    options = GateOptions(seed=7, callers_seconds=0)
    candidate = of.program(OF_WEIGHTS.replace("LAST", last))
    stage = judge(of.program(), candidate, of.workload, device="emulated", options=options).stage("check")
    assert stage is not None
    assert (conditions(stage) if stage.status == "pass" else None) == needed, stage.reason


PLACES = [("y", "output", "int32", "N"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")]
ARGMAX = """int at = 0;
    for (int c = 1; c < C; c++) if (r[c] > r[at]) at = c;
    y[blockIdx.x] = at;
}
"""


@pytest.mark.parametrize(
    ("changed", "needed"),
    [
        ("if (!(r[c] <= r[at])) at = c;", ["finite(x)"]),
        ("if (r[c] > r[at] || isinf(r[c])) at = c;", None),
    ],
    ids=["another place for a NaN", "another place for an infinity"],
)
def test_places_of_nans_are_in_no_order(changed, needed):
    head = HEAD.replace("float *y", "int *y")
    of = ground("kernel", head + ARGMAX, {"N": [3, 5], "C": [8, 20]}, PLACES, "N", 1, {"N": 64, "C": 128})
    options = GateOptions(seed=7, callers_seconds=0)
    candidate = of.program(head + ARGMAX.replace("if (r[c] > r[at]) at = c;", changed))
    stage = judge(of.program(), candidate, of.workload, device="emulated", options=options).stage("check")
    assert stage is not None
    assert (conditions(stage) if stage.status == "pass" else None) == needed, stage.reason


RATED = [*PLACES[:2], ("e", "input", "float32", "N,C"), PLACES[2]]
QUOTIENTS = """__global__ void kernel(int *y, const float *x, const float *e, int C) {
    const float *r = x + (size_t)blockIdx.x * C, *d = e + (size_t)blockIdx.x * C;
    int at = 0; float most = -INFINITY;
    for (int c = 0; c < C; c++) { float q = r[c] / d[c]; if (TAKE) { most = q; at = c; } }
    y[blockIdx.x] = at;
}
"""


@pytest.mark.parametrize(
    ("changed", "needed"),
    [
        ("!(q <= most)", ["(range(e) <= -1.18e-38 or range(e) >= 1.18e-38)"]),
        ("q > most || r[c] == 0.0f", None),
    ],
    ids=["another place for a NaN", "another place for a zero"],
)
def test_places_of_quotients_of_zeros_are_in_no_order(changed: str, needed: list[str] | None) -> None:
    before = QUOTIENTS.replace("TAKE", "q > most")
    of = ground("kernel", before, {"N": [3, 5], "C": [8, 20]}, RATED, "N", 1, {"N": 64, "C": 128})
    options = GateOptions(seed=7, callers_seconds=0)
    candidate = of.program(QUOTIENTS.replace("TAKE", changed))
    stage = judge(of.program(), candidate, of.workload, device="emulated", options=options).stage("check")
    assert stage is not None
    exprs = conditions(stage) if stage.status == "pass" else None
    assert (exprs and [one for one in exprs if "range(e)" in one]) == needed, stage.reason
