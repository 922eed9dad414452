"""What the code tells the compiler is so: it is believed, and wrong results or faults follow where it is not."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_gate.expr.terms import conjunction
from kernel_lineage.code.model import Claim
from kernel_lineage.proofs.obligations.asking import Asked, Questions, evaluated
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status


def hints(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each hint."""
    for claim in questions.model.claims:
        yield _of_claim(questions, claim)


def _of_claim(questions: Questions, claim: Claim) -> Obligation:
    def ended(status: Status, reason: str) -> Obligation:
        return Obligation(Kind.HINT, claim.line, claim.text, status, reason)

    if not claim.ways:
        return ended(Status.UNDECIDED, f"not known: {claim.said}")
    refuted: Asked | None = None
    undecided = ""
    for way in claim.ways:
        answer = questions.ask(claim.path, conjunction(*way))
        if answer.status is Status.PROVED:
            return ended(Status.PROVED, claim.said)
        if answer.status is Status.UNDECIDED:
            undecided = undecided or answer.reason
        # Each way has values of its own that break it: those of the last one are shown if they break all.
        elif all(evaluated(conjunction(*other), answer.values) == 0 for other in claim.ways):
            refuted = answer
    if refuted is None:
        return ended(Status.UNDECIDED, undecided or "no values were found that break it in every way")
    place = ", ".join(f"{name} = {value}" for name, value in sorted(refuted.values.items()) if "." in name)
    example = questions.counterexample(refuted.values, note=place)
    reason = f"not {claim.said}"
    return Obligation(Kind.HINT, claim.line, claim.text, Status.REFUTED, reason, example, "arithmetic")
