"""What a step that is right in a region is."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_lineage.learning.steps import Step

from ..strangers.model import Ground


@dataclass(frozen=True)
class Region:
    """A step whose later state is a baseline with pieces replaced, and where it is right."""

    name: str
    ground: Ground
    edits: tuple[tuple[str, str], ...]
    """Pieces of the baseline's text and what stands there later."""
    expects: tuple[tuple[str, ...], ...]
    """For each condition, the ways to say it; one that ends in a comparison leaves the bound open."""
    untuned: bool = False
    """Never looked at while probing was changed."""

    def step(self) -> Step:
        text = self.ground.source
        for old, new in self.edits:
            assert old in text, f"{self.name}: {old!r} is not in {self.ground.name}"
            text = text.replace(old, new, 1)
        return Step(self.name, self.ground.program(), self.ground.program(text), self.ground.workload)
