"""What `klineage optimise --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from kernel_gate.verdict import Verdict

VERSION = 1


class Work(BaseModel, frozen=True):
    """What the emulated device counted in one case; the same case before and after."""

    case: str
    sectors: int
    """Each has 32 bytes, in global memory."""
    requests: int
    wavefronts: int
    """Passes over shared memory."""
    instructions: int
    """By warp."""

    @property
    def cost(self) -> float:
        """One number to order candidates by; no time, and never shown as one."""
        return self.sectors + self.requests + self.wavefronts + self.instructions / 4


class TriedDocument(BaseModel, frozen=True):
    """One candidate and what became of it."""

    digest: str
    """The hash of the file and the launch that were tried."""
    round: int
    skill: str
    explanation: str
    outcome: Literal["accepted", "rejected", "inconclusive"]
    correct: bool
    """Built, checked and sanitized without a finding, whether or not it could be timed."""
    reason: str
    speedup: float | None = None
    """Over the text that it was made of; None where nothing was timed."""
    before: Work | None = None
    after: Work | None = None
    seconds: float
    promoted: bool = False
    patch: str | None = None
    """Where it was kept, as a change of the file that the search began with."""

    @property
    def promising(self) -> bool:
        """Correct, and faster as far as anything was timed."""
        return self.correct and (self.speedup is None or self.outcome == "accepted")

    @property
    def gain(self) -> float:
        """Time or, where nothing was timed, counted work of the parent over its own; 0 where neither is known."""
        if self.speedup is not None:
            return self.speedup
        if self.before is None or self.after is None:
            return 0.0
        return self.before.cost / max(self.after.cost, 1.0)


class RefusedDocument(BaseModel, frozen=True):
    """A skill that has a place in the last text and made no candidate there."""

    skill: str
    reason: str


class OptimiseDocument(BaseModel, frozen=True):
    """How a search ended."""

    version: int = VERSION
    path: str
    kernel: str
    device: str
    tried: list[TriedDocument] = Field(default_factory=list)
    not_tried: list[RefusedDocument] = Field(default_factory=list)
    stopped: Literal["nothing_admissible", "roofline", "seconds", "device_seconds", "cancelled", "baseline"]
    reason: str
    """Why it stopped, in a sentence."""
    timed: bool
    """False: no GPU; candidates are ordered by counted work, and none is said to be faster."""
    verdict: Verdict | None = None
    """On the file as it was and the last promoted text; None when nothing was promoted."""
    source_sha256: str
    patch: str | None = None
    applied: bool = False
    seconds: float
    device_seconds: float

    @property
    def promoted(self) -> list[TriedDocument]:
        """The steps that lead to the result, in order."""
        return [t for t in self.tried if t.promoted]
