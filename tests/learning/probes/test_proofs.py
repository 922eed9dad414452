"""What proofs say of huge sizes, which no device runs: a step may need what its earlier state did not."""

import pytest

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.worker import Worker
from kernel_gate.workload import parse_workload
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.proofs import proved
from kernel_lineage.learning.probes.setting import base_of
from kernel_lineage.learning.probes.sufficiency import proofs_of
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
    (found,) = said_of(step(before, after, language=language)).conditions
    dims = found.counterexample.dims
    assert found.condition.expr == "N * C <= 2147483647"
    assert dims["N"] * dims["C"] > 2**31 - 1
    assert "which is no int32" in found.counterexample.said
    assert (found.confirmation.kept, found.confirmation.broken) == (
        10,
        10,
    ) and found.confirmation.share == 1.0


def test_what_the_earlier_state_needs_as_well_is_no_condition_of_the_step():
    assert said_of(step(SHORT_ROWS, SHORT_ROWS)).conditions == ()


def test_what_was_mended_is_no_condition_of_the_step():
    assert said_of(step(SHORT_ROWS, LONG_ROWS)).conditions == ()


def test_rows_along_the_second_axis_of_the_grid_end_where_the_device_does():
    said = said_of(step(LONG_ROWS, DOWN_THE_GRID, DOWN))
    (found,) = said.conditions
    assert found.condition.expr == "launch.grid.y <= 65535" and found.counterexample.dims["N"] == 65536
    assert found.confirmation.share == 1.0


def test_an_earlier_state_with_the_same_grid_says_nothing():
    asked = step(DOWN_THE_GRID, DOWN_THE_GRID, DOWN)
    same = Step("t1", asked.after, asked.after, asked.workload)
    assert said_of(same).conditions == ()


def test_a_sequence_of_launches_is_said_not_to_be_proved():
    asked = step(LONG_ROWS, "", None)
    sequence = asked.workload.model_copy(update={"launches": (object(),)})
    said = proved(
        Ground(base_of(Step("t1", asked.before, asked.after, sequence), {"N": 3, "C": 40}, 91)), 91, "t1"
    )
    assert said.conditions == () and "one launch" in said.why_not


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


def test_a_proved_condition_stands_in_the_report_with_its_origin_and_proof(worker):
    report = probe(step(LONG_ROWS, SHORT_ROWS), worker.judge, only=["proofs"])
    (found,) = report.conditions
    assert found.condition.origin is Origin.PROOF and found.condition.category is Category.SHAPE
    assert found.proof.startswith("with it no 32-bit integer overflows in the addresses of 2 accesses")
    assert found.counterexample.code == "address-overflow"
    assert found.counterexample.facts == found.counterexample.dims


NO_TAIL = """__global__ void twice(float* out, const float* x, int C) {
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = 2.0f * x[i];
}
"""


def test_a_condition_that_probes_found_is_proved_to_be_what_it_takes_at_every_size():
    asked = step(LONG_ROWS, NO_TAIL, LaunchSpec(("ceil_div(N * C, 32)",), ("32",)))
    ground = Ground(base_of(asked, {"N": 2, "C": 32}, 91))
    found = proofs_of(ground, ["N * C % 32 == 0", "N >= 1", "is_power_of_2(N)"])
    assert list(found) == ["N * C % 32 == 0"]
    assert found["N * C % 32 == 0"].startswith(
        "with it, and not without it, it is proved for all sizes that "
    )
    assert "the access of line 3 to x lies within it" in found["N * C % 32 == 0"]
