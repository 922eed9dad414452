"""What the code of a kernel touches, and under which masks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardedUse:
    """One place that a mask guards."""

    condition: str
    """When the mask leaves nothing out."""
    name: str
    """The array that is accessed there, the function that is called, or `value` and what is selected or clamped."""
    line: int


@dataclass(frozen=True, slots=True)
class Uses:
    """All that a kernel touches, and what of it lies under masks."""

    all: Counter[str]
    """Each array or function → how often it occurs."""
    guarded: tuple[GuardedUse, ...]

    def bare(self, condition: str, name: str) -> int:
        """How often something occurs outside of masks of one meaning."""
        return self.all[name] - self.under(condition, name)

    def under(self, condition: str, name: str) -> int:
        """How often something occurs under masks of one meaning."""
        return sum(use.condition == condition and use.name == name for use in self.guarded)
