"""No 32-bit integer that an address is computed by overflows; else the sizes from which one does."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_gate.expr.terms import (
    Num,
    Term,
    at_most,
    conjunction,
    disjunction,
    floor_div,
    mul,
    negation,
    sub,
    variables,
)
from kernel_lineage.code.model import Access, Arithmetic
from kernel_lineage.proofs.obligations.asking import Asked, Questions, evaluated
from kernel_lineage.proofs.obligations.in_bounds import extent_of, itemsize_of, within
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

LARGEST_BUFFER = 1 << 39
"""Bytes: no device has more memory."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """One access, and the claim that what its address is computed by fits its types."""

    access: Access
    steps: tuple[Arithmetic, ...]
    data: Container[str] = ()
    """What inputs hold, which may be anything that their type and the path allow."""
    kept: tuple[Term, ...] = ()
    """What callers keep of them: no access is meant to leave its buffer."""
    meant: tuple[Term, ...] = ()
    """What is likely of them: a number that they decide on the way to the address is none beyond the buffer."""

    @property
    def claim(self) -> Term:
        """True where nothing overflows."""
        return conjunction(*map(_fits, self.steps))

    @property
    def path(self) -> tuple[Term, ...]:
        """When the access is made, of data that callers come with."""
        return (*self.access.path, *self.kept)

    def asked(self, questions: Questions, fit: Sequence[Term]) -> Asked:
        """Whether nothing overflows in buffers that fit a device, whatever the inputs hold.

        Undecided where only data do it of which nobody may come with, as two that cancel each other.
        """
        if questions.at_once(self.path, self.claim):  # sizes of buffers are products, which take long
            return Asked(Status.PROVED)
        likely = questions.ask(self.path, self.claim, more=(*fit, *self.meant), places=False, free=self.data)
        if not self.meant or likely.status is not Status.PROVED:
            return likely
        return questions.ask(self.path, self.claim, more=fit, places=False)


def fittings(questions: Questions) -> Iterator[Fitting]:
    """Each access whose address 32-bit integers are computed for, once on each path."""
    seen: dict[tuple[int, str, frozenset[int], tuple[Term, ...]], None] = {}
    for access in questions.model.accesses:
        key = (access.line, access.text, access.arithmetic, access.path)
        if access.arithmetic and key not in seen:
            seen[key] = None
            fitting = Fitting(access, tuple(questions.model.arithmetic[n] for n in sorted(access.arithmetic)))
            yield _of_data(questions, fitting)


def _of_data(questions: Questions, fitting: Fitting) -> Fitting:
    """The same with what is kept of what inputs hold, where the workload states no limits of it."""
    extent = extent_of(questions, fitting.access)
    if extent is None or fitting.access.offset is None:
        return fitting
    loads = questions.model.loads
    here = set(fitting.access.path)
    used = {name for term in (*here, fitting.claim) for name in variables(term) if name in loads}
    used &= questions.model.unknowns.keys()
    if not used:
        return replace(fitting, data=loads)
    others = [a for a in questions.model.accesses if a.offset and used & set(variables(a.offset))]
    kept = [
        disjunction(*(negation(c) for c in access.path if c not in here), inside)
        for access in (fitting.access, *others)
        if (inside := within(questions, access)) is not None
    ]
    most = floor_div(extent, Num(itemsize_of(questions, fitting.access)))
    meant = [
        conjunction(at_most(sub(Num(0), most), step.term), at_most(step.term, most)) for step in fitting.steps
    ]
    return replace(fitting, data=loads, kept=tuple(dict.fromkeys(kept)), meant=tuple(meant))


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

    answer = fitting.asked(questions, fit)
    if answer.status is not Status.REFUTED:
        return ended(answer.status, answer.reason)
    broken = next((step for step in fitting.steps if _overflows(step, answer.values)), None)
    if broken is None:
        return ended(Status.UNDECIDED, "counterexample not confirmed: nothing overflows when it is evaluated")
    sizes = ", ".join(f"{name} = {answer.values.get(name, 1)}" for name in questions.setting.dims)
    value = evaluated(broken.term, answer.values)
    what = "is negative" if value is not None and value < broken.least == 0 else f"does not fit {broken.type}"
    reason = f"`{broken.text}` (line {broken.line}) {what} from {sizes or 'the start'}"
    data = [
        f"`{questions.model.loads[name]}` is {answer.values[name]}"
        for name in dict.fromkeys(variables(broken.term))
        if name in questions.model.loads and name in answer.values
    ]
    where = f" where {', '.join(data)}" if data else ""
    example = questions.counterexample(answer.values, note=f"`{broken.text}` is {value}{where}")
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
