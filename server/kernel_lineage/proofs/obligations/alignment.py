"""Vector accesses are aligned: by the address that callers promise and the divisibility of the index."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_gate.expr.polynomials import polynomial, term_of
from kernel_gate.expr.terms import Num, Term, Var, add, equal, floor_div, mod, mul
from kernel_lineage.code.model import Access
from kernel_lineage.proofs.obligations.asking import Questions
from kernel_lineage.proofs.obligations.in_bounds import itemsize_of
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

_SHARED_ALIGN = 16
"""The alignment of dynamic shared memory (CUDA C++ Programming Guide); a static array promises its elements'."""


def aligned(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each access that is wider than an element."""
    for access in questions.model.accesses:
        if access.offset is None or not _is_vector(questions, access):
            continue
        yield _of_access(questions, access, access.offset)


def _is_vector(questions: Questions, access: Access) -> bool:
    power_of_two = access.nbytes & (access.nbytes - 1) == 0
    if access.space == "shared":
        return access.nbytes > 4 and power_of_two
    buffer = questions.setting.buffers.get(access.root)
    return buffer is not None and power_of_two and access.nbytes > buffer.itemsize


def _of_access(questions: Questions, access: Access, offset: Term) -> Obligation:
    def ended(status: Status, reason: str) -> Obligation:
        return Obligation(Kind.ALIGNED, access.line, access.text, status, reason, root=access.root)

    align = _base_align(questions, access)
    if align % access.nbytes:
        offset = add(offset, _base(questions, access, align))
    # What is divisible by its coefficient alone says nothing.
    rest = {m: c for m, c in polynomial(offset).items() if c % access.nbytes}
    claim = equal(mod(term_of(rest), Num(access.nbytes)), Num(0))
    answer = questions.ask(access.path, claim)
    if answer.status is Status.UNDECIDED:
        return ended(answer.status, answer.reason)
    sentence = f"{access.root} is aligned to {align} bytes"
    if answer.status is Status.PROVED:
        return ended(answer.status, sentence)
    if align % access.nbytes:
        source = "the array's type" if access.space == "shared" else "the workload"
        return ended(
            Status.UNDECIDED,
            f"{source} promises {align} bytes for {access.root}, the access needs {access.nbytes}",
        )
    element = floor_div(access.offset or offset, Num(itemsize_of(questions, access)))
    example = questions.counterexample(answer.values, access.root, element)
    reason = f"{access.nbytes} bytes at an address that is no multiple of {access.nbytes}"
    return Obligation(
        Kind.ALIGNED, access.line, access.text, Status.REFUTED, reason, example, root=access.root
    )


def _base(questions: Questions, access: Access, align: int) -> Term:
    """Where what is accessed lies: a buffer's address is the one that launches and kernels ask for."""
    buffer = questions.setting.buffers.get(access.root) if access.space == "global" else None
    if buffer is not None and buffer.address is not None:
        return buffer.address
    return mul(Var(f"address of {access.root}"), Num(align))


def _base_align(questions: Questions, access: Access) -> int:
    if access.space == "shared":
        array = questions.model.shared.get(access.root)
        return _SHARED_ALIGN if array is not None and array.dynamic else 4
    return questions.setting.buffers[access.root].align
