"""What one part of a step changes: its time where a GPU measured it, else what the emulated device counted."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_gate.verdict import SpeedState, Speedup, Verdict


@dataclass(frozen=True, slots=True)
class Effect:
    """Before → after of one change."""

    speedup: Speedup | None
    """Time before over time after; None when no GPU measured it."""
    counts: tuple[str, ...]
    """What is counted of executed addresses and instructions, a sentence each; never a time."""

    @property
    def state(self) -> SpeedState:
        """Fast, same, slow, or ambiguous: also for what was not measured."""
        return self.speedup.state if self.speedup is not None else SpeedState.AMBIGUOUS

    def __str__(self) -> str:
        if self.speedup is not None:
            s = self.speedup
            return f"{s.median:.3f}× ({s.low:.3f} … {s.high:.3f}), {s.state.value}"
        return "not measured" + "".join(f"; {count}" for count in self.counts)


def effect_of(verdict: Verdict) -> Effect:
    """The effect that a verdict shows."""
    sanitize = verdict.stage("sanitize")
    counts = sanitize.details.get("counts", {}) if sanitize is not None else {}
    return Effect(verdict.speedup, tuple(counts.get("summary", ())))
