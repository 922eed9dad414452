"""What the code itself promises of a kernel's dimensions: assertions, and the tests on the way to its launches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernel_lineage.kernels.guards import guards_of, launcher_guards
from kernel_lineage.kernels.source import Guard, Kernel, Language, Launch
from kernel_lineage.skills.conditions.binding import bind
from kernel_lineage.skills.conditions.facts import Fact, FactSource, StatedPromise
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.prove import Proof, implies
from kernel_lineage.skills.conditions.spelled import spelled
from kernel_lineage.skills.conditions.tree import Expr, facts_in, names_in, negation
from kernel_lineage.skills.conditions.truth import Judgement, Truth

LIMIT_MS = 200
"""A hover card does not wait longer for a proof of one condition."""
_HOLDS_AFTER = frozenset({"assert", "static_assert"})
_ASSIGNED = r"\b(?:{names})\b\s*(?:(?:[-+*/%&|^]|<<|>>|//)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*(?:{names})\b"


@dataclass(frozen=True, slots=True)
class Promise:
    """A condition that holds whenever the kernel runs, or runs on, in the kernel's own names."""

    tree: Expr
    evidence: str
    behind: int = 0
    """The byte of the kernel's file from which it holds."""


def promises_of(kernel: Kernel) -> tuple[Promise, ...]:
    """The assertions of a kernel and the sizes for which it returns at once, and what holds at all its launch sites.

    A launcher's names are the kernel's where it passes them on by themselves.
    """
    own = [g for g in guards_of(kernel) if g.where == "kernel" and (g.kind in _HOLDS_AFTER or g.leaves)]
    promises = [
        p for g in own if (p := _promise(g, kernel.language)) is not None and _is_of_arguments(kernel, g, p)
    ]
    first, *others = [_at_site(kernel, launch) for launch in kernel.launches] or [[]]
    everywhere = (p for p in first if all(any(p.tree == o.tree for o in site) for site in others))
    return (*promises, *everywhere)


def promised(
    tree: Expr, judgement: Judgement, promises: Sequence[Promise], stated: Sequence[StatedPromise] = ()
) -> Judgement:
    """A condition that does not fail and that callers promise holds, and so does an unknown one that the code promises.

    What callers promise is better evidence than values that happen to satisfy the condition. Of one that stays unknown
    although something is promised, the smallest values that are left open are told.
    """
    if judgement.truth is Truth.FAILS or not all(ref.bound for ref in facts_in(tree)):
        return judgement
    statements = [p for s in stated if (p := _stated(s)) is not None]
    near = _near(tree, statements)
    if near and _proof(tree, near).truth is Truth.HOLDS:
        return _held(near, FactSource.WORKLOAD)
    near = _near(tree, [*statements, *promises])
    if judgement.truth is not Truth.UNKNOWN or not near:
        return judgement
    proof = _proof(tree, near)
    if proof.truth is Truth.HOLDS:
        return _held(near, FactSource.SYNTAX)
    return replace(judgement, counterexample=proof.counterexample)


def _near(tree: Expr, promises: Sequence[Promise]) -> list[Promise]:
    spoken = names_in(tree)
    return [p for p in promises if names_in(p.tree) & spoken]


def _proof(tree: Expr, promises: Sequence[Promise]) -> Proof:
    return implies(tuple(p.tree for p in promises), tree, LIMIT_MS)


def _held(promises: Sequence[Promise], source: FactSource) -> Judgement:
    return Judgement(Truth.HOLDS, tuple(Fact((True,), p.evidence, source) for p in promises))


@lru_cache(maxsize=512)
def _stated(promise: StatedPromise) -> Promise | None:
    """A promise as a condition; None for one that the language of conditions cannot say."""
    try:
        return Promise(parse(promise.expr), promise.evidence)
    except ConditionError:
        return None


def _at_site(kernel: Kernel, launch: Launch) -> list[Promise]:
    passed = {
        argument.strip(): parameter.name
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False)
        if argument.strip().isidentifier()
    }
    promises: list[Promise] = []
    for guard in launcher_guards(kernel.source, launch):
        if guard.kind not in (*_HOLDS_AFTER, "dispatch") and not guard.leaves:
            continue
        # What one caller of the launcher tests, another one may not, and in other names.
        if launch.launcher_span is None or not launch.launcher_span.contains(guard.span):
            continue
        promise = _promise(guard, kernel.language)
        if promise is not None and not _changed(kernel, promise, guard.span.end, launch.span.start):
            tree = bind(promise.tree, passed)
            if all(ref.bound for ref in facts_in(tree)):
                promises.append(Promise(tree, promise.evidence))
    return promises


def _promise(guard: Guard, language: Language) -> Promise | None:
    text = spelled(guard.expr, of_integers=language is Language.CUDA)
    if text is None:
        return None
    tree = parse(text)
    line = guard.span.first_line
    if guard.leaves:
        return Promise(negation(tree), f"the code leaves where `{guard.expr}` (line {line})", guard.span.end)
    return Promise(tree, f"the code asks for `{guard.expr}` (line {line})")


def _is_of_arguments(kernel: Kernel, guard: Guard, promise: Promise) -> bool:
    """Whether what a kernel tests before it leaves speaks of its arguments only, as they are given."""
    if not guard.leaves:
        return True
    parameters = {p.name for p in kernel.parameters}
    return names_in(promise.tree) <= parameters and not _changed(
        kernel, promise, kernel.body_span.start, kernel.body_span.end
    )


def _changed(kernel: Kernel, promise: Promise, start: int, end: int) -> bool:
    """Whether a name that a promise speaks of is assigned in a part of the kernel's file."""
    if kernel.source is None:
        return True
    text = kernel.source.data[start:end].decode("utf-8", "replace")
    names = "|".join(map(re.escape, names_in(promise.tree)))
    return re.search(_ASSIGNED.format(names=names or r"(?!)"), text) is not None
