"""What probes and proofs found in a step, in the words of a card and of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.learning.guard_conditions import category_of
from kernel_lineage.learning.probes.asking import Answer
from kernel_lineage.learning.probes.findings import AxisFindings, Finding
from kernel_lineage.learning.probes.holding_out import ENOUGH
from kernel_lineage.learning.probes.report import Confirmation, Counterexample, Dropped, ProbedCondition
from kernel_lineage.skills.card import Condition, ConditionKind, Origin, Risk
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in

SUFFICIENT = "sufficient, not necessary"
"""What the evidence of a condition says whose breaking cases are often right."""
OVERFLOW = "address-overflow"
"""In the place of the gate's reason code, which knows nothing that has not run."""
_ADVICE = re.compile(
    r"; if no caller [^;]*|; the baseline (?:is right when|takes any address)[^;]*|, hidden shape"
)
"""What the gate's line tells the author of a rewrite, and says nothing of the step."""
_SAID_OF = {
    "wrong-value": "elements come out wrong",
    "not-written": "elements are not written",
    "nan-mask-differs": "NaN or infinity comes out where a number should, or the other way round",
    "less-precise": "results lose precision",
    "not-repeatable": "results differ from launch to launch",
    "out-of-bounds": "memory outside of a buffer is accessed",
    "misaligned": "a vector access is misaligned",
    "needs-alignment": "a vector access is misaligned",
    "alias-sensitive": "an output that lies in an input overwrites what is still to be read",
    "keeps-state": "elements come out wrong with other values",
    "race": "threads race for the same memory",
    "uninitialised-read": "memory is read before it is written",
    "barrier": "threads wait at different barriers",
    "launch-impossible": "the launch asks for what no device takes",
    "candidate-does-not-compile": "it does not compile",
    OVERFLOW: "a 32-bit integer that an address is computed by overflows",
}
_METHODS = {Origin.PROBE: "probe of", Origin.PROOF: "proof about"}


def condition_of(
    axis: str,
    transition: str,
    origin: Origin,
    expr: str,
    example: Counterexample,
    confirmation: Confirmation,
    more: str = "",
) -> ProbedCondition:
    """A condition of the report. `more` is added to its evidence."""
    named = ", ".join(f"{name} = {value}" for name, value in example.facts.items())
    where = ", ".join(f"{name} {extent}" for name, extent in example.dims.items())
    where += "" if example.seed is None else f", seed {example.seed}"
    return ProbedCondition(
        axis=axis,
        condition=Condition(
            kind=ConditionKind.VALIDITY,
            category=category_of(expr),
            expr=expr,
            reason=f"Otherwise {_SAID_OF.get(example.code, example.code)}, as with {named}.",
            origin=origin,
            evidence=f"{where}: {example.said}{more}",
        ),
        risk=Risk(what=f"{named}: {example.said}", evidence=f"{_METHODS[origin]} {transition}, {where}"),
        counterexample=example,
        confirmation=confirmation,
    )


def conditions_of(axis: str, transition: str, log: AxisFindings) -> Iterator[ProbedCondition]:
    """What of an axis stands."""
    for finding in log.findings:
        if not finding.why_dropped:
            expr = finding.atom.expr
            example = _counterexample(finding.example, expr)
            more = _only_sufficient(finding)
            yield condition_of(axis, transition, Origin.PROBE, expr, example, finding.confirmation, more)


def dropped_of(axis: str, log: AxisFindings) -> Iterator[Dropped]:
    """What of an axis became no condition."""
    for finding in log.findings:
        if finding.why_dropped:
            expr = finding.atom.expr
            example = _counterexample(finding.example, expr)
            yield Dropped(axis=axis, expr=expr, why=finding.why_dropped, counterexample=example)
    if log.unexplained is not None:
        why = "no predicate of the grammar parts the failing cases from the others"
        yield Dropped(axis=axis, expr="", why=why, counterexample=_counterexample(log.unexplained, ""))


def _only_sufficient(finding: Finding) -> str:
    """That what breaks a condition is often right all the same, where cases on its other side show that."""
    right, tried = finding.confirmation.beyond
    until = finding.atom.until
    if until is None and right <= (1 - ENOUGH) * tried:
        return ""
    again = "" if until is None else f"; beyond {until:g} both states were seen to agree again"
    return f"; {SUFFICIENT}: right in {right} of {tried} cases tried on the other side{again}"


def _counterexample(answer: Answer, expr: str) -> Counterexample:
    """A failing probe as evidence of a condition."""
    names = dict.fromkeys(ref.name for ref in facts_in(parse(expr))) if expr else answer.setting.dims
    return Counterexample(
        dims=dict(answer.setting.dims),
        seed=answer.setting.seed,
        code=answer.code,
        said=_ADVICE.sub("", answer.reason),
        facts={name: answer.facts[name] for name in names if name in answer.facts},
        line=answer.details.get("line"),
    )
