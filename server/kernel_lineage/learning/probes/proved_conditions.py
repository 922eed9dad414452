"""What proofs found in a step, in the words of a card and of the report."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.guard_conditions import category_of
from kernel_lineage.learning.probes.proofs import ID, OVERFLOW, Proved, ProvedCondition, Unproved
from kernel_lineage.learning.probes.report import (
    AxisRun,
    Counterexample,
    Dropped,
    ProbedCondition,
    RefusingCase,
)
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.card import Condition, ConditionKind, Origin, Risk
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in

_HAPPENS = {OVERFLOW: "a 32-bit integer that an address is computed by overflows"}
_NO_LAUNCH = "the launch asks for what no device takes"


def condition_of(step: Step, base: Setting, found: ProvedCondition) -> ProbedCondition:
    """A proved condition as one of the report."""
    example = _counterexample(base, found)
    dims = ", ".join(f"{name} {extent}" for name, extent in found.dims.items())
    named = ", ".join(f"{name} = {value}" for name, value in example.facts.items())
    return ProbedCondition(
        axis=ID,
        condition=Condition(
            kind=ConditionKind.VALIDITY,
            category=category_of(found.expr),
            expr=found.expr,
            reason=f"Otherwise {_HAPPENS.get(found.code, _NO_LAUNCH)}, as with {named}.",
            origin=Origin.PROOF,
            evidence=f"{dims}: {found.said}",
        ),
        risk=Risk(what=f"{named}: {found.said}", evidence=f"proof about {step.transition}, {dims}"),
        refuses=RefusingCase(
            language=Language(step.before.language),
            kernel=step.before.entry,
            facts=example.facts,
            because=found.expr,
            source=step.before.source,
        ),
        counterexample=example,
        confirmation=found.confirmation,
        proof=found.proof,
    )


def dropped_of(base: Setting, found: Unproved) -> Dropped:
    """What became no condition."""
    return Dropped(axis=ID, expr=found.expr, why=found.why, counterexample=_counterexample(base, found))


def run_of(said: Proved) -> AxisRun:
    """Held-out sizes on both sides of what was proved; accesses that stayed open are silent."""
    confirmations = [c.confirmation for c in said.conditions]
    return AxisRun(
        axis=ID,
        agrees=sum(c.kept for c in confirmations),
        fails=sum(c.broken for c in confirmations),
        silent=said.undecided,
        note=said.why_not,
    )


def _counterexample(base: Setting, found: ProvedCondition | Unproved) -> Counterexample:
    return Counterexample(
        dims=dict(found.dims),
        seed=base.seed,
        inputs=str(base.inputs),
        memory=str(base.memory),
        code=found.code,
        said=found.said,
        facts=_named(base, found.expr, found.dims),
        line=found.line if isinstance(found, ProvedCondition) else None,
    )


def _named(base: Setting, expr: str, dims: Mapping[str, int]) -> dict[str, int]:
    """What the condition's names are at the sizes that break it; the sizes where there is no condition."""
    if not expr:
        return dict(dims)
    facts = {**facts_of(base.at(**dims)), **dims}
    values = {ref.name: facts.get(ref.name) for ref in facts_in(parse(expr))}
    return {name: value for name, value in values.items() if isinstance(value, int)}
