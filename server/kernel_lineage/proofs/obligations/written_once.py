"""No element of an output is written by two threads: index expressions tell threads apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

from kernel_gate.expr.lemmas import is_natural
from kernel_gate.expr.polynomials import Monomial, content, normal, polynomial, term_of
from kernel_gate.expr.terms import (
    Num,
    Term,
    Var,
    add,
    at_most,
    conjunction,
    disjunction,
    equal,
    floor_div,
    less,
    mul,
    negation,
    sub,
    substituted,
    variables,
)
from kernel_lineage.code.model import Access, Model
from kernel_lineage.proofs.obligations.asking import Asked, Questions
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

_MOST_SITES = 8


def written_once(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each place that writes an output; atomic updates may meet."""
    for buffer in questions.setting.buffers.values():
        if not buffer.is_output:
            continue
        writes = [a for a in _writes(questions, buffer.name) if not a.atomic]
        if not writes:
            continue
        last = writes[-1]
        if why := _why_not(questions, buffer.name, writes):
            yield Obligation(Kind.WRITTEN_ONCE, last.line, last.text, Status.UNDECIDED, why, root=buffer.name)
            continue
        for one, other in combinations_with_replacement(writes, 2):
            yield _of_pair(questions, one, other)


def _writes(questions: Questions, root: str) -> list[Access]:
    return [a for a in questions.model.accesses if a.writes and a.root == root and a.space == "global"]


def _why_not(questions: Questions, name: str, writes: list[Access]) -> str:
    for access in writes:
        if access.offset is None:
            return access.reason
    if questions.model.problems:
        line, what = questions.model.problems[0]
        return f"line {line} may write {name} too: {what}"
    if len(writes) > _MOST_SITES:
        return f"{name} is written at {len(writes)} places; at most {_MOST_SITES} are compared"
    return ""


def _of_pair(questions: Questions, one: Access, other: Access) -> Obligation:
    def ended(status: Status, reason: str = "") -> Obligation:
        return Obligation(Kind.WRITTEN_ONCE, other.line, other.text, status, reason, root=other.root)

    if not questions.model.places:
        return ended(Status.PROVED)
    answer = told_apart(questions, one, other)
    if answer.status is not Status.REFUTED:
        return ended(answer.status, answer.reason)
    assert one.offset is not None
    buffer = questions.setting.buffers[other.root]
    element = floor_div(one.offset, Num(buffer.itemsize))
    example = questions.counterexample(answer.values, other.root, element)
    where = f"line {one.line} and line {other.line}" if one.line != other.line else f"line {other.line}"
    reason = f"two threads write the same element of {other.root} ({where})"
    return Obligation(
        Kind.WRITTEN_ONCE, other.line, other.text, Status.REFUTED, reason, example, root=other.root
    )


def told_apart(questions: Questions, one: Access, other: Access) -> Asked:
    """Whether what two accesses touch is the same element for one and the same thread only, whatever their buffers are.

    Both offsets are known. A refutation's values are a second thread that touches the same element.
    """
    model = questions.model
    assert one.offset is not None
    assert other.offset is not None
    if _have_spans(questions, one, other):
        return Asked(Status.PROVED)
    renamed: Mapping[str, Term] = {name: Var(f"{name}'") for name in model.instance}
    path = tuple(substituted(p, renamed) for p in other.path)
    facts = [
        substituted(f, renamed) for f in model.facts((*other.path, other.offset, *map(Var, model.places)))
    ]
    apart = disjunction(*(negation(equal(Var(p), Var(f"{p}'"))) for p in model.places))
    meet = _overlap(one.offset, one.nbytes, substituted(other.offset, renamed), other.nbytes)
    own = model.facts(tuple(Var(p) for p in model.places))
    model.naturals |= {f"{name}'" for name in model.instance if name in model.naturals}
    claim = negation(conjunction(meet, apart))
    answer = Asked(Status.PROVED)
    for case in _cases(questions, one.offset, substituted(other.offset, renamed)):
        answer = questions.ask((*one.path, *path), claim, more=(*own, *facts, *case))
        if answer.status is not Status.PROVED:
            break
    return answer


def _have_spans(questions: Questions, one: Access, other: Access) -> bool:
    """Whether each thread of a grid of one axis touches only a span of its own by both accesses, such as its row."""
    model = questions.model
    if model.places.keys() != {"threadIdx.x", "blockIdx.x"}:
        return False
    (size, begins), (also, others) = (_span(model, a.offset or Num(0)) for a in (one, other))
    if polynomial(size) != polynomial(also) or {"threadIdx.x", "blockIdx.x"} & set(
        variables(add(size, add(begins, others)))
    ):
        return False
    if polynomial(begins) == polynomial(others) and not model.instance & set(variables(add(size, begins))):
        return at_most(Num(max(one.nbytes, other.nbytes)), size) == Num(1)
    return not model.instance & set(variables(size)) and all(
        questions.at_once(
            access.path, conjunction(at_most(Num(0), at), at_most(add(at, Num(access.nbytes)), size))
        )
        for access, at in ((one, begins), (other, others))
    )


def _span(model: Model, offset: Term) -> tuple[Term, Term]:
    """An address as a size for each thread, times its number in the grid, and what is left."""
    parts, thread = polynomial(offset), Var("threadIdx.x")
    size = term_of({tuple(f for f in m if f != thread): n for m, n in parts.items() if m.count(thread) == 1})
    number = add(mul(Var("blockIdx.x"), model.places["threadIdx.x"]), thread)
    return size, normal(sub(offset, mul(size, number)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """An address as `unit * row * scale + rest`, for one product of sizes."""

    row: Term
    unit: int
    rest: Term


def _cases(questions: Questions, one: Term, other: Term) -> Iterator[tuple[Term, ...]]:
    """All cases of two addresses: one lies in an earlier row than the other, in a later one, or in the same one.

    A row is what a product of sizes is counted by. What follows where the addresses are the same is said to the solver,
    which sees little of products itself: their places in the rows are then so far apart, or the same.
    """
    free = questions.model.instance | {f"{name}'" for name in questions.model.instance}
    rows, others = _rows(one, free), _rows(other, free)
    naturals = frozenset(questions.model.naturals)
    elsewhere = negation(equal(one, other))
    same: tuple[Term, ...] = ()
    for scale in sorted(rows, key=lambda s: (-len(s), str(s))):
        if scale not in others or not all(is_natural(f, naturals) for f in scale):
            continue
        a, b = rows[scale], others[scale]
        if a.unit != b.unit:
            continue
        size = mul(Num(a.unit), term_of({scale: 1}))
        for low, high in ((a, b), (b, a)):
            apart = at_most(size, normal(sub(low.rest, high.rest)))
            yield (*same, less(low.row, high.row), disjunction(elsewhere, apart))
        together = equal(normal(sub(a.rest, b.rest)), Num(0))
        same = (*same, equal(a.row, b.row), disjunction(elsewhere, together))
    yield same


def _rows(offset: Term, free: set[str]) -> dict[Monomial, _Rows]:
    """Products of sizes in an address, each with the rows that it counts."""
    counted: dict[Monomial, dict[Monomial, int]] = {}
    for monomial, coefficient in polynomial(offset).items():
        scale = tuple(f for f in monomial if not any(name in free for name in variables(f)))
        if scale:
            counted.setdefault(scale, {})[tuple(f for f in monomial if f not in scale)] = coefficient
    by_scale = {}
    for scale, rows in counted.items():
        if not any(rows):
            continue
        unit = content(rows)
        row = term_of({m: c // unit for m, c in rows.items()})
        by_scale[scale] = _Rows(row, unit, sub(offset, mul(mul(Num(unit), row), term_of({scale: 1}))))
    return by_scale


def _overlap(a: Term, a_bytes: int, b: Term, b_bytes: int) -> Term:
    """Whether two ranges of bytes meet; as one equation where both are whole elements."""
    whole = a_bytes == b_bytes and all(content(polynomial(t)) % a_bytes == 0 for t in (a, b))
    if whole:
        return equal(_per(a, a_bytes), _per(b, b_bytes))
    return conjunction(less(a, add(b, Num(b_bytes))), less(b, add(a, Num(a_bytes))))


def _per(offset: Term, nbytes: int) -> Term:
    return term_of({m: c // nbytes for m, c in polynomial(offset).items()})
