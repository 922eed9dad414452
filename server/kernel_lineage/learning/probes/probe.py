"""`probe`: all axes over one step, in an order in which what one finds helps the next."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kernel_gate.cases import named_shapes
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.guard_conditions import category_of
from kernel_lineage.learning.probes.asking import Answer, Asking, Budget, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.findings import AxisFindings, Finding
from kernel_lineage.learning.probes.hints import hints_of
from kernel_lineage.learning.probes.learning import learn
from kernel_lineage.learning.probes.proofs import ID as PROOFS
from kernel_lineage.learning.probes.proofs import Proved, proved
from kernel_lineage.learning.probes.proved_conditions import condition_of, dropped_of, run_of
from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.probes.report import (
    AxisRun,
    Counterexample,
    Dropped,
    ProbedCondition,
    ProbeReport,
    RefusingCase,
)
from kernel_lineage.learning.probes.said_better import drop_what_is_said_better
from kernel_lineage.learning.probes.setting import Setting, base_of
from kernel_lineage.learning.probes.shares import shares
from kernel_lineage.learning.probes.sufficiency import proofs_of
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.skills.card import Condition, ConditionKind, Origin, Risk
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in

SEED = 91
_MOST_OTHERS = 6
"""Further shapes that other axes than the sizes are held out on."""
_FIRST, _LAST = "sizes", "masks"
_ADVICE = re.compile(
    r"; if no caller [^;]*|; the baseline (?:is right when|takes any address)[^;]*|, hidden shape"
)
"""What the gate's line tells the author of a rewrite, and says nothing of the step."""


def probe(
    step: Step,
    judge: Judge,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    seed: int = SEED,
    only: Sequence[str] = (),
    on_progress: Callable[[str, int], None] = lambda _axis, _runs: None,
) -> ProbeReport:
    """What must hold for the later state of a step and need not for the earlier one.

    `only` names the axes to probe, `proofs` among them; by default all. Raises `DeviceError` when the judge has no
    emulated device.
    """
    asking = Asking(judge, budget)
    base, why = _base(step, asking, seed)
    about = {
        "transition": step.transition,
        "kernel": step.workload.kernel,
        "device": "emulated",
        "seed": seed,
    }
    if base is None:
        return ProbeReport(**about, passes=False, reason=why, runs=asking.runs)
    ground = Ground(base, hints=hints_of(step))
    if only and _FIRST not in only:
        ground = replace(ground, others=tuple(_neighbours(ground, asking)))
    found: dict[str, AxisFindings] = {}
    order = tuple(_in_order(only))
    for axis, part in zip(order, shares(order, ground, asking), strict=True):
        on_progress(axis.id, asking.runs)
        asking.share(part)
        found[axis.id] = learn(axis, ground, asking, seed)
        drop_what_is_said_better(found, found[axis.id])
        learned = [f for findings in found.values() for f in findings.findings if not f.why_dropped]
        ground = replace(ground, known=tuple(f.atom for f in learned))
        if axis.id == _FIRST:
            failing = tuple(f.example.setting for f in learned)
            ground = replace(ground, others=tuple(_others(base, found[axis.id])), failing=failing)
    on_progress(PROOFS, asking.runs)
    said = proved(ground, seed) if not only or PROOFS in only else Proved()
    conditions = [
        _condition(step, axis, finding)
        for axis, findings in found.items()
        for finding in findings.findings
        if not finding.why_dropped
    ]
    if not only or PROOFS in only:
        spoken = proofs_of(ground, [c.condition.expr for c in conditions])
        conditions = [c.model_copy(update={"proof": spoken.get(c.condition.expr, "")}) for c in conditions]
    conditions += [condition_of(step, base, c) for c in said.conditions]
    dropped = [d for axis, findings in found.items() for d in _dropped(axis, findings)]
    cut = [f"{axis}: {f.cut}" for axis, f in found.items() if f.cut]
    return ProbeReport(
        **about,
        passes=True,
        reason="",
        conditions=_distinct(conditions),
        dropped=(*dropped, *(dropped_of(base, d) for d in said.dropped)),
        axes=(*(_run(axis, findings) for axis, findings in found.items()), run_of(said)),
        runs=asking.runs,
        not_reached=(*cut, *([f"{PROOFS}: {said.why_not}"] if said.why_not else [])),
    )


def _in_order(only: Sequence[str]) -> Iterator[Axis]:
    """Sizes first: the others are held out on the shapes that agree. Masks last: an infinity is a large value too."""
    chosen = [axis for axis in axes().values() if not only or axis.id in only]
    yield from sorted(chosen, key=lambda axis: (axis.id != _FIRST, axis.id == _LAST, axis.id))


def _base(step: Step, asking: Asking, seed: int) -> tuple[Setting | None, str]:
    """The smallest named shape on which both agree; all named shapes must agree, as far as they are small enough."""
    first: Setting | None = None
    reason = "the workload names no shape that is small enough to probe"
    for dims in named_shapes(step.workload):
        setting = base_of(step, dims, seed)
        if not setting.runs:
            continue
        try:
            answer = asking.ask(setting)
        except OutOfBudget as limit:
            return None, str(limit)
        if answer.saw is not Saw.AGREES:
            return None, f"the two states do not agree on the workload as it is: {answer.reason}"
        if first is None or (min(first.dims.values(), default=2) == 1 and min(dims.values(), default=2) > 1):
            first = setting
    return first, "" if first is not None else reason


def _others(base: Setting, found: AxisFindings) -> Iterator[Setting]:
    """Other shapes on which both agree, spread over those that were probed."""
    agreeing = [a.setting for a in found.answers if a.saw is Saw.AGREES and a.setting.size <= 4 * base.size]
    step = max(1, len(agreeing) // _MOST_OTHERS)
    yield from agreeing[::step][:_MOST_OTHERS]


_NEIGHBOURS = 12


def _neighbours(ground: Ground, asking: Asking) -> Iterator[Setting]:
    """Shapes around the base on which both agree, where the sizes themselves are not probed."""
    try:
        for answer in asking.all(itertools.islice(axes()[_FIRST].boundaries(ground), _NEIGHBOURS)):
            if answer.saw is Saw.AGREES:
                yield answer.setting
    except OutOfBudget:
        return


def _distinct(conditions: Sequence[ProbedCondition]) -> tuple[ProbedCondition, ...]:
    """One of each expression: the first axis that found it."""
    kept: dict[str, ProbedCondition] = {}
    for condition in conditions:
        kept.setdefault(condition.condition.expr, condition)
    return tuple(kept.values())


def _condition(step: Step, axis: str, finding: Finding) -> ProbedCondition:
    expr = finding.atom.expr
    example = counterexample(finding.example, expr)
    named = ", ".join(f"{name} = {value}" for name, value in example.facts.items())
    dims = ", ".join(f"{name} {extent}" for name, extent in example.dims.items())
    evidence = f"{dims}, seed {example.seed}: {example.said}"
    return ProbedCondition(
        axis=axis,
        condition=Condition(
            kind=ConditionKind.VALIDITY,
            category=category_of(expr),
            expr=expr,
            reason=_reason(example) + _past(finding),
            origin=Origin.PROBE,
            evidence=evidence,
        ),
        risk=Risk(
            what=f"{named}: {example.said}",
            evidence=f"probe of {step.transition}, {dims}, seed {example.seed}",
        ),
        refuses=RefusingCase(
            language=Language(step.before.language),
            kernel=step.before.entry,
            facts=example.facts,
            because=expr,
            source=step.before.source,
        ),
        counterexample=example,
        confirmation=finding.confirmation,
    )


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
}


def _past(finding: Finding) -> str:
    until = finding.atom.until
    return "" if until is None else f" Beyond {until:g} both states were seen to agree again."


def _reason(example: Counterexample) -> str:
    """One sentence for the card."""
    named = ", ".join(f"{name} = {value}" for name, value in example.facts.items())
    return f"Otherwise {_SAID_OF.get(example.code, example.code)}, as with {named}."


def counterexample(answer: Answer, expr: str) -> Counterexample:
    """A failing probe as evidence of a condition."""
    names = dict.fromkeys(ref.name for ref in facts_in(parse(expr))) if expr else answer.setting.dims
    said = _ADVICE.sub("", answer.reason)
    index = answer.details.get("index")
    return Counterexample(
        dims=dict(answer.setting.dims),
        seed=answer.setting.seed,
        inputs=str(answer.setting.inputs),
        memory=str(answer.setting.memory),
        code=answer.code,
        said=said,
        facts={name: answer.facts[name] for name in names if name in answer.facts},
        output=answer.details.get("output"),
        index=tuple(index) if index is not None else None,
        line=answer.details.get("line"),
    )


def _dropped(axis: str, found: AxisFindings) -> Iterator[Dropped]:
    for finding in found.findings:
        if finding.why_dropped:
            expr = finding.atom.expr
            yield Dropped(
                axis=axis,
                expr=expr,
                why=finding.why_dropped,
                counterexample=counterexample(finding.example, expr),
            )
    if found.unexplained is not None:
        why = "no predicate of the grammar parts the failing cases from the others"
        yield Dropped(axis=axis, expr="", why=why, counterexample=counterexample(found.unexplained, ""))


def _run(axis: str, found: AxisFindings) -> AxisRun:
    counts = {saw: sum(a.saw is saw for a in found.answers) for saw in Saw}
    return AxisRun(
        axis=axis,
        agrees=counts[Saw.AGREES],
        fails=counts[Saw.FAILS],
        silent=counts[Saw.SILENT],
        note=found.cut,
    )
