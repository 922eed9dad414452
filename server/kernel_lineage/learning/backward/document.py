"""What `klineage walk --json` prints: a lineage in the form of a mined one, and what each step of the walk showed."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import BaseModel

from kernel_gate.program import Program
from kernel_gate.verdict import Speedup
from kernel_lineage.history.document import (
    GuardsDocument,
    LineageDocument,
    MechanismsDocument,
    RiskDocument,
    TransitionDocument,
    VersionDocument,
)
from kernel_lineage.history.model import Intent, TransitionKind
from kernel_lineage.learning.backward.walk import BackwardStep, Walk
from kernel_lineage.rewrite.program_edits import mechanisms_in

VERSION = 1


class WalkedStep(BaseModel, frozen=True):
    """One step of the walk, told forward."""

    transition: str
    taken_off: str
    """The simplification's id."""
    effect: Speedup | None
    """Null where nothing was timed."""
    counts: tuple[str, ...]
    forward_by: str | None
    """The skill whose assist made the step anew; null when none did."""
    forward: str
    """`right`, `wrong` or `unknown`: of what the assist made, against the kernel that the step began with."""
    reason: str


class WalkDocument(BaseModel, frozen=True):
    """A walk from an expert's kernel to the simplest that was reached."""

    version: int = VERSION
    kernel: str
    device: str
    lineage: LineageDocument
    """From the simplest kernel to the expert's; every transition is of the kind `backward`."""
    steps: list[WalkedStep]
    sources: dict[str, str]
    """Version → its device code."""
    ended: str


def document_of(walk: Walk, expert: Program, path: str, device: str) -> WalkDocument:
    """The document of a walk."""
    states = [step.before for step in reversed(walk.steps)] + [expert]
    ids = [f"walk:{walk.kernel}:{n}" for n in range(len(states))]
    steps = list(reversed(walk.steps))
    return WalkDocument(
        kernel=walk.kernel,
        device=device,
        lineage=LineageDocument(
            id=f"walk:{walk.kernel}",
            kernel=walk.kernel,
            language=expert.language,
            versions=tuple(_version(i, s, path) for i, s in zip(ids, states, strict=True)),
            transitions=tuple(_transition(ids[n], ids[n + 1], step, walk) for n, step in enumerate(steps)),
        ),
        steps=[_step(ids[n + 1], step) for n, step in enumerate(steps)],
        sources={i: s.source for i, s in zip(ids, states, strict=True)},
        ended=walk.ended,
    )


def _version(name: str, program: Program, path: str) -> VersionDocument:
    return VersionDocument(
        id=name,
        path=path,
        symbol=program.entry,
        commit=None,
        lines=(1, program.source.count("\n") + 1),
        blob=hashlib.sha256(program.source.encode()).hexdigest(),
        mechanisms=tuple(sorted(mechanisms_in(program))),
    )


def _transition(before: str, after: str, step: BackwardStep, walk: Walk) -> TransitionDocument:
    """The forward step; what failed to be taken off where its mechanism is used is its risk."""
    risks = [f for f in walk.failed if f.weakens in step.added]
    values: dict[str, Any] = {
        "id": after,
        "from": before,
        "to": after,
        "kind": TransitionKind.BACKWARD.value,
        "intent": Intent.OPTIMISATION.value,
        "because": f"{step.simplification} takes it off and the kernel stays right",
        "mechanisms": MechanismsDocument(added=step.added, removed=()),
        "guards": GuardsDocument(added=(), removed=()),
        "commit": None,
        "subject": "",
        "author": "",
        "date": "",
        "compound": False,
        "answers": None,
        "risk": tuple(
            RiskDocument(kind="bug", message=f.reason, commit=None, transition=None) for f in risks
        ),
    }
    return TransitionDocument.model_validate(values)


def _step(transition: str, step: BackwardStep) -> WalkedStep:
    return WalkedStep(
        transition=transition,
        taken_off=step.simplification,
        effect=step.effect.speedup,
        counts=step.effect.counts,
        forward_by=step.forward.skill,
        forward=step.forward.state.value,
        reason=step.forward.reason,
    )
