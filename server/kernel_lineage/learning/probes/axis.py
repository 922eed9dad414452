"""What an axis is: one kind of fact, and how it is moved across its boundaries.

Each file in `axes/` declares one `AXIS`; `registry.py` collects them. One parametrised test probes the examples of all
of them on the emulated device (`tests/learning/probes/axis_examples.py`), so that a new axis needs no new test file.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kernel_gate.arguments import Argument
from kernel_lineage.learning.probes.hints import NO_HINTS, Hints
from kernel_lineage.learning.probes.predicates import Atom, FactValues
from kernel_lineage.learning.probes.setting import Setting, facts_of


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an axis starts from: settings in which both states agree."""

    base: Setting
    others: tuple[Setting, ...] = ()
    """Further shapes; for cases that are held out."""
    hints: Hints = NO_HINTS
    known: tuple[Atom, ...] = ()
    """Conditions that other axes have found: settings that break them show nothing new."""
    failing: tuple[Setting, ...] = ()
    """Shapes on which the later state fails, one for each condition that the sizes gave."""
    start: str = ""
    """The axis along which the base lies away from what the workload names; "" when the workload names it."""
    named: tuple[Setting, ...] = ()
    """What the workload names and the later state fails in."""

    def first_along(self, axis: str) -> tuple[Setting, ...]:
        """What the workload names and fails, where moving along this axis has led away from it."""
        return self.named if axis == self.start else ()

    def declared(self, argument: Argument) -> Argument:
        """An argument as the workload declares it, whose values may be others in the base."""
        named = self.named[0].workload.argument(argument.name) if self.named else None
        return named if named is not None else argument

    def worth(self, setting: Setting) -> bool:
        """Whether a setting can be run and could show what is not known yet."""
        return setting.runs and not self.explains(facts_of(setting))

    def explains(self, facts: FactValues) -> bool:
        """Whether a known condition says already that the later state fails."""
        return any(atom.broken_by(facts) for atom in self.known)


@dataclass(frozen=True, slots=True)
class Axis:
    """One kind of fact that probes move."""

    title: str
    moves: str
    """One sentence: what is moved, and where to."""
    boundaries: Callable[[Ground], Iterator[Setting]]
    """The first probes, the base itself and then the most telling ones."""
    pool: Callable[[Ground, random.Random], Iterator[Setting]]
    """More settings: those that tell hypotheses apart, and held-out cases, are taken from them."""
    between: Callable[[Ground, str, float, float, random.Random], Iterator[Setting]] | None = None
    """Settings in which a fact lies between two numbers, or about there; None where facts have few values."""
    id: str = ""
    """The name of its file, which the registry puts in."""
