"""Every access lies within its buffer or array, for all sizes that promises and guards allow."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_gate.expr.polynomials import content, polynomial, term_of
from kernel_gate.expr.terms import Num, Term, add, at_most, conjunction, floor_div, mul, sub
from kernel_lineage.code.model import Access
from kernel_lineage.proofs.obligations.asking import Questions
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status


def in_bounds(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each access, and one undecided for each construct in which accesses may hide."""
    for access in questions.model.accesses:
        yield _of_access(questions, access)
    for line, what in dict.fromkeys(questions.model.problems):
        yield Obligation(Kind.IN_BOUNDS, line, "", Status.UNDECIDED, f"not modelled: {what}")


def _of_access(questions: Questions, access: Access) -> Obligation:
    def ended(status: Status, reason: str = "") -> Obligation:
        return Obligation(Kind.IN_BOUNDS, access.line, access.text, status, reason, root=access.root)

    claim = within(questions, access)
    if access.offset is None or claim is None:
        return ended(Status.UNDECIDED, access.reason or f"the workload says nothing of `{access.root}`")
    answer = questions.ask(access.path, claim)
    if answer.status is not Status.REFUTED:
        return ended(answer.status, answer.reason)
    itemsize = itemsize_of(questions, access)
    example = questions.counterexample(answer.values, access.root, floor_div(access.offset, Num(itemsize)))
    verb = "writes" if access.writes and not access.reads else "reads"
    reason = f"{verb} outside of {access.root}"
    return Obligation(
        Kind.IN_BOUNDS, access.line, access.text, Status.REFUTED, reason, example, root=access.root
    )


def within(questions: Questions, access: Access) -> Term | None:
    """That an access lies within its buffer or array; None where its place or the extent is not known."""
    extent = extent_of(questions, access)
    if access.offset is None or extent is None:
        return None
    behind = add(access.offset, Num(access.nbytes))
    return conjunction(never_negative(access.offset), never_negative(sub(extent, behind)))


def never_negative(term: Term) -> Term:
    """`term >= 0`, divided by the common divisor of its coefficients."""
    terms = polynomial(term)
    divisor = content(terms) or 1
    return at_most(Num(0), term_of({m: c // divisor for m, c in terms.items()}))


def itemsize_of(questions: Questions, access: Access) -> int:
    """Bytes of one element, as the workload counts them."""
    buffer = questions.setting.buffers.get(access.root)
    return buffer.itemsize if buffer is not None and access.space == "global" else max(access.nbytes, 1)


def extent_of(questions: Questions, access: Access) -> Term | None:
    """Bytes of what an access goes to."""
    if access.space == "shared":
        array = questions.model.shared.get(access.root)
        return array.nbytes if array is not None else None
    buffer = questions.setting.buffers.get(access.root)
    return mul(buffer.elements, Num(buffer.itemsize)) if buffer is not None else None
