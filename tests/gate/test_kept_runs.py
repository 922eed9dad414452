"""What a baseline did is kept for the next candidate, and nothing of a verdict changes by it."""

import pytest

from kernel_gate.execution import Execution
from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.workload import parse_workload

KERNEL = """GLOBAL
__global__ void scale(float *y, const float *x, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
    COUNT
}
"""
WORKLOAD = parse_workload("""
kernel = "scale"
language = "cuda"
dims = { n = [40, 64] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["ceil_div(n, 32)"], block = [32] }
""")
PLAIN = KERNEL.replace("GLOBAL", "").replace("COUNT", "")
COUNTS = KERNEL.replace("GLOBAL", "__device__ int launches;").replace("COUNT", "if (i == 0) launches += 1;")


@pytest.fixture
def ran(monkeypatch):
    """The names of the programs that were run, in turn."""
    names: list[str] = []
    run = Execution.run

    def watched(self, inputs, pattern):
        names.append(self._program.name)
        return run(self, inputs, pattern)

    monkeypatch.setattr(Execution, "run", watched)
    return names


def judged(kept: Kept, before: str, after: str, seed: int = 5):
    programs = Program("cuda", before, "scale", name="before"), Program("cuda", after, "scale", name="after")
    options = GateOptions(seed=seed, callers_seconds=0, algebra_seconds=0)
    verdict = judge(*programs, WORKLOAD, device="emulated", options=options, kept=kept)
    return verdict.outcome, verdict.code, verdict.reason, verdict.stage("check").details["passed"]


def with_what_ran(ran: list[str], *of):
    ran.clear()
    return judged(*of), ran.count("before"), ran.count("after")


@pytest.mark.parametrize(
    "after", [PLAIN.replace("2.0f * x[i]", "x[i] + x[i]"), PLAIN.replace("2.0f", "3.0f")]
)
def test_a_baseline_runs_once_for_all_candidates_of_one_seed(ran, after):
    with Kept() as kept:
        alone, first, own = with_what_ran(ran, kept, PLAIN, after)
        again, few, same = with_what_ran(ran, kept, PLAIN, after)
        other, more, _ = with_what_ran(ran, kept, PLAIN, after, 6)
    assert alone == again
    assert same == own
    assert few <= 2 < first  # where values decide is looked at each time
    assert more > few
    assert other[0] == alone[0]


def test_runs_of_another_baseline_are_not_taken(ran):
    thrice = PLAIN.replace("2.0f", "3.0f")
    with Kept() as kept:
        assert judged(kept, PLAIN, thrice)[1] == "wrong-value"
        right, runs, _ = with_what_ran(ran, kept, thrice, thrice.replace("3.0f * x[i]", "x[i] * 3.0f"))
    assert right[1] == "not-profiled"
    assert runs > 0


def test_a_baseline_that_keeps_a_variable_runs_each_time(ran):
    after = COUNTS.replace("2.0f * x[i]", "x[i] + x[i]")
    with Kept() as kept:
        first = with_what_ran(ran, kept, COUNTS, after)
        again = with_what_ran(ran, kept, COUNTS, after)
    assert first[0] == again[0]
    assert again[1] > first[1] // 2 > 0
