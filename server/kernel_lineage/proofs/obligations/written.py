"""Every element of an output is written: for each a block, thread and iteration can be named.

The witness is read off the index: its strides, from the largest to the smallest, split an element's number into digits,
as a row, a column and so on; each digit is the value of one variable. The solver checks that the witness exists, keeps
the path's conditions and writes that element; a kernel that no witness is found for is undecided, until a run shows an
element that stays unwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernel_gate.expr.polynomials import Monomial, Polynomial, coefficient_of, content, polynomial, term_of
from kernel_gate.expr.terms import (
    ONE,
    ZERO,
    Num,
    Op,
    Term,
    Var,
    add,
    at_most,
    conjunction,
    disjunction,
    equal,
    floor_div,
    less,
    mod,
    mul,
    rebuilt,
    sub,
    substituted,
    variables,
)
from kernel_lineage.code.model import Access
from kernel_lineage.code.setting import BufferSetting
from kernel_lineage.proofs.obligations.asking import Questions
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

_ELEMENT = Var("element")


def written(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each output."""
    for buffer in questions.setting.buffers.values():
        if buffer.is_output:
            yield _of_buffer(questions, buffer)


def _of_buffer(questions: Questions, buffer: BufferSetting) -> Obligation:
    model = questions.model
    writes = [a for a in model.accesses if a.writes and a.root == buffer.name and a.space == "global"]
    line, text = (writes[-1].line, writes[-1].text) if writes else (0, buffer.name)

    def ended(status: Status, reason: str = "") -> Obligation:
        return Obligation(Kind.WRITTEN, line, text, status, reason, root=buffer.name)

    if not writes:
        return ended(Status.UNDECIDED, f"no write of {buffer.name} was found")
    if model.cut:
        return ended(Status.UNDECIDED, model.cut)
    cases = [case for access in writes if (case := _case(questions, access, buffer)) is not None]
    if not cases:
        return ended(Status.UNDECIDED, f"the index of `{text}` names no thread for each element")
    inside = (at_most(ZERO, _ELEMENT), less(_ELEMENT, buffer.elements))
    model.naturals.add(_ELEMENT.name)
    answer = questions.ask((), disjunction(*cases), more=inside, places=False)
    if answer.status is Status.PROVED:
        return ended(Status.PROVED)
    why = answer.reason or "no block and thread was found that write each element"
    if answer.status is Status.REFUTED:
        sizes = ", ".join(f"{d} = {answer.values.get(d, 1)}" for d in questions.setting.dims)
        why = f"{why}: element {answer.values.get(_ELEMENT.name, 0)} at {sizes}"
        example = questions.counterexample(answer.values, buffer.name, _ELEMENT)
        return Obligation(Kind.WRITTEN, line, text, Status.REFUTED, why, example, root=buffer.name)
    return ended(Status.UNDECIDED, why)


def _case(questions: Questions, access: Access, buffer: BufferSetting) -> Term | None:
    """Where this access writes an element, by its witness; None when there is no witness."""
    model = questions.model
    if access.offset is None:
        return None
    path = [p for p in access.path if not _is_end(questions, p)]
    chosen = model.instance - model.data
    split, parts = _split(access, chosen)
    offset = polynomial(_replaced(access.offset, parts))
    path = [_replaced(p, parts) for p in path]
    if content(offset) % buffer.itemsize or access.nbytes % buffer.itemsize:
        return None
    index = {m: c // buffer.itemsize for m, c in offset.items()}
    width = access.nbytes // buffer.itemsize
    target = sub(_ELEMENT, mod(_ELEMENT, Num(width)))
    free = chosen | {digit.name for high, low, _ in split.values() for digit in (high, low)}
    witness = _digits(index, target, free)
    if witness is None:
        return None
    values: dict[str, Term] = {name: ZERO for name in free if name not in witness} | witness
    for whole, (high, low, factor) in split.items():
        values[whole.name] = add(mul(values[high.name], Num(factor)), values[low.name])
    ranges = model.facts((*path, *map(Var, model.places)))
    kept = [f for f in ranges if not _is_end(questions, f)]
    kept += [less(low, Num(factor)) for _, low, factor in split.values()]
    conditions = [substituted(c, values) for c in (*path, *kept)]
    return conjunction(equal(substituted(term_of(index), values), target), *conditions)


def _is_end(questions: Questions, condition: Term) -> bool:
    """Whether a condition says only that a loop came to its end, which it does."""
    return any(name in questions.model.ends for name in variables(condition))


def _split(access: Access, instance: set[str]) -> tuple[dict[Var, tuple[Var, Var, int]], Mapping[Term, Term]]:
    """`v // k` and `v % k` in an access, as digits of v: v = high * k + low."""
    split: dict[Var, tuple[Var, Var, int]] = {}
    parts: dict[Term, Term] = {}
    waiting: list[Term] = [*access.path, *([access.offset] if access.offset is not None else [])]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, Op):
            continue
        waiting += here.args
        match here:
            case Op("//" | "%", (Var(name) as v, Num(factor))) if name in instance and factor > 1:
                if v not in split:
                    split[v] = (Var(f"{name} high"), Var(f"{name} low"), factor)
                high, low, divisor = split[v]
                if divisor == factor:
                    parts[here] = high if here.name == "//" else low
    for v, (high, low, factor) in split.items():
        parts[v] = add(mul(high, Num(factor)), low)
    return split, parts


def _replaced(term: Term, parts: Mapping[Term, Term]) -> Term:
    if term in parts:
        return parts[term]
    if isinstance(term, Op):
        return rebuilt(term.name, tuple(_replaced(a, parts) for a in term.args))
    return term


def _digits(index: Polynomial, target: Term, free: set[str]) -> dict[str, Term] | None:
    """The values of an index's free variables for which it is `target`, from the largest stride to the smallest."""
    strides: list[tuple[tuple[int, int], Var, Term]] = []
    rest: Polynomial = index
    used = {f for monomial in index for f in monomial if isinstance(f, Var) and f.name in free}
    for variable in sorted(used, key=str):
        parts = coefficient_of(rest, variable)
        if parts is None or any(_is_free(m, free) for m in parts[0]):
            return None
        stride, rest = parts
        if any(c < 0 for c in stride.values()):
            return None
        strides.append((_size(stride), variable, term_of(stride)))
    if any(_is_free(m, free) for m in rest):
        return None
    remaining = sub(target, term_of(rest))
    values: dict[str, Term] = {}
    for _, variable, stride_term in sorted(strides, key=lambda s: s[0], reverse=True):
        if stride_term == ONE:
            values[variable.name] = remaining
            remaining = ZERO
        else:
            values[variable.name] = floor_div(remaining, stride_term)
            remaining = sub(remaining, mul(stride_term, floor_div(remaining, stride_term)))
    return values


def _is_free(monomial: Monomial, free: set[str]) -> bool:
    return any(name in free for factor in monomial for name in variables(factor))


def _size(stride: Polynomial) -> tuple[int, int]:
    """Orders strides: by degree, then by the coefficient."""
    return max(((len(m), c) for m, c in stride.items()), default=(0, 0))
