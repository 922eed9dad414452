"""compute-sanitizer on a GPU: planted faults, whose they are, and what a lost context costs. Run by `make test-gpu`."""

import pytest

from gate.on_gpu import judged
from gate.programs import affine, workload
from gate.test_cuda import timed_workload
from kernel_gate.build.compile import compile_program
from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.sanitizer.opinions import Tools
from kernel_gate.sanitizer.tool import TOOLS, SpareTools
from kernel_gate.shapes import MOST_WATCHED, elements
from kernel_gate.verdict import Outcome, StageStatus, Verdict

pytestmark = pytest.mark.gpu

CASES = [Case({"N": 1, "C": 32}, 1), Case({"N": 3, "C": 70}, 2)]
BODY = "    if (i < n) y[i] = 2.0f * x[i] + 1.0f;\n"
STAGED = """    __shared__ float s[64];
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    BARRIER
    if (i < n) y[i] = 2.0f * s[PLACE] + 1.0f;
"""
IN_ORDER = STAGED.replace("BARRIER", "__syncthreads();").replace("PLACE", "threadIdx.x")
PLANTED = {
    "a read out of bounds": (
        "    if (i < n) y[i] = 2.0f * x[i + 1] + 1.0f;\n",
        "memcheck",
        "out_of_bounds",
        3,
    ),
    "a write out of bounds": (BODY.replace("i < n", "i <= n"), "memcheck", "out_of_bounds", 3),
    "a misaligned vector": (
        "    if (i == 0 && n > 8) *reinterpret_cast<float4 *>(y + 1) = make_float4(1, 2, 3, 4);\n" + BODY,
        "memcheck",
        "misaligned",
        3,
    ),
    "a write beyond shared memory": (
        STAGED.replace("s[threadIdx.x] =", "s[threadIdx.x + 64] =")
        .replace("BARRIER", "__syncthreads();")
        .replace("PLACE", "threadIdx.x"),
        "memcheck",
        "out_of_bounds",
        4,
    ),
    "a missing barrier": (
        STAGED.replace("BARRIER", "").replace("PLACE", "63 - threadIdx.x"),
        "racecheck",
        "race",
        4,
    ),
    "an output that is read": (
        BODY.replace("2.0f * x[i]", "2.0f * x[i] + 0.0f * y[i]"),
        "initcheck",
        "uninitialised",
        3,
    ),
    "a barrier that not all reach": (
        STAGED.replace("BARRIER", "if (threadIdx.x < 40) __syncthreads();").replace("PLACE", "threadIdx.x"),
        "synccheck",
        "barrier",
        5,
    ),
}


def planted(text: str) -> Program:
    return affine(BODY, text)


@pytest.mark.parametrize(("text", "tool", "kind", "line"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_fault_is_found_with_its_line(text, tool, kind, line):
    program = planted(text)
    images = compile_program(program, "sm_90", want_cubin=True)
    with SpareTools() as spares, Tools(Built(program, images), workload(), CASES, spares) as tools:
        opinion = tools.opinion(60.0)
    faults = [(s.source, s.fault.kind, s.fault.line) for s in opinion.suspicions]
    assert (tool, kind, line) in faults, (faults, opinion)


@pytest.mark.parametrize(("text", "tool", "kind", "line"), PLANTED.values(), ids=PLANTED.keys())
def test_a_tool_that_has_watched_honest_programs_still_finds_the_fault(text, tool, kind, line):
    program = planted(text)
    honest = [Built(p, compile_program(p, "sm_90", want_cubin=True)) for p in (affine(), planted(IN_ORDER))]
    built = Built(program, compile_program(program, "sm_90", want_cubin=True))
    with SpareTools() as spares:
        processes = []
        for one in (*honest, *honest, built):
            with Tools(one, workload(), CASES, spares, [tool]) as tools:
                opinion = tools.opinion(60.0)
                assert opinion.missing == ""
                assert one is built or not opinion.suspicions
            processes.append(spares.waiting(tool))
    assert len({p for p in processes if p is not None}) == 1
    faults = [(s.source, s.fault.kind, s.fault.line) for s in opinion.suspicions]
    assert (tool, kind, line) in faults, (faults, opinion)


def test_an_honest_program_has_a_clean_bill():
    images = compile_program(affine(), "sm_90", want_cubin=True)
    with SpareTools() as spares, Tools(Built(affine(), images), workload(), CASES, spares) as tools:
        opinion = tools.opinion(60.0)
    assert (opinion.missing, opinion.suspicions, opinion.launches) == ("", (), 2)
    idle = {tool for tool, answer in opinion.more["tools"].items() if answer.startswith("not started")}
    assert (set(opinion.more["tools"]), idle) == (set(TOOLS), {"racecheck", "synccheck"})


def verdict(candidate: Program, baseline: Program | None = None, **options: object) -> Verdict:
    asked = GateOptions.model_validate({"need": "not_slower", **options})
    request = GateRequest.of(baseline or affine(), candidate, timed_workload(), device="cuda", options=asked)
    return judged(request)


USED = "2.0f * s[PLACE] + 1.0f"
UNUSED = "2.0f * x[i] + 1.0f + (s[PLACE] == 3e33f)"
"""Reads shared memory, and is right whatever is there."""
RACE = STAGED.replace("BARRIER", "").replace(USED, UNUSED).replace("PLACE", "63 - threadIdx.x")
HALF = STAGED.replace("s[threadIdx.x] =", "if (threadIdx.x < 32) s[threadIdx.x] =").replace(
    "BARRIER", "__syncthreads();"
)


def test_a_race_that_the_check_does_not_see_is_rejected():
    v = verdict(planted(RACE))
    assert v.outcome is Outcome.REJECTED
    assert v.reason.startswith("Rejected by sanitize: racecheck: "), v.reason
    assert v.code is Reason.RACE
    assert "affine.cu:" in v.reason


def test_a_race_that_the_baseline_has_as_well_is_not_the_candidates():
    v = verdict(planted(RACE), baseline=planted(RACE))
    assert v.outcome is Outcome.INCONCLUSIVE
    assert "the baseline has it as well" in v.reason


def test_shared_memory_that_nothing_wrote_is_the_emulated_devices_to_see():
    v = verdict(planted(HALF.replace(USED, UNUSED).replace("PLACE", "threadIdx.x")))
    assert v.outcome is Outcome.REJECTED, v.reason
    assert v.code is Reason.UNINITIALISED_READ


def test_an_illegal_address_has_its_line_and_costs_one_verdict():
    v = verdict(affine("y[i] = ", "y[i + (1ll << 40)] = "))
    assert v.outcome is Outcome.REJECTED
    assert "affine.cu:3" in v.reason and "memcheck" in v.reason, v.reason
    healthy = verdict(affine())
    assert [s.status for s in healthy.stages][:3] == [StageStatus.PASS] * 3, healthy.reason
    assert "compute-sanitizer: nothing found" in healthy.stages[2].reason


def test_a_kernel_that_no_small_shape_describes_is_watched_at_its_smallest():
    large = workload(
        **{
            "N = [1, 3]": "N = [4096]",
            "C = [32, 70]": "C = [64]",
            'language = "cuda"': 'language = "cuda"\npromises = ["N == 4096", "C == 64"]',
        }
    )
    assert elements(large, {"N": 4096, "C": 64}) > MOST_WATCHED
    v = judged(GateRequest.of(affine(), affine(), large, device="cuda"))
    assert v.stages[2].status is StageStatus.PASS, v.reason
    assert "compute-sanitizer: nothing found" in v.stages[2].reason
