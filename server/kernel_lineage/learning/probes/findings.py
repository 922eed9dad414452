"""What one axis gives: its probes, what was learned from them, and what of it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kernel_lineage.learning.probes.asking import Answer, Saw
from kernel_lineage.learning.probes.axis import Ground
from kernel_lineage.learning.probes.predicates import Atom, FactValues
from kernel_lineage.learning.probes.report import Confirmation


@dataclass(frozen=True)
class Finding:
    """One atom that was learned, the smallest failing probe that breaks it alone, and how it was confirmed."""

    atom: Atom
    example: Answer
    confirmation: Confirmation
    why_dropped: str = ""
    contradicted: bool = False
    """Whether a held-out case came out otherwise, and not by luck of its data."""

    @property
    def stands(self) -> bool:
        """Whether nothing speaks against it; one case does against what is exact, and more can be learned from it."""
        return not self.why_dropped and not (self.contradicted and self.atom.exact)


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


def sides_of(answers: Sequence[Answer], ground: Ground) -> tuple[list[FactValues], list[FactValues]]:
    """The facts of cases in which the later state is right, and of those in which it fails for no known reason.

    With facts with which it fails once it is right by luck: some data do not show what is wrong.
    """
    failed: list[FactValues] = [a.facts for a in answers if a.saw is Saw.FAILS]
    agreed: list[FactValues] = [a.facts for a in answers if a.saw is Saw.AGREES and a.facts not in failed]
    return agreed, [facts for facts in failed if not ground.explains(facts)]


def smallest(answers: Iterable[Answer]) -> Answer | None:
    """The answer with the fewest elements; None where there is none."""
    return min(answers, key=lambda a: (a.setting.size, sorted(a.setting.dims.items())), default=None)
