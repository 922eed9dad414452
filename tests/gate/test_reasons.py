"""Every reason code is whole, is given by the gate, and is what some run was seen to give."""

import re
from pathlib import Path

import pytest

from gate.corpus import entries
from gate.programs import affine, workload
from gate.timed_device import timed_verdict
from kernel_gate.build.errors import CompilerMissing
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.oracle import OracleProcess
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.speed import combine, judge_speed
from kernel_gate.verdict import Outcome, ShapeSpeed, SpeedState, StageStatus, Verdict
from kernel_gate.workload import Workload

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("reason", Reason)
def test_a_code_says_what_it_means_and_what_to_do(reason: Reason):
    assert reason.value == reason.name.lower().replace("_", "-")
    for text in (reason.means, reason.remedy):
        assert text == text.strip() and text.endswith(".") and "\n" not in text
    assert reason.leads_to


def _sources(folder: str, pattern: str) -> str:
    here = Path(__file__)
    paths = [p for p in sorted((ROOT / folder).rglob(pattern)) if p.name not in {"reasons.py", here.name}]
    return "\n".join(path.read_text("utf-8") for path in paths)


def _named(text: str) -> set[Reason]:
    names = set(re.findall(r"\bReason\.(\w+)", text))
    return {reason for reason in Reason if reason.name in names}


def test_every_code_is_given_somewhere_in_the_gate():
    text = _sources("gate/kernel_gate", "*.py")
    kinds = {reason for kind, reason in FAULT_REASONS.items() if f'"{kind}"' in text}
    assert set(Reason) - _named(text) - kinds == set()


def test_every_code_is_seen_by_a_test():
    text = Path(__file__).read_text("utf-8").partition("def test_every_code_is_seen_by_a_test")[2]
    text += _sources("tests", "*.py")
    corpus = {code for entry in entries() for code in entry.case["expect"]["codes"]}
    assert set(Reason) - _named(text) - corpus == set()


def test_every_kind_of_fault_has_a_code():
    text = _sources("gate/kernel_gate", "*.py")
    kinds = set(re.findall(r"(?:Fault|\.stop|\.fault)\(\s*\"(\w+)\"", text))
    assert len(kinds) > 8
    assert kinds <= set(FAULT_REASONS)


def judged(candidate: Program, baseline: Program | None = None, **rest: object) -> Verdict:
    return judge(baseline or affine(), candidate, rest.pop("workload", workload()), device="emulated", **rest)  # type: ignore[arg-type]


TRAPPING = affine("if (i < n)", 'if (i == 3) asm("trap;"); if (i < n)')
MISALIGNED = affine("if (i < n) y[i]", "if (i < n) *(float2 *)(y + 1) = make_float2(0, 0); if (i < n) y[i]")
WAITING = affine("if (i < n) y", "if (i < 7) __syncthreads(); if (i < n) y")
SHUFFLING = affine(
    "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
    "if (threadIdx.x % 32 == 31) { if (i < n) y[i] = 2.0f * x[i] + 1.0f; return; }\n"
    "    float v = __shfl_down_sync(0xffffffffu, 1.0f, 1);\n"
    "    if (i < n) y[i] = 2.0f * x[i] + v;",
)
COUNTING = affine(
    "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
    "__shared__ int k; if (threadIdx.x == 0) k = atomicAdd(&count, 1); __syncthreads();\n"
    "    if (i < n) y[i] = 2.0f * x[i] + 1.0f + 1e-7f * k;",
)
COUNTING = Program("cuda", "__device__ int count;\n" + COUNTING.source, "affine", name="affine.cu")
UNSUPPORTED = affine(
    "if (i < n)",
    'asm volatile("{.reg .b32 w; .reg .b64 h; mov.b64 h, 0; txq.width.b32 w, [h];}"); if (i < n)',
)


@pytest.mark.parametrize(
    ("candidate", "outcome", "code"),
    [
        (affine("2.0f", "two"), Outcome.REJECTED, Reason.CANDIDATE_DOES_NOT_COMPILE),
        (affine("affine(", "other("), Outcome.REJECTED, Reason.UNKNOWN_KERNEL),
        (affine(flags=("-Xptxas=-O0",)), Outcome.REJECTED, Reason.SOURCE_NOT_ALLOWED),
        (affine(launch=LaunchSpec(("N // 2",), ("64",))), Outcome.REJECTED, Reason.LAUNCH_IMPOSSIBLE),
        (affine(launch=LaunchSpec(("M",), ("64",))), Outcome.REJECTED, Reason.LAUNCH_NOT_COMPUTABLE),
        (affine(arguments=("y", "x", "m")), Outcome.REJECTED, Reason.ARGUMENTS_DIFFER),
        (affine(", int n", ", double n"), Outcome.REJECTED, Reason.LAUNCH_FAILED),
        (affine("2.0f", "2.5f"), Outcome.REJECTED, Reason.WRONG_VALUE),
        (affine("i < n", "i < n - 1"), Outcome.REJECTED, Reason.NOT_WRITTEN),
        (affine("2.0f * x[i]", "fminf(2.0f * x[i], 1e30f)"), Outcome.REJECTED, Reason.NAN_MASK_DIFFERS),
        (affine("if (i < n) y[i]", "y[i]"), Outcome.REJECTED, Reason.OUT_OF_BOUNDS),
        (TRAPPING, Outcome.REJECTED, Reason.TRAP),
        (MISALIGNED, Outcome.REJECTED, Reason.MISALIGNED),
        (WAITING, Outcome.REJECTED, Reason.BARRIER),
        (SHUFFLING, Outcome.REJECTED, Reason.SHUFFLE),
        (COUNTING, Outcome.REJECTED, Reason.NOT_REPEATABLE),
        (UNSUPPORTED, Outcome.INCONCLUSIVE, Reason.UNSUPPORTED_INSTRUCTION),
        (affine("1.0f", "1.00f"), Outcome.INCONCLUSIVE, Reason.NOT_PROFILED),
    ],
    ids=lambda value: str(value) if isinstance(value, Reason) else "",
)
def test_what_a_candidate_earns(candidate: Program, outcome: Outcome, code: Reason):
    v = judged(candidate)
    assert (v.outcome, v.code) == (outcome, code), v.reason
    assert v.standing in code.leads_to


@pytest.mark.parametrize(
    ("baseline", "code", "cause"),
    [
        (affine("2.0f", "two"), Reason.BASELINE_DOES_NOT_COMPILE, None),
        (affine("affine(", "other("), Reason.UNKNOWN_KERNEL, None),
        (affine("i < n", "i < n - 1"), Reason.BASELINE_FAILS_CHECK, Reason.NOT_WRITTEN),
        (affine("if (i < n) y[i]", "y[i]"), Reason.BASELINE_FAILS_CHECK, Reason.OUT_OF_BOUNDS),
    ],
)
def test_a_baseline_at_fault_is_never_a_rejection(baseline: Program, code: Reason, cause: Reason | None):
    v = judged(affine(), baseline)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, code), v.reason
    decided = next(stage for stage in v.stages if stage.code is code)
    assert decided.details.get("cause") == cause


def with_oracle(folder: Path, text: str) -> Workload:
    (folder / "oracle.py").write_text(text)
    return workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": folder})


def test_what_the_oracle_earns(tmp_path):
    failing = with_oracle(tmp_path, "def affine(x, **_):\n    raise ValueError('no')\n")
    assert judged(affine(), workload=failing).code is Reason.ORACLE_FAILED
    right = with_oracle(tmp_path, "def affine(x, **_):\n    return 2 * x + 1\n")
    imprecise = affine("2.0f * x[i] + 1.0f", "(2.0f * x[i] + 1.0f) * (1.0f + 6e-7f)")
    assert judged(imprecise, workload=right).code is Reason.LESS_PRECISE
    meddling = f"def affine(x, **_):\n    open({str(tmp_path / 'oracle.py')!r}, 'a').write('#')\n    return 2 * x + 1\n"
    assert judged(affine(), workload=with_oracle(tmp_path, meddling)).code is Reason.ORACLE_FAILED


def test_an_oracle_that_changes_meanwhile_is_noticed(tmp_path, monkeypatch):
    workload = with_oracle(tmp_path, "def affine(x, **_):\n    return 2 * x + 1\n")
    answered = OracleProcess.expected

    def changed(self, case, inputs):
        with (tmp_path / "oracle.py").open("a") as file:
            file.write("#")
        return answered(self, case, inputs)

    monkeypatch.setattr(OracleProcess, "expected", changed)
    assert judged(affine(), workload=workload).code is Reason.COMPANION_CHANGED


def test_what_the_workload_earns(tmp_path):
    absent = workload(**{'name = "x"': 'name = "x"\nvalues = "file(x.npy)"'}).model_copy(
        update={"folder": tmp_path}
    )
    assert judged(affine(), workload=absent).code is Reason.WORKLOAD_DATA
    spent = judged(affine(), options=GateOptions(check_seconds=1e-9))
    assert spent.code is Reason.CASE_TIME_SPENT


def test_what_a_compiler_earns(monkeypatch, nothing_built):
    def missing(*_: object, **__: object) -> None:
        raise CompilerMissing("nvcc was not found")

    monkeypatch.setattr("kernel_gate.building.compile_program", missing)
    assert judged(affine()).code is Reason.COMPILER_MISSING


@pytest.mark.long
def test_a_large_case_is_watched_where_none_is_small():
    large = workload(**{"N = [1, 3]\nC = [32, 70]": "N = [1]\nC = [140000]"})
    v = timed_verdict(affine(), affine(), large, hidden=False)
    watched = v.stage("sanitize")
    assert watched is not None and watched.status is StageStatus.PASS, v.reason
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.NO_PROFILE_DIMS), v.reason


def test_what_no_detector_has_the_time_to_watch_earns(monkeypatch):
    monkeypatch.setattr("kernel_gate.stages.sanitize._EMULATED_SECONDS", 0.0)
    v = timed_verdict(affine(), affine(), workload(), hidden=False)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.SANITIZER_UNAVAILABLE), v.reason
    assert "no detector could watch this kernel" in v.reason


def test_stages_that_were_not_reached_say_so():
    v = judged(affine("2.0f", "two"))
    assert [stage.code for stage in v.stages[1:]] == [Reason.RUN_ENDED] * 3


SHAPE = ShapeSpeed(
    dims={"C": 8}, baseline_us=40, candidate_us=40, median=1, low=1, high=1, noise=0, state=SpeedState.SAME
)


@pytest.mark.parametrize(
    ("states", "need", "code"),
    [
        (["fast"], "faster", Reason.FASTER),
        (["same"], "not_slower", Reason.SAME_SPEED),
        (["same"], "faster", Reason.NOT_FASTER),
        (["slow"], "faster", Reason.SLOWER),
        (["fast", "slow"], "faster", Reason.SLOWER_ON_A_SHAPE),
        (["fast", "ambiguous"], "faster", Reason.AMBIGUOUS_CYCLES),
    ],
)
def test_what_times_earn(states, need, code):
    shapes = [SHAPE.model_copy(update={"state": SpeedState(state)}) for state in states]
    details = [
        {"state": s, "code": Reason.AMBIGUOUS_CYCLES, "reason": "", "implausible": False} for s in states
    ]
    stage = judge_speed(combine(shapes), GateOptions(need=need), details)
    leads_to = {StageStatus.PASS: "accepted", StageStatus.FAIL: "rejected"}.get(stage.status, code.unjudged)
    assert stage.code is code and leads_to in code.leads_to
