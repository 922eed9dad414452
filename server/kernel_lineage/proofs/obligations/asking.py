"""A model in its setting as questions to the solver, and the smallest values that answer one with no."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_gate.expr.smallest import Question, answered
from kernel_gate.expr.solver import LIMIT_MS, Decision
from kernel_gate.expr.terms import Num, Term, Var, at_most, substituted
from kernel_lineage.code.model import Model
from kernel_lineage.code.setting import Setting
from kernel_lineage.proofs.obligations.obligation import Counterexample, Status

_AT_ONCE_MS = 250
_PLACED = 256
"""Bytes: buffers lie at a multiple of it where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How one question ended."""

    status: Status
    reason: str = ""
    values: Mapping[str, int] = field(default_factory=dict)
    """The values that refute it."""


@dataclass
class Questions:
    """One kernel in one setting."""

    model: Model
    setting: Setting
    limit_ms: int = LIMIT_MS

    def assumptions(self, *terms: Term) -> list[Term]:
        """What may be taken for granted wherever these terms are spoken of."""
        premises = (*self.setting.assumptions, *terms)
        sizes = [at_most(Num(1), Var(dim)) for dim in self.setting.dims]
        return [*sizes, *self.setting.assumptions, *self.model.facts(premises)]

    def ask(
        self,
        path: Sequence[Term],
        claim: Term,
        *,
        more: Sequence[Term] = (),
        places: bool = True,
        free: Container[str] = (),
    ) -> Asked:
        """Whether a claim holds on a path for all sizes, threads and iterations; else the smallest sizes that break it.

        With `places` the block and thread of a refutation are the smallest ones too. A refutation may choose the values
        of `free` variables, although they are not known.
        """
        if claim == Num(1):
            return Asked(Status.PROVED)
        premises = [*self.assumptions(*path, claim, *more), *path, *more]
        question = Question(
            premises,
            claim,
            self.setting.dims,
            [*(sorted(self.model.places) if places else ()), *self.setting.addresses],
            frozenset(self.model.naturals) | frozenset(self.setting.dims),
        )
        answer = answered(question, self.limit_ms)
        if answer.decision is not Decision.REFUTED:
            return Asked(Status(answer.decision.value), answer.reason)
        if doubt := self._doubt(answer.values, [*premises, claim], free):
            return Asked(Status.UNDECIDED, f"not known: {doubt}")
        return Asked(Status.REFUTED, "", answer.values)

    def at_once(self, path: Sequence[Term], claim: Term) -> bool:
        """Whether a claim is quickly seen to hold on a path."""
        premises = [*self.assumptions(*path, claim), *path]
        naturals = frozenset(self.model.naturals) | frozenset(self.setting.dims)
        question = Question(premises, claim, never_negative=naturals)
        return question.decided(min(_AT_ONCE_MS, self.limit_ms)).decision is Decision.PROVED

    def _doubt(self, values: Mapping[str, int], terms: Sequence[Term], free: Container[str]) -> str:
        """Why values may refute nothing: some of the terms hang on others that are not known; "" where none do."""
        unknown = [name for name in self.model.unknowns if name not in free]
        chosen = {name: Num(value) for name, value in values.items() if name not in unknown}
        ranges = {fact for name in unknown for fact in self.model.ranges.get(name, ())}
        rest = (substituted(term, chosen) for term in terms if term not in ranges)
        return next(self.model.doubts(*rest), "")

    def counterexample(
        self,
        values: Mapping[str, int],
        buffer: str | None = None,
        element: Term | None = None,
        note: str = "",
    ) -> Counterexample:
        """A refutation's values as sizes, block, thread and element."""

        def three(what: str) -> tuple[int, int, int]:
            x, y, z = (values.get(f"{what}.{axis}", 0) for axis in "xyz")
            return x, y, z

        index = evaluated(element, values) if element is not None else None
        dims = {d: values.get(d, 1) for d in self.setting.dims}
        thread = three("threadIdx") if self.model.threads else None
        past = {name: values.get(name, 0) % _PLACED for name in self.setting.addresses}
        addresses = {name: offset for name, offset in past.items() if offset}
        return Counterexample(dims, three("blockIdx"), thread, buffer, index, note, addresses)


def evaluated(term: Term, values: Mapping[str, int]) -> int | None:
    """The value of a term; None when a variable has none."""
    number = substituted(term, {name: Num(value) for name, value in values.items()})
    return number.value if isinstance(number, Num) else None
