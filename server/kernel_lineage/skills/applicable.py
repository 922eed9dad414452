"""Which skills apply to a kernel, where, and with each condition judged on the facts at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.mechanisms.model import Site
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.card import Condition, ConditionKind, Skill
from kernel_lineage.skills.conditions.binding import bind
from kernel_lineage.skills.conditions.evaluate import conjunction, judge
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.names import declared, hint
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.render import sentence
from kernel_lineage.skills.conditions.tree import Expr, facts_in
from kernel_lineage.skills.conditions.truth import Judgement, Truth
from kernel_lineage.skills.conditions.unparse import written
from kernel_lineage.skills.effect import Expected, Match, expected
from kernel_lineage.skills.kernel_facts import derived_facts, launch_facts, syntax_facts
from kernel_lineage.skills.promises import Promise, promised, promises_of
from kernel_lineage.skills.ranking.count_files import builtin_counts
from kernel_lineage.skills.ranking.counts import Counts
from kernel_lineage.skills.ranking.rank import State, rank
from kernel_lineage.skills.ranking.rules import limits_of


@dataclass(frozen=True, slots=True)
class Judged:
    """A skill's condition in the kernel's own names, and its truth here."""

    condition: Condition
    tree: Expr
    expr: str
    sentence: str
    judgement: Judgement

    @property
    def evidence(self) -> str:
        """What decided it, or what is missing and where it would be told, in one phrase."""
        if self.judgement.truth is Truth.UNKNOWN:
            missing = "; ".join(_missing(name) for name in self.judgement.missing)
            left = self.judgement.counterexample
            return f"{missing}; what is promised leaves {left} open" if left is not None else missing
        text = "; ".join(dict.fromkeys(fact.evidence for fact in self.judgement.evidence))
        if self.judgement.counterexample is not None:
            return f"{self.judgement.counterexample}: {text}" if text else self.judgement.counterexample
        return text

    @property
    def holds(self) -> bool:
        """Whether it is known to hold."""
        return self.judgement.truth is Truth.HOLDS

    @property
    def unknown(self) -> bool:
        """Whether a fact is missing to decide it."""
        return self.judgement.truth is Truth.UNKNOWN

    @property
    def testable(self) -> bool:
        """Whether the running kernel can test it: it speaks only of sizes, alignment and the launch."""
        return all(
            ref.bound and ((declaration := declared(ref.name)) is None or declaration.at_run_time)
            for ref in facts_in(self.tree)
        )


@dataclass(frozen=True, slots=True)
class Applicable:
    """A skill at one anchor of a kernel."""

    skill: Skill
    anchor: Anchor
    verdict: Truth
    """The truth of the validity conditions: only `HOLDS` may be applied without a guard."""
    pays: Truth
    """The truth of the profit conditions."""
    conditions: tuple[Judged, ...]
    expected: Expected | None
    match: Match
    score: float = 0.0
    """What it is ranked by among those of the same truth (`skills/ranking/rank.py`)."""
    rank_reason: str = ""
    """Why it has its rank, in one clause."""
    not_now: str = ""
    """Why what limits the kernel forbids it now, in one clause; "" when nothing does."""

    @property
    def guardable(self) -> bool:
        """Whether a fast path behind a test, with the old code beside it, would be right.

        So it is when the kernel itself can test every validity condition that does not hold (sizes, alignment), and
        none of them fails for all the values that are known.
        """
        open_ = [j for j in self.conditions if j.condition.kind is ConditionKind.VALIDITY and not j.holds]
        return bool(open_) and all(j.testable and (j.unknown or j.judgement.partly) for j in open_)

    @property
    def possible(self) -> bool:
        """Whether applying it may be tried: nothing known speaks against it, or an assist can guard it."""
        return self.verdict is not Truth.FAILS or (self.skill.assist is not None and self.guardable)

    @property
    def gainless(self) -> str:
        """The first profit condition that fails, as a sentence; "" where none does."""
        profit = (j for j in self.conditions if j.condition.kind is ConditionKind.PROFIT)
        return next((j.sentence for j in profit if j.judgement.truth is Truth.FAILS), "")

    @property
    def reason(self) -> str:
        """Why it cannot be applied as it is, in one line; "" when it can."""
        for judged in self.conditions:
            truth = judged.judgement.truth
            if judged.condition.kind is ConditionKind.VALIDITY and truth is self.verdict is not Truth.HOLDS:
                verb = "does not hold" if self.verdict is Truth.FAILS else "is not known to hold"
                return f"{judged.sentence} {verb}: {judged.evidence}"
        return ""


_ORDER = {Truth.HOLDS: 0, Truth.UNKNOWN: 1, Truth.FAILS: 2}


def applicable(
    kernel: Kernel,
    skills: Iterable[Skill],
    facts: Facts,
    counts: Counts | None = None,
    sites: Sequence[Site] | None = None,
) -> tuple[Applicable, ...]:
    """Every skill at every anchor of the kernel that is its own; those that hold first, of them what is likeliest next.

    `counts` say what is likely; by default the built-in ones. `sites` are those of the kernel's mechanisms, where they
    are known already.

    Left out are skills without cases, of another language, whose mechanism is there already and stays, that require a
    mechanism that is not there, or that conflict with one that is. What the source itself says is added to `facts`;
    where both speak, `facts` stay.
    """
    sites = mechanisms_of(kernel) if sites is None else sites
    present = {site.mechanism for site in sites if site.certain}
    everything = known_here(kernel, facts, sites)
    promises = promises_of(kernel)
    anchors: dict[str, list[Anchor]] = {}
    for anchor in anchors_of(kernel):
        anchors.setdefault(anchor.pattern, []).append(anchor)
    candidates = [
        judge_at(skill, anchor, everything, promises)
        for skill in skills
        if skill.offered and fits(skill, kernel, present)
        for anchor in anchors.get(skill.anchor.pattern, ())
        if is_at(skill, anchor)
    ]
    ranked = offered(
        kernel, candidates, present, everything, counts if counts is not None else builtin_counts()
    )
    return tuple(sorted(ranked, key=_place))


def offered(
    kernel: Kernel,
    candidates: Iterable[Applicable],
    present: Iterable[str],
    facts: Facts,
    counts: Counts,
) -> list[Applicable]:
    """The same with scores, reasons and vetoes: by the counts, and by the rules on what limits the kernel."""
    several = list(candidates)
    limits = limits_of(facts)
    wanted = {a.skill.mechanism for a in several}
    device = facts.get("device.name")
    state = State(
        kernel.language.value,
        frozenset(present),
        device=str(device.values[0]) if device is not None else "",
        factors={strategy: limits.factor(strategy) for strategy in sorted(wanted)},
    )
    by_strategy = {r.strategy: r for r in rank(counts, state, wanted)}
    made = []
    for one in several:
        ranked = by_strategy.get(one.skill.mechanism)
        reason = "; ".join(
            filter(None, [ranked.reason if ranked else "", limits.because(one.skill.mechanism)])
        )
        not_now = limits.not_now(one.skill.mechanism)
        score = ranked.score if ranked else 0.0
        made.append(replace(one, score=score, rank_reason=reason, not_now=not_now))
    return made


def _place(candidate: Applicable) -> tuple[object, ...]:
    """Truth first, then whether it can pay now, then how likely it is."""
    truth, pays = _ORDER[candidate.verdict], _ORDER[candidate.pays]
    return (truth, bool(candidate.not_now), pays, -candidate.score, candidate.skill.id, candidate.anchor.span)


def known_here(kernel: Kernel, facts: Facts, sites: Iterable[Site]) -> Facts:
    """`facts` with what the source itself says, and what follows from both."""
    everything = facts.merged(launch_facts(kernel), syntax_facts(kernel, sites, mechanisms()))
    return everything.merged(derived_facts(kernel, everything))


def fits(skill: Skill, kernel: Kernel, present: set[str]) -> bool:
    """Whether a skill may be offered on a kernel with these mechanisms."""
    return (
        kernel.language in skill.languages
        and (skill.anchor.again or skill.mechanism not in present)
        and present.issuperset(skill.anchor.requires)
        and present.isdisjoint(skill.anchor.conflicts)
    )


def is_at(skill: Skill, anchor: Anchor) -> bool:
    """Whether a skill's rule takes this match of its pattern."""
    rule = skill.anchor
    return anchor.pattern == rule.pattern and all(anchor.bindings.get(n) == v for n, v in rule.where.items())


def bindings_at(skill: Skill, anchor: Anchor) -> dict[str, str]:
    """The names of the skill's conditions → what they are in the kernel."""
    bindings = dict(anchor.bindings)
    for name, instead in skill.anchor.otherwise.items():
        if name not in bindings and instead in bindings:
            bindings[name] = bindings[instead]
    return bindings


def judge_at(skill: Skill, anchor: Anchor, facts: Facts, promises: Sequence[Promise] = ()) -> Applicable:
    """A skill's conditions at one anchor; what the facts leave unknown may be promised by the code itself."""
    bindings = tuple(bindings_at(skill, anchor).items())
    behind = [p for p in promises if p.behind <= anchor.span.start]
    conditions = tuple(judge_condition(c, bindings, facts, behind) for c in skill.conditions)

    def of(kind: ConditionKind) -> Truth:
        return conjunction(j.judgement.truth for j in conditions if j.condition.kind is kind)

    effect, match = expected(skill, facts)
    return Applicable(
        skill, anchor, of(ConditionKind.VALIDITY), of(ConditionKind.PROFIT), conditions, effect, match
    )


def judge_condition(
    condition: Condition, bindings: tuple[tuple[str, str], ...], facts: Facts, promises: Sequence[Promise]
) -> Judged:
    """A condition, in the names that `bindings` give it, and its truth."""
    tree, expr, says = _bound(condition.expr, bindings)
    return Judged(condition, tree, expr, says, promised(tree, judge(tree, facts), promises, facts.promises))


@lru_cache(maxsize=8192)
def _bound(expr: str, bindings: tuple[tuple[str, str], ...]) -> tuple[Expr, str, str]:
    """A condition in a kernel's own names: its tree, its text and its sentence."""
    tree = bind(parse(expr), dict(bindings))
    return tree, written(tree), sentence(tree)


def _missing(name: str) -> str:
    declaration = declared(name)
    if declaration is None and not name.isidentifier():
        return f"not known: {name}"
    return f"nothing says {name}: {hint(name)}"
