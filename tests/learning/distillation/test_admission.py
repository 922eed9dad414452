"""Admission: a proposal is carried over to kernels that it was not learned from, and the gate decides."""

from __future__ import annotations

from datetime import date

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload
from kernel_lineage.learning.distillation.admission import Carry, HeldOut, Use, admissions, carrier
from kernel_lineage.learning.distillation.distil import distil
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from learning.distillation.lessons import AFTER, BEFORE, CARDS, condition, lesson

WORKLOAD = Workload.model_validate(
    {
        "kernel": "gain",
        "language": "cuda",
        "source": "gain.cu",
        "dims": {"N": [3], "OC": [64, 256]},
        "args": [
            {"name": "dst", "kind": "output", "dtype": "float32", "shape": ["N", "OC"], "align": 16},
            {"name": "src", "kind": "input", "dtype": "float32", "shape": ["N", "OC"], "align": 16},
            {"name": "factor", "kind": "scalar", "dtype": "float32", "value": "3"},
            {"name": "OC", "kind": "scalar", "dtype": "int32", "value": "OC"},
        ],
        "launch": {"grid": ["N"], "block": [64]},
    }
)
STEP = Step(
    "1→2", Program("cuda", BEFORE, "gain"), Program("cuda", AFTER, "gain"), WORKLOAD, ("vectorised_access",)
)


def carried_by(judge: Judge) -> Carry:
    return carrier(
        judge, device="emulated", device_facts=Facts(), command="klineage replay", on=date(2026, 1, 1)
    )


def verdict(outcome: Outcome, reason: str) -> Verdict:
    stages = [Stage(name=name, status=StageStatus.PASS) for name in ("build", "check", "sanitize", "profile")]
    return Verdict(
        outcome=outcome,
        reason=reason,
        stages=stages,
        environment={"device": {"name": "some GPU"}},
        inputs_hash="",
    )


def test_an_accepted_use_admits_and_a_rejected_one_stays_beside_it():
    distilled = distil([lesson(), lesson("3→4", lineage="other")], CARDS)
    asked: list[GateRequest] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        return verdict(Outcome.ACCEPTED, "faster") if len(asked) == 1 else verdict(Outcome.REJECTED, "slower")

    other = Step("3→4", STEP.before, STEP.after, WORKLOAD)
    (admission,) = admissions(distilled, CARDS, {"1→2": STEP, "3→4": other}, carried_by(judge))
    assert admission.admitted
    assert [use.reason for use in admission.uses] == ["faster", "slower"]
    uses = admission.proposal.skill.evidence[-2:]
    assert [(e.outcome, e.held_out) for e in uses] == [("accepted", True), ("rejected", True)]
    # The assist wrote what was gated, from the earlier state and the card alone.
    assert "float4" in asked[0].candidate.source
    assert asked[0].candidate.source != AFTER


def test_the_card_that_is_tried_is_without_what_the_kernel_taught():
    """Its own condition, with which it would be refused or guarded by what it itself showed, is not in the card."""
    cards: list[Skill] = []

    def carry(skill: Skill, step: Step) -> Use:
        cards.append(skill)
        return Use(step.transition, None, "not tried")

    lessons = [
        lesson("1→2", conditions=(condition("OC % 32 == 0"), condition("noalias(dst, src)"))),
        lesson("3→4", lineage="other", conditions=(condition("OC <= 4096"),)),
    ]
    tuple(admissions(distil(lessons, CARDS), CARDS, {"1→2": STEP, "3→4": STEP}, carry))
    first, second = ({c.expr for c in skill.conditions} for skill in cards)
    assert "C <= 4096" in first
    assert "noalias(y, x)" not in first
    assert "C <= 4096" not in second


def test_a_skill_is_tried_on_kernels_at_hand_that_have_a_place_for_it_and_taught_it_nothing():
    asked: list[str] = []

    def carry(_skill: Skill, step: Step) -> Use:
        asked.append(step.transition)
        return Use(step.transition, None, "not tried")

    def held(lineage: str, name: str, source: str = BEFORE) -> HeldOut:
        step = Step(name, Program("cuda", source, "gain"), STEP.after, WORKLOAD)
        held_out = HeldOut.of(lineage, step)
        assert held_out is not None
        return held_out

    others = [held("gain", "its own lineage"), held("other", "elsewhere"), held("other", "has it", AFTER)]
    (admission,) = admissions(distil([lesson()], CARDS), CARDS, {"1→2": STEP}, carry, others)
    assert asked == ["elsewhere", "1→2"]
    # That a kernel at hand takes no candidate says nothing of the skill; that the step's own takes none does.
    assert [use.transition for use in admission.uses] == ["1→2"]


def test_a_skill_of_the_launch_is_carried_to_a_program_whose_launch_is_told_beside_it():
    source = BEFORE[: BEFORE.index("{")] + (
        "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < OC) {\n        dst[i] = factor * src[i];\n    }\n}\n"
    )
    program = Program("cuda", source, "gain", launch=LaunchSpec(("ceil_div(OC, 64)",), ("64",)))
    held = HeldOut.of("other", Step("elsewhere", program, program, WORKLOAD))
    stride = next(s for s in CARDS if s.id == "grid-stride-loop")
    assert held is not None and held.takes(stride)
    asked: list[GateRequest] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        return verdict(Outcome.ACCEPTED, "faster")

    assert carried_by(judge)(stride, held.step).evidence is not None
    assert "element += stride" in asked[0].candidate.source


def test_when_it_is_late_no_use_is_begun():
    (admission,) = admissions(
        distil([lesson()], CARDS), CARDS, {"1→2": STEP}, carried_by(lambda _: 1 / 0), late=lambda: True
    )
    assert admission.uses == ()


def test_on_the_emulated_device_nothing_is_admitted_and_the_reason_is_told():
    with Worker() as worker:
        (admission,) = admissions(distil([lesson()], CARDS), CARDS, {"1→2": STEP}, carried_by(worker.judge))
    (use,) = admission.uses
    assert use.evidence is not None
    assert use.evidence.outcome == "inconclusive"
    assert "not profiled" in admission.reason


def test_a_kernel_that_the_skill_cannot_be_carried_to_says_why():
    flags = WORKLOAD.model_copy(
        update={
            "args": tuple(
                a.model_copy(update={"dtype": "bool"}) if a.name in ("dst", "src") else a
                for a in WORKLOAD.args
            )
        }
    )
    of_flags = BEFORE.replace("float* dst", "bool* dst").replace("float* src", "bool* src")
    step = Step("1→2", Program("cuda", of_flags, "gain"), STEP.after, flags)
    distilled = distil([lesson()], CARDS)
    (admission,) = admissions(
        distilled, CARDS, {"1→2": step}, carried_by(lambda _: verdict(Outcome.ACCEPTED, ""))
    )
    assert admission.uses[0].evidence is None
    assert not admission.admitted
    assert admission.reason
