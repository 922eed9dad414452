"""No 32-bit integer that an address is computed by overflows; else the sizes from which one does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_gate.expr.terms import Num, Term, at_most, conjunction, mul
from kernel_lineage.code.model import Access, Arithmetic
from kernel_lineage.proofs.obligations.asking import Questions, evaluated
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

LARGEST_BUFFER = 1 << 39
"""Bytes: no device has more memory."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """One access, and the claim that what its address is computed by fits its types."""

    access: Access
    steps: tuple[Arithmetic, ...]

    @property
    def claim(self) -> Term:
        """True where nothing overflows."""
        return conjunction(*map(_fits, self.steps))


def fittings(questions: Questions) -> Iterator[Fitting]:
    """Each access whose address 32-bit integers are computed for, once on each path."""
    seen: dict[tuple[int, str, frozenset[int], tuple[Term, ...]], None] = {}
    for access in questions.model.accesses:
        key = (access.line, access.text, access.arithmetic, access.path)
        if access.arithmetic and key not in seen:
            seen[key] = None
            yield Fitting(access, tuple(questions.model.arithmetic[n] for n in sorted(access.arithmetic)))


def buffers_fit(questions: Questions) -> list[Term]:
    """No buffer is larger than any device's memory."""
    return [
        at_most(mul(b.elements, Num(b.itemsize)), Num(LARGEST_BUFFER))
        for b in questions.setting.buffers.values()
    ]


def no_overflow(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each access whose address 32-bit integers are computed for."""
    fit = buffers_fit(questions)
    for fitting in fittings(questions):
        yield _of_access(questions, fitting, fit)


def _of_access(questions: Questions, fitting: Fitting, fit: list[Term]) -> Obligation:
    access = fitting.access

    def ended(status: Status, reason: str = "") -> Obligation:
        return Obligation(Kind.OVERFLOW, access.line, access.text, status, reason, root=access.root)

    answer = questions.ask(access.path, fitting.claim, more=fit, places=False)
    if answer.status is not Status.REFUTED:
        return ended(answer.status, answer.reason)
    broken = next((step for step in fitting.steps if _overflows(step, answer.values)), None)
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
        cause=(broken.line, broken.text),
    )


def _fits(step: Arithmetic) -> Term:
    return conjunction(at_most(Num(step.least), step.term), at_most(step.term, Num(step.most)))


def _overflows(step: Arithmetic, values: Mapping[str, int]) -> bool:
    value = evaluated(step.term, values)
    return value is not None and not step.least <= value <= step.most
