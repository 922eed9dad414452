"""What proofs say of huge sizes, which no device runs: a step may need what its earlier state did not."""

import pytest

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.workload import parse_workload
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.proofs import proved
from kernel_lineage.learning.probes.setting import base_of
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.card import Category, Origin
from longer import first_now

LONG_ROWS = """__global__ void twice(float* out, const float* x, int C) {
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        out[(size_t)blockIdx.x * C + c] = 2.0f * x[(size_t)blockIdx.x * C + c];
    }
}
"""
SHORT_ROWS = LONG_ROWS.replace("(size_t)", "(int)")
DOWN_THE_GRID = LONG_ROWS.replace("blockIdx.x", "blockIdx.y")
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
TRITON_LONG = (
    HEAD
    + """def twice(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    tl.store(out + row * C + columns, 2.0 * tl.load(x + row * C + columns, mask=columns < C), mask=columns < C)
"""
)

TRITON_SHORT = TRITON_LONG.replace(".to(tl.int64)", "")
DOWN = LaunchSpec(("1", "N"), ("32",))


def step(before: str, after: str, launch: LaunchSpec | None = None, language: str = "cuda") -> Step:
    workload = parse_workload(f"""
kernel = "twice"
language = "{language}"
dims = {{ N = [3], C = [40] }}
args = [
  {{ name = "out", kind = "output", dtype = "float32", shape = ["N", "C"] }},
  {{ name = "x", kind = "input", dtype = "float32", shape = ["N", "C"] }},
  {{ name = "C", kind = "scalar", dtype = "int32", value = "C" }},
]
[launch]
grid = ["N"]
{"block = [32]" if language == "cuda" else 'constexpr = { BLOCK = "next_power_of_2(C)" }'}
""")
    states = (
        Program(language, before, "twice", name="before"),
        Program(language, after, "twice", launch=launch, name="after"),
    )
    return Step("t1", *states, workload)


def said_of(asked: Step):
    return proved(Ground(base_of(asked, {"N": 3, "C": 40}, 91)), 91, "t1")


@pytest.mark.parametrize(
    ("language", "before", "after"),
    first_now([("cuda", LONG_ROWS, SHORT_ROWS), ("triton", TRITON_LONG, TRITON_SHORT)]),
)
def test_rows_that_start_at_32_bits_bound_the_size_of_the_buffer(language, before, after):
    (proved_condition,) = said_of(step(before, after, language=language)).conditions
    dims = proved_condition.counterexample.dims
    assert proved_condition.condition.expr == "N * C <= 2147483647"
    assert dims["N"] * dims["C"] > 2**31 - 1
    assert "which is no int32" in proved_condition.counterexample.said
    assert (proved_condition.confirmation.kept, proved_condition.confirmation.broken) == (
        10,
        10,
    ) and proved_condition.confirmation.share == 1.0


def test_what_the_earlier_state_needs_as_well_is_no_condition_of_the_step():
    assert said_of(step(SHORT_ROWS, SHORT_ROWS)).conditions == ()


def test_what_was_mended_is_no_condition_of_the_step():
    assert said_of(step(SHORT_ROWS, LONG_ROWS)).conditions == ()


def test_rows_along_the_second_axis_of_the_grid_end_where_the_device_does():
    report = said_of(step(LONG_ROWS, DOWN_THE_GRID, DOWN))
    (proved_condition,) = report.conditions
    assert (
        proved_condition.condition.expr == "launch.grid.y <= 65535"
        and proved_condition.counterexample.dims["N"] == 65536
    )
    assert proved_condition.confirmation.share == 1.0


def test_an_earlier_state_with_the_same_grid_says_nothing():
    asked = step(DOWN_THE_GRID, DOWN_THE_GRID, DOWN)
    same = Step("t1", asked.after, asked.after, asked.workload)
    assert said_of(same).conditions == ()


def test_a_sequence_of_launches_is_said_not_to_be_proved():
    asked = step(LONG_ROWS, "", None)
    sequence = asked.workload.model_copy(update={"launches": (object(),)})
    report = proved(
        Ground(base_of(Step("t1", asked.before, asked.after, sequence), {"N": 3, "C": 40}, 91)), 91, "t1"
    )
    assert report.conditions == () and "one launch" in report.why_not


def test_a_proved_condition_stands_in_the_report_with_its_origin(worker):
    report = probe(step(LONG_ROWS, SHORT_ROWS), worker.judge, only=["proofs"])
    (proved_condition,) = report.conditions
    assert (
        proved_condition.condition.origin is Origin.PROOF
        and proved_condition.condition.category is Category.SHAPE
    )
    assert proved_condition.counterexample.code == "address-overflow"
    assert proved_condition.counterexample.facts == proved_condition.counterexample.dims
