"""What `klineage demo --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from kernel_gate.verdict import Speedup
from kernel_lineage.demo.tour import Tour
from kernel_lineage.learning.replay.document import ReplayDocument
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.skills.card import Condition

VERSION = 1


class CheckedVersion(BaseModel, frozen=True):
    """One version and what running it said."""

    kernel: str
    path: str
    commit: str | None
    state: Literal["right", "wrong", "unknown"]
    reason: str


class Step(BaseModel, frozen=True):
    """One transition with what a GPU measured."""

    kernel: str
    subject: str
    intent: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    speedup: Speedup | None


class Learned(BaseModel, frozen=True):
    """A condition that the history taught."""

    mechanisms: tuple[str, ...]
    condition: Condition


class DemoDocument(BaseModel, frozen=True):
    """The tour in one document."""

    version: int = VERSION
    repository: str
    report: str
    device: str
    versions: tuple[CheckedVersion, ...]
    steps: tuple[Step, ...]
    replay: ReplayDocument
    learned: tuple[Learned, ...]
    studied: Studied
    """One step, split and probed."""
    applied: ApplyDocument


def demo_document(tour: Tour) -> DemoDocument:
    """The document of a tour."""
    commits = tour.mined.commits
    return DemoDocument(
        repository=str(tour.repository),
        report=str(tour.report),
        device=tour.device,
        versions=tuple(
            CheckedVersion(
                kernel=v.symbol,
                path=v.path,
                commit=v.commit,
                state=tour.checks[v.id].state.value,
                reason=tour.checks[v.id].reason,
            )
            for lineage in tour.mined.lineages
            for v in lineage.versions
            if v.id in tour.checks
        ),
        steps=tuple(
            Step(
                kernel=lineage.kernel,
                subject=commits[t.commit].subject if t.commit in commits else "",
                intent=t.intent.value,
                added=t.added,
                removed=t.removed,
                speedup=tour.speedups.get(t.id),
            )
            for lineage in tour.mined.lineages
            for t in lineage.transitions
        ),
        replay=tour.replay,
        learned=tuple(Learned(mechanisms=i.mechanisms, condition=i.condition) for i in tour.learned),
        studied=tour.studied,
        applied=tour.applied,
    )
