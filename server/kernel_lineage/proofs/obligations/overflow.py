"""No 32-bit integer that an address is computed by overflows; else the sizes from which one does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernel_lineage.proofs.model import Access, Arithmetic
from kernel_lineage.proofs.obligations.asking import Questions, evaluated
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status
from kernel_lineage.solving.terms import Num, Term, at_most, conjunction, mul

LARGEST_BUFFER = 1 << 39
"""Bytes: no device has more memory."""


def no_overflow(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each access whose address 32-bit integers are computed for."""
    fit: list[Term] = [
        at_most(mul(b.elements, Num(b.itemsize)), Num(LARGEST_BUFFER))
        for b in questions.setting.buffers.values()
    ]
    seen: dict[tuple[int, str, frozenset[int], tuple[Term, ...]], None] = {}
    for access in questions.model.accesses:
        key = (access.line, access.text, access.arithmetic, access.path)
        if access.arithmetic and key not in seen:
            seen[key] = None
            yield _of_access(questions, access, fit)


def _of_access(questions: Questions, access: Access, fit: list[Term]) -> Obligation:
    def ended(status: Status, reason: str = "") -> Obligation:
        return Obligation(Kind.OVERFLOW, access.line, access.text, status, reason, root=access.root)

    steps = [questions.model.arithmetic[number] for number in sorted(access.arithmetic)]
    answer = questions.ask(access.path, conjunction(*map(_fits, steps)), more=fit, places=False)
    if answer.status is not Status.REFUTED:
        return ended(answer.status, answer.reason)
    broken = next((step for step in steps if _overflows(step, answer.values)), None)
    if broken is None:
        return ended(Status.UNDECIDED, "counterexample not confirmed: nothing overflows when it is evaluated")
    sizes = ", ".join(f"{name} = {answer.values.get(name, 1)}" for name in questions.setting.dims)
    value = evaluated(broken.term, answer.values)
    what = "is negative" if value is not None and value < broken.least == 0 else f"does not fit {broken.type}"
    reason = f"`{broken.text}` (line {broken.line}) {what} from {sizes or 'the start'}"
    example = questions.counterexample(answer.values, note=f"`{broken.text}` is {value}")
    return Obligation(
        Kind.OVERFLOW,
        access.line,
        access.text,
        Status.REFUTED,
        reason,
        example,
        "arithmetic",
        root=access.root,
    )


def _fits(step: Arithmetic) -> Term:
    return conjunction(at_most(Num(step.least), step.term), at_most(step.term, Num(step.most)))


def _overflows(step: Arithmetic, values: Mapping[str, int]) -> bool:
    value = evaluated(step.term, values)
    return value is not None and not step.least <= value <= step.most
