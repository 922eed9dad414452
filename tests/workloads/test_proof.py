"""Whether a workload sees wrong kernels: what becomes of mutants, and when a workload is not to be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.deadline import ends_within
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.workloads.advice import advice
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.document import MutantDocument, ProofDocument, proof_text
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.proof import _NO_TIME, Fate, Proof, Tried, fate_of, prove

SCALE = """\
__global__ void scale(float* out, const float* x, int N) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < N && i % 4 != 3) {
        out[i] = 2.0f * x[i];
    }
}

int main() {
    int N = 48;
    float *d_out;
    float *d_x;
    cudaMalloc(&d_out, N * sizeof(float));
    cudaMalloc(&d_x, N * sizeof(float));
    scale<<<(N + 31) / 32, 32>>>(d_out, d_x, N);
}
"""


def tried(kind: str, fate: Fate) -> Tried:
    return Tried(Mutant(f"{kind}:3", kind, kind, 3, "a", "b", b"", ""), fate, "")


@pytest.mark.long
def test_a_drafted_workload_is_tried_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    draft, proof = tried_draft(kernel_of(path, "scale"), path, per_kind=1, kinds=("zero_output", "sign_flip"))
    assert proof is not None
    out = draft.workload().argument("out")
    assert out is not None
    assert out.kind == "inout", "every fourth element is left alone, which the run has shown"
    assert proof.blind == "", proof_text(ProofDocument.of(proof, draft.workload()))
    assert [(t.mutant.kind, t.fate) for t in proof.tried] == [
        ("sign_flip", "killed"),
        ("zero_output", "killed"),
    ]


@pytest.mark.parametrize(
    ("fates", "blind"),
    [
        ([("zero_output", "killed"), ("dropped_term", "killed")], ""),
        ([("zero_output", "survived"), ("dropped_term", "killed")], "the output is zero"),
        ([("zero_output", "same"), ("zero_output", "killed"), ("dropped_term", "same")], ""),
        ([("zero_output", "same"), ("dropped_term", "same")], "no mutant was noticed"),
        ([("zero_output", "killed"), ("dropped_term", "survived")], "a term is dropped"),
        ([("zero_output", "killed"), ("dropped_term", "survived"), ("dropped_accumulation", "killed")], ""),
        ([("zero_output", "unbuildable")], "no mutant was noticed"),
        ([], "no mutant of the kernel could be made"),
    ],
)
def test_a_workload_must_notice_a_zero_output_and_a_dropped_term(
    fates: list[tuple[str, Fate]], blind: str
) -> None:
    message = Proof("", tuple(tried(kind, fate) for kind, fate in fates)).blind
    assert blind in message
    assert bool(blind) == bool(message)


def test_mutants_that_no_time_was_left_for_do_not_speak_against_a_workload() -> None:
    mutant = tried("zero_output", "undecided").mutant
    late = Tried(mutant, "undecided", _NO_TIME)
    assert Proof("", (late,)).blind.startswith("no time was left to try a mutant")
    assert Proof("", (tried("zero_output", "killed"), late)).blind == ""


def test_a_kernel_that_fails_against_itself_proves_nothing() -> None:
    assert "does not pass against itself: out of bounds" in Proof("out of bounds").blind


def test_survivors_lead_to_advice(tmp_path: Path) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    workload = draft_of(kernel_of(path, "scale"), path).workload()
    assert advice([tried("wrong_k_slice", "survived")], workload) == (
        "a size that takes several rounds: N = [48, 96]",
    )
    promised = workload.model_copy(update={"promises": ("N % 48 == 0",)})
    assert "promises" in advice([tried("dropped_guard", "survived")], promised)[0]
    assert advice([tried("zero_output", "survived")], workload) == ()


def test_a_kernel_that_never_ends_costs_what_the_caller_has(tmp_path: Path) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    kernel = kernel_of(path, "scale")
    workload = draft_of(kernel, path, measure=False).workload()
    path.write_text(
        SCALE.replace("2.0f * x[i];", "2.0f * x[i];\n        while (x[i] != 0.5f) { out[i] += 1.0f; }")
    )
    with ends_within(1):
        proof = prove(kernel_of(path, "scale"), path, workload, kinds=(), jobs=1, seconds=30)
    assert proof.baseline.startswith(("ended after 1 s", "ended after 0.9")), proof.baseline
    assert proof.cut and proof.blind.startswith("no time was left"), proof.blind


def test_a_mutant_that_leaves_a_statement_out_is_told() -> None:
    left_out = {
        "id": "a",
        "kind": "barrier",
        "line": 3,
        "before": "__syncthreads();",
        "after": "",
        "fate": "killed",
        "reason": "",
    }
    proof = ProofDocument.model_construct(
        mutants=[MutantDocument(**left_out)], killed=1, survived=0, kinds=["barrier"], blind="", advice=[]
    )
    assert "barrier, line 3: left out" in proof_text(proof)


@pytest.mark.parametrize(
    ("code", "fate"),
    [(Reason.WRONG_AFTER_TIMING, "killed"), (Reason.SLOWER, "survived"), (Reason.NOT_FASTER, "survived")],
)
def test_a_mutant_that_is_wrong_at_the_callers_sizes_alone_is_noticed(code: Reason, fate: str) -> None:
    mutant = Mutant("dropped_accumulation:3", "dropped_accumulation", "", 3, "a += b", "a = b", b"", "")
    stages = (
        *(Stage(name=name, status=StageStatus.PASS) for name in ("build", "check", "sanitize")),
        Stage(name="profile", status=StageStatus.FAIL, code=code, reason=code.value),
    )
    verdict = Verdict(outcome=Outcome.REJECTED, code=code, reason=code.value, stages=stages, inputs_hash="")
    assert fate_of(mutant, verdict).fate == fate
