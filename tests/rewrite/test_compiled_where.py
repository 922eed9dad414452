"""A candidate that compiles at the sizes of callers and not at those that are checked."""

from __future__ import annotations

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import parse_workload
from kernel_lineage.rewrite.compiled_where import where_it_compiles
from workload_texts import workload_text

WORKLOAD = workload_text(
    "k",
    "D = [8]\nN = [40]\n[[profile_dims]]\nD = 128\nN = 4096\n[[profile_dims]]\nD = 64\nN = 4096",
    'grid = ["N"]\n[launch.constexpr]\nD = "D"\nBLOCK = "next_power_of_2(N)"',
    "x: input float32 [N, D]",
    "out: output float32 [N]",
    language="triton",
)


def verdict(code: Reason, reason: str) -> Verdict:
    outcome = Outcome.REJECTED if code is Reason.CANDIDATE_DOES_NOT_COMPILE else Outcome.ACCEPTED
    return Verdict(
        outcome=outcome, code=code, reason=reason, kernel="k", stages=[], inputs_hash="0", candidate=None
    )


def judged(least: dict[str, int], *workloads: str) -> list[tuple[Verdict, list[dict[str, int]]]]:
    """The verdicts on workloads by a compiler that takes no smaller sizes, each with the shapes that were checked."""
    asked: list[GateRequest] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        small = [n for dims in request.workload.shapes() for n in least if dims[n] < least[n]]
        return verdict(
            *((Reason.CANDIDATE_DOES_NOT_COMPILE, "too small") if small else (Reason.FASTER, "right"))
        )

    program = Program(
        "triton", "", "k", LaunchSpec(("N",), constexpr={"D": "D", "BLOCK": "next_power_of_2(N)"})
    )
    judge_where = where_it_compiles(judge)
    answers = []
    for text in workloads:
        answer = judge_where(GateRequest.of(program, program, parse_workload(text)))
        answers.append((answer, [dict(dims) for dims in asked[-1].workload.shapes()]))
    return answers


def test_what_no_caller_comes_with_is_a_condition():
    ((answer, shapes),) = judged({"D": 16}, WORKLOAD)
    assert answer.code is Reason.FASTER and {shape["D"] for shape in shapes} <= {64, 128}
    assert answer.reason == "right; only where D == 64 or D == 128: elsewhere it does not compile (too small)"


def test_a_size_that_the_kernel_is_compiled_for_through_others_is_tried_last():
    ((answer, shapes),) = judged({"N": 1024}, WORKLOAD)
    assert answer.code is Reason.FASTER and {shape["N"] for shape in shapes} == {4096}
    assert "N == 4096" in answer.reason


def test_a_candidate_that_callers_cannot_compile_is_rejected():
    ((answer, _),) = judged({"D": 256}, WORKLOAD)
    assert answer.code is Reason.CANDIDATE_DOES_NOT_COMPILE and answer.reason == "too small"


def test_another_element_type_is_judged_at_sizes_of_the_first():
    untimed = WORKLOAD.replace(WORKLOAD[WORKLOAD.index("[[profile") : WORKLOAD.index("[launch]")], "")
    (_, _), (answer, shapes) = judged({"D": 16}, WORKLOAD, untimed)
    assert answer.code is Reason.FASTER and {shape["D"] for shape in shapes} <= {64, 128}
