"""What limits a kernel → what may be tried now: typed rules, each with its reason and source, from `rules.toml`.

The same facts always give the same answer. A rule fires only when its condition is known to hold.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, field_validator

from kernel_lineage.kernels.mechanisms.model import Direction
from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.ranking.counts import direction_of

FAVOURED = 1.5
"""What a favoured strategy's score is multiplied by."""
_RULES = Path(__file__).with_name("rules.toml")


class Rule(BaseModel, frozen=True, extra="forbid"):
    """One rule: when it fires, what it favours and forbids, why, and where that is from."""

    id: str
    when: str
    favours: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    """Mechanisms or directions."""
    reason: str
    source: str

    @field_validator("when")
    @classmethod
    def _is_a_condition(cls, when: str) -> str:
        parse(when)
        return when

    @field_validator("favours", "forbids")
    @classmethod
    def _are_known(cls, named: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [n for n in named if n not in mechanisms() and n not in set(Direction)]
        if unknown:
            raise ValueError(f"no mechanism or direction: {', '.join(unknown)}")
        return named

    def names(self, strategy: str, among: Iterable[str]) -> bool:
        """Whether a strategy or its direction is among the named."""
        return not {strategy, direction_of(strategy)}.isdisjoint(among)


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that holds here, and the facts that decided it."""

    rule: Rule
    evidence: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The rules that hold for one kernel."""

    fired: tuple[Fired, ...] = ()

    def not_now(self, strategy: str) -> str:
        """Why a strategy cannot pay now, in one clause with what was measured; "" when no rule forbids it."""
        for fired in self.fired:
            if fired.rule.names(strategy, fired.rule.forbids):
                return f"not now: {fired.rule.reason} ({fired.evidence})"
        return ""

    def factor(self, strategy: str) -> float:
        """What a strategy's score is multiplied by."""
        favoured = any(f.rule.names(strategy, f.rule.favours) for f in self.fired)
        return FAVOURED if favoured and not self.not_now(strategy) else 1.0

    def because(self, strategy: str) -> str:
        """Which rule favours it, in one clause; "" when none does."""
        return next(
            (f"{f.rule.reason} ({f.evidence})" for f in self.fired if f.rule.names(strategy, f.rule.favours)),
            "",
        )


@cache
def rules() -> tuple[Rule, ...]:
    """The rules in the order of the file; the first that forbids a strategy gives the reason."""
    return tuple(
        Rule.model_validate(row) for row in tomllib.loads(_RULES.read_text(encoding="utf-8"))["rule"]
    )


def limits_of(facts: Facts) -> Limits:
    """The rules that the facts of a kernel make fire."""
    fired = []
    for rule in rules():
        judged = judge(rule.when, facts)
        if judged.truth is Truth.HOLDS:
            evidence = "; ".join(dict.fromkeys(fact.evidence for fact in judged.evidence))
            fired.append(Fired(rule, evidence))
    return Limits(tuple(fired))
