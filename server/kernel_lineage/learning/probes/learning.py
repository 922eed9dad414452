"""Along one axis, from the first failing probe to confirmed conditions: explain, tell rivals apart, hold out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kernel_lineage.learning.probes.asking import Answer, Asking, OutOfBudget, Saw
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import again, around, closer
from kernel_lineage.learning.probes.inference import Explained, explain
from kernel_lineage.learning.probes.predicates import Atom, FactValues
from kernel_lineage.learning.probes.report import Confirmation
from kernel_lineage.learning.probes.setting import Setting, facts_of

_ROUNDS = 40
"""Probes that may be spent on telling hypotheses apart."""
_HELD_OUT = 10
"""Cases on each side of a condition."""
_LEAST_HELD_OUT = 2
_POOLS = 6
"""Held-out cases are taken from so many pools: those that keep all conditions but one may be rare."""
_RELEARN = 4
"""So often a hypothesis that held-out cases contradict is made anew from them."""
_ENOUGH_FAILURES, _ENOUGH_AGREEING = 3, 6
"""Boundaries that are probed before what parts them is looked for."""
ENOUGH = 0.95
"""The share of held-out cases that a condition must be right in."""


@dataclass(frozen=True)
class Finding:
    """One atom that was learned, the smallest failing probe that breaks it alone, and how it was confirmed."""

    atom: Atom
    example: Answer
    confirmation: Confirmation
    why_dropped: str = ""

    @property
    def stands(self) -> bool:
        """Whether nothing speaks against it; one case does against what is exact, and more can be learned from it."""
        return not self.why_dropped and (self.confirmation.share == 1.0 or not self.atom.exact)


@dataclass
class AxisFindings:
    """All that one axis gave."""

    findings: list[Finding] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    unexplained: Answer | None = None
    """A failure that no conjunction of the grammar parts from what agrees."""
    refuted: tuple[Atom, ...] = ()
    """What was known before, and is broken by cases of this axis in which the later state is right."""
    cut: str = ""
    """Which limit ended it early."""


def learn(axis: Axis, ground: Ground, asking: Asking, seed: int) -> AxisFindings:
    """What probing along one axis finds. Limits of the budget end it early, and what was found till then stays."""
    found = AxisFindings()
    waiting = [s for s in axis.boundaries(ground) if s.runs]
    try:
        while _probed(waiting, asking, ground, found):
            with asking.whole():
                _conclude(axis, _unrefuted(ground, found), asking, seed, found, waiting)
    except OutOfBudget as limit:
        found.cut = str(limit)
        _left_open(ground, found)
    return found


def _probed(waiting: list[Setting], asking: Asking, ground: Ground, found: AxisFindings) -> bool:
    """Whether there is something to explain: boundaries are probed until failures that nothing explains are enough.

    What parts them is then found with fewer probes than the boundaries that are left, which are probed afterwards.
    """
    fresh = 0
    while waiting:
        setting = waiting.pop(0)
        if not _is_telling(setting, found):
            continue
        answer = asking.ask(setting)
        found.answers.append(answer)
        before = found.refuted
        known = _unrefuted(ground, found)
        new = [answer] if found.refuted == before else found.answers
        fresh += sum(a.saw is Saw.FAILS and not _is_explained(a, known, found) for a in new)
        agreed = sum(a.saw is Saw.AGREES for a in found.answers)
        if fresh >= _ENOUGH_FAILURES and agreed >= _ENOUGH_AGREEING:
            return True
    return fresh > 0


def _is_telling(setting: Setting, found: AxisFindings) -> bool:
    """Whether a boundary was not asked yet and keeps what was found: where that is broken, failures show nothing."""
    if any(a.setting == setting for a in found.answers):
        return False
    facts = facts_of(setting)
    return not any(f.atom.broken_by(facts) for f in found.findings if not f.why_dropped)


def _is_explained(answer: Answer, ground: Ground, found: AxisFindings) -> bool:
    """Whether a failure breaks what was found already; where nothing parts the failures, one more changes nothing."""
    if found.unexplained is not None or ground.explains(answer.facts):
        return True
    return any(not f.why_dropped and f.atom.broken_by(answer.facts) for f in found.findings)


def _left_open(ground: Ground, found: AxisFindings) -> None:
    """Failures that the budget left no probes to confirm a condition for are said with what parts them so far."""
    ground = _unrefuted(ground, found)
    failed = [a for a in found.answers if a.saw is Saw.FAILS and not _is_explained(a, ground, found)]
    if not failed:
        return
    explained = explain(*_sides(found.answers, ground), ground.hints)
    if explained is None:
        found.unexplained = _smallest(failed)
        return
    known = {f.atom.expr for f in found.findings}
    for atom in explained.parts:
        example = _smallest(a for a in failed if atom.broken_by(a.facts))
        if atom.expr not in known and example is not None:
            nothing = Confirmation(kept=0, kept_agree=0, broken=0, broken_agree=0)
            found.findings.append(Finding(atom, example, nothing, f"not confirmed: {found.cut}"))


def _unrefuted(ground: Ground, found: AxisFindings) -> Ground:
    """Without what was known before and is broken by cases in which the later state is right."""
    right = [a.facts for a in found.answers if a.saw is Saw.AGREES]
    refuted = [a for a in ground.known if a.exact and any(a.broken_by(facts) for facts in right)]
    found.refuted = tuple(refuted)
    return replace(ground, known=tuple(a for a in ground.known if a not in refuted)) if refuted else ground


def _conclude(
    axis: Axis, ground: Ground, asking: Asking, seed: int, found: AxisFindings, waiting: Sequence[Setting]
) -> None:
    for attempt in range(_RELEARN + 1):
        chance = random.Random(f"{seed} {axis.id} {attempt}")
        pool = [s for s in (*waiting, *axis.pool(ground, chance)) if ground.worth(s)]
        explained = _settled(axis, ground, asking, pool, found, chance)
        if explained is None:
            found.findings.clear()
            found.unexplained = _smallest(a for a in found.answers if a.saw is Saw.FAILS)
            return
        pools = (axis.pool(ground, chance) for _ in range(_POOLS))
        drawn = itertools.chain(*pools, around(axis, ground, explained, chance))
        held = [_with_other_data(s, 1 + attempt) for s in drawn if ground.worth(s)]
        known = _still_standing(explained, found)
        found.findings = [
            known.get(part.expr)
            or _confirmed(part, explained, asking, held, found, ground.base, last=attempt == _RELEARN)
            for part in explained.parts
        ]
        if all(f.stands for f in found.findings):
            return
    found.findings = [_alone(f, ground, found) for f in found.findings]


def _still_standing(explained: Explained, found: AxisFindings) -> dict[str, Finding]:
    """What was confirmed before and needs no more cases: its counterexample keeps all other parts."""
    return {
        f.atom.expr: f
        for f in found.findings
        if f.stands and all(p.test(f.example.facts) for p in explained.parts if p.expr != f.atom.expr)
    }


def _alone(finding: Finding, ground: Ground, found: AxisFindings) -> Finding:
    """A finding beside others that were dropped: it stays when it is right without them too."""
    agreed, failed = _sides(found.answers, ground)
    kept = [
        right
        for side, right in ((agreed, True), (failed, False))
        for p in side
        if not finding.atom.broken_by(p)
    ]
    if finding.why_dropped or sum(kept) >= ENOUGH * len(kept):
        return finding
    beside = ", ".join(f"`{f.atom.expr}`" for f in found.findings if f.why_dropped)
    return replace(finding, why_dropped=f"right only beside {beside}, dropped as well")


def _with_other_data(setting: Setting, more: int) -> Setting:
    """A case with data of its own; one that was drawn for its data has them, and its facts are of these."""
    return setting if setting.told else replace(setting, seed=setting.seed + more)


def _settled(
    axis: Axis,
    ground: Ground,
    asking: Asking,
    pool: Sequence[Setting],
    found: AxisFindings,
    chance: random.Random,
) -> Explained | None:
    """The hypothesis that is left when probes between it and its rivals, and at its bounds, have been run."""
    facts = [(s, facts_of(s)) for s in pool]
    for _ in range(_ROUNDS):
        explained = explain(*_sides(found.answers, ground), ground.hints)
        if explained is None:
            return None
        telling = _most_telling(explained, [f for f in facts if not asking.known(f[0])])
        if telling is None:
            telling = closer(axis, ground, explained, _sides(found.answers, ground), chance)
            telling = telling or again(explained, found.answers)
        if telling is None or asking.known(telling):
            return explained
        found.answers.append(asking.ask(telling))
    return explain(*_sides(found.answers, ground), ground.hints)


def _sides(answers: Sequence[Answer], ground: Ground) -> tuple[list[FactValues], list[FactValues]]:
    """The facts of cases in which the later state is right, and of those in which it fails for no known reason.

    With facts with which it fails once it is right by luck: some data do not show what is wrong.
    """
    failed: list[FactValues] = [a.facts for a in answers if a.saw is Saw.FAILS]
    agreed: list[FactValues] = [a.facts for a in answers if a.saw is Saw.AGREES and a.facts not in failed]
    return agreed, [facts for facts in failed if not ground.explains(facts)]


def _most_telling(explained: Explained, fresh: Sequence[tuple[Setting, FactValues]]) -> Setting | None:
    """The smallest setting of those that split the rivals most evenly from the hypothesis; None: none does."""
    best: tuple[int, int, int] | None = None
    chosen: Setting | None = None
    for position, (setting, facts) in enumerate(fresh):
        try:
            held = explained.holds(facts)
            against = sum(all(a.test(facts) for a in rival) is not held for rival in explained.rivals)
        except KeyError:  # a row of one value has no lead, and nothing that speaks of leads speaks of it
            continue
        if against:
            rank = (-min(against, len(explained.rivals) - against + 1), setting.size, position)
            if best is None or rank < best:
                best, chosen = rank, setting
    return chosen


def _confirmed(
    atom: Atom,
    explained: Explained,
    asking: Asking,
    held: Sequence[Setting],
    found: AxisFindings,
    base: Setting,
    *,
    last: bool,
) -> Finding:
    """An atom with its counterexample, after held-out cases on both sides of it, all other atoms kept.

    What is exact ends with the first case that contradicts it, as long as it can be learned anew.
    """
    others = [a for a in explained.parts if a is not atom]
    counts = {True: [0, 0], False: [0, 0]}
    for setting in held:
        facts = facts_of(setting)
        try:
            side = atom.test(facts)
            if not all(a.test(facts) for a in others):
                continue
        except KeyError:
            continue
        if counts[side][0] >= _HELD_OUT or asking.known(setting):
            continue
        answer = asking.ask(setting)
        found.answers.append(answer)
        if answer.saw is Saw.SILENT:
            continue
        counts[side][0] += 1
        agrees = (answer.saw is Saw.AGREES) is side
        counts[side][1] += agrees
        if not agrees and atom.exact and not last:
            break
    confirmation = Confirmation(
        kept=counts[True][0],
        kept_agree=counts[True][1],
        broken=counts[False][0],
        broken_agree=counts[False][1],
    )
    broken = [
        a
        for a in found.answers
        if a.saw is Saw.FAILS and atom.broken_by(a.facts) and not any(o.broken_by(a.facts) for o in others)
    ]
    example = _smallest(broken) or _smallest(a for a in found.answers if a.saw is Saw.FAILS)
    if example is None:
        raise AssertionError("a hypothesis is made of failures")
    return Finding(
        atom, _shrunk(example, atom, others, asking, base), confirmation, why_dropped(confirmation)
    )


def why_dropped(confirmation: Confirmation) -> str:
    """Why a condition is not kept; "" for one that is."""
    few = min(confirmation.kept, confirmation.broken)
    if few < _LEAST_HELD_OUT:
        return f"only {few} held-out cases on one side of it could be run"
    if confirmation.share < ENOUGH:
        cases = confirmation.kept + confirmation.broken
        return f"the gate agrees in {confirmation.share:.0%} of {cases} held-out cases"
    return ""


def _smallest(answers: Iterable[Answer]) -> Answer | None:
    return min(answers, key=lambda a: (a.setting.size, sorted(a.setting.dims.items())), default=None)


_SHRUNK_TO = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33)


def _shrunk(example: Answer, atom: Atom, others: Sequence[Atom], asking: Asking, base: Setting) -> Answer:
    """A smaller failing case that still breaks the atom alone: each dimension in turn as small as it will go.

    At its sizes nothing else may be wrong: a case that fails by its sizes alone shows nothing of an alignment.
    """
    best = example
    for name in sorted(best.setting.dims):
        for extent in (e for e in _SHRUNK_TO if e < best.setting.dims[name]):
            smaller = best.setting.at(**{name: extent})
            facts = facts_of(smaller)
            if not smaller.runs or not atom.broken_by(facts) or any(o.broken_by(facts) for o in others):
                continue
            if smaller.dims.keys() == base.dims.keys() and not _right_by_size(
                base.at(**smaller.dims), smaller, asking
            ):
                continue
            answer = asking.ask(smaller)
            if answer.saw is Saw.FAILS:
                best = answer
                break
    return best


def _right_by_size(plain: Setting, moved: Setting, asking: Asking) -> bool:
    """Whether the case as the workload runs it agrees at these sizes; where only sizes were moved, nothing is asked."""
    plain = replace(plain, seed=moved.seed)
    return plain.key == moved.key or (plain.runs and asking.ask(plain).saw is Saw.AGREES)
