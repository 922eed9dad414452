"""Along one axis, from the first failing probe to confirmed conditions: explain, tell rivals apart, hold out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Answer, Asking, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.findings import AxisFindings, Finding, sides_of, smallest
from kernel_lineage.learning.probes.holding_out import ENOUGH, confirmed, held_out
from kernel_lineage.learning.probes.inference import Explained, explain
from kernel_lineage.learning.probes.report import Confirmation
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.learning.probes.telling_apart import settled

_RELEARN = 4
"""So often a hypothesis that held-out cases contradict is made anew from them."""
_ENOUGH_FAILURES, _ENOUGH_AGREEING = 3, 6
"""Boundaries that are probed before what parts them is looked for."""


def learn(axis: Axis, ground: Ground, asking: Asking, seed: int) -> AxisFindings:
    """What probing along one axis finds. Limits of the budget end it early, and what was found till then stays."""
    log = AxisFindings()
    moved = list(axis.boundaries(ground))
    waiting = [s for s in (*moved[:1], *ground.first_along(axis.id), *moved[1:]) if s.runs]

    def conclude() -> None:
        with asking.whole():
            _conclude(axis, _unrefuted(ground, log), asking, seed, log, waiting)

    try:
        while _probed(waiting, asking, ground, log):
            conclude()
    except OutOfBudget as limit:
        log.cut = str(limit)
    if log.cut and _open(ground, log):
        try:  # the axis's share is spent; what is left of the whole may go to what failed
            conclude()
        except OutOfBudget as limit:
            log.cut = str(limit)
        _left_open(ground, log)
    return log


def _probed(waiting: list[Setting], asking: Asking, ground: Ground, log: AxisFindings) -> bool:
    """Whether there is something to explain: boundaries are probed until failures that nothing explains are enough.

    What parts them is then found with fewer probes than the boundaries that are left, which are probed afterwards.
    """
    fresh = 0
    while waiting:
        setting = waiting.pop(0)
        if not _is_telling(setting, log):
            continue
        answer = asking.ask(setting)
        log.answers.append(answer)
        before = log.refuted
        basis = _unrefuted(ground, log)
        new = [answer] if log.refuted == before else log.answers
        fresh += sum(a.saw is Saw.FAILS and not _is_explained(a, basis, log) for a in new)
        agreed = sum(a.saw is Saw.AGREES for a in log.answers)
        if fresh >= _ENOUGH_FAILURES and agreed >= _ENOUGH_AGREEING:
            return True
    return fresh > 0


def _is_telling(setting: Setting, log: AxisFindings) -> bool:
    """Whether a boundary was not asked yet and keeps what was found: where that is broken, failures show nothing."""
    if any(a.setting == setting for a in log.answers):
        return False
    facts = facts_of(setting)
    return not any(f.atom.broken_by(facts) for f in log.findings if not f.why_dropped)


def _is_explained(answer: Answer, ground: Ground, log: AxisFindings) -> bool:
    """Whether a failure breaks what was found already; where nothing parts the failures, one more changes nothing."""
    if log.unexplained is not None or ground.explains(answer.facts):
        return True
    return any(not f.why_dropped and f.atom.broken_by(answer.facts) for f in log.findings)


def _open(ground: Ground, log: AxisFindings) -> list[Answer]:
    """Failures that nothing explains yet."""
    basis = _unrefuted(ground, log)
    return [a for a in log.answers if a.saw is Saw.FAILS and not _is_explained(a, basis, log)]


def _left_open(ground: Ground, log: AxisFindings) -> None:
    """Failures that the budget left no probes to confirm a condition for are said with what parts them so far."""
    failed = _open(ground, log)
    if not failed:
        return
    ground = _unrefuted(ground, log)
    explained = explain(*sides_of(log.answers, ground), ground.hints)
    if explained is None:
        log.unexplained = smallest(failed)
        return
    exprs = {f.atom.expr for f in log.findings}
    for atom in explained.parts:
        example = smallest(a for a in failed if atom.broken_by(a.facts))
        if atom.expr not in exprs and example is not None:
            nothing = Confirmation(kept=0, kept_agree=0, broken=0, broken_agree=0)
            log.findings.append(Finding(atom, example, nothing, f"not confirmed: {log.cut}"))


def _conclude(
    axis: Axis, ground: Ground, asking: Asking, seed: int, log: AxisFindings, waiting: Sequence[Setting]
) -> None:
    """Conditions for the failures so far, into `log`: a hypothesis that held-out cases contradict is made anew."""
    for attempt in range(_RELEARN + 1):
        chance = random.Random(f"{seed} {axis.id} {attempt}")
        pool = [s for s in (*waiting, *axis.pool(ground, chance)) if ground.worth(s)]
        explained = settled(axis, ground, asking, pool, log, chance)
        if explained is None:
            log.findings.clear()
            log.unexplained = smallest(a for a in log.answers if a.saw is Saw.FAILS)
            return
        held = held_out(axis, ground, explained, chance, 1 + attempt)
        by_expr = _still_standing(explained, log)
        log.findings = [
            by_expr.get(part.expr)
            or confirmed(part, explained, asking, held, log, ground.base, last=attempt == _RELEARN)
            for part in explained.parts
        ]
        if all(f.stands for f in log.findings):
            return
    log.findings = [_alone(f, ground, log) for f in log.findings]


def _still_standing(explained: Explained, log: AxisFindings) -> dict[str, Finding]:
    """What was confirmed before and needs no more cases: its counterexample keeps all other parts."""
    return {
        f.atom.expr: f
        for f in log.findings
        if f.stands and all(p.test(f.example.facts) for p in explained.parts if p.expr != f.atom.expr)
    }


def _alone(finding: Finding, ground: Ground, log: AxisFindings) -> Finding:
    """A finding beside others that were dropped: it stays when it is right without them too."""
    agreed, failed = sides_of(log.answers, ground)
    kept = [
        right
        for side, right in ((agreed, True), (failed, False))
        for p in side
        if not finding.atom.broken_by(p)
    ]
    if finding.why_dropped or sum(kept) >= ENOUGH * len(kept):
        return finding
    beside = ", ".join(f"`{f.atom.expr}`" for f in log.findings if f.why_dropped)
    return replace(finding, why_dropped=f"right only beside {beside}, dropped as well")


def _unrefuted(ground: Ground, log: AxisFindings) -> Ground:
    """Without what was known before and is broken by cases in which the later state is right."""
    right = [a.facts for a in log.answers if a.saw is Saw.AGREES]
    refuted = [a for a in ground.known if a.exact and any(a.broken_by(facts) for facts in right)]
    log.refuted = tuple(refuted)
    return replace(ground, known=tuple(a for a in ground.known if a not in refuted)) if refuted else ground
