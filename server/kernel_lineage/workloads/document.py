"""What `klineage workload … --json` prints."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kernel_gate.workload import Workload
from kernel_lineage.workloads.advice import advice
from kernel_lineage.workloads.proof import Fate, Proof

VERSION = 1


class MutantDocument(BaseModel):
    """One wrong version of the kernel and what became of it."""

    id: str
    kind: str
    line: int
    before: str
    after: str
    fate: Fate
    reason: str


class ProofDocument(BaseModel):
    """What a workload sees."""

    sees: bool
    blind: str
    """Why the workload cannot be trusted; "" when it can."""
    kinds: list[str]
    killed: int
    survived: int
    mutants: list[MutantDocument]
    advice: list[str]

    @classmethod
    def of(cls, proof: Proof, workload: Workload) -> ProofDocument:
        """The document of a proof."""
        return cls(
            sees=not proof.blind,
            blind=proof.blind,
            kinds=list(proof.kinds),
            killed=sum(t.fate == "killed" for t in proof.tried),
            survived=len(proof.survivors),
            mutants=[
                MutantDocument(
                    id=t.mutant.id,
                    kind=t.mutant.kind,
                    line=t.mutant.line,
                    before=t.mutant.before,
                    after=t.mutant.after,
                    fate=t.fate,
                    reason=t.reason,
                )
                for t in proof.tried
            ],
            advice=list(advice(proof.survivors, workload)),
        )


class WorkloadDocument(BaseModel):
    """One workload, drafted or checked."""

    version: int = VERSION
    kernel: str
    source: str
    workload: str
    """Where the file is, or would be; "" for one that was not written."""
    assumed: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    proof: ProofDocument | None = None


def proof_text(proof: ProofDocument) -> str:
    """The proof for people: a line for each mutant, what survives, and what to do."""
    lines = []
    for mutant in proof.mutants:
        after = next(iter(mutant.after.splitlines()), "left out")
        lines.append(f"  {mutant.fate:<12}{mutant.kind}, line {mutant.line}: {after}"[:110])
        if mutant.reason:
            what = "it may compute the same: " if mutant.fate == "survived" else ""
            lines.append(f"  {'':<12}{what}{mutant.reason}"[:220])
    judged = (
        f"{proof.killed} of {proof.killed + proof.survived} mutants of {len(proof.kinds)} kinds are noticed"
    )
    verdict = (
        f"The workload cannot be trusted: {proof.blind}."
        if proof.blind
        else "The workload sees wrong kernels."
    )
    lines += ["", f"{judged}. {verdict}", *(f"To see more, add {line}." for line in proof.advice)]
    return "\n".join(lines)
