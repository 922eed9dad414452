"""From an expert's kernel backwards: mechanisms taken off one at a time, each step verified, each led forward again.

KLineage (arXiv 2605.28213): a simplification is kept when the gate finds the simpler kernel right, races and all; one
that is not shows a failure that the optimisation's assumptions avoid, and is kept as risk. The forward step is made
anew on the simpler kernel, by the skill's assist and not by undoing the text, and must pass the gate as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.attribution.effect import Effect, effect_of
from kernel_lineage.learning.steps import Judge
from kernel_lineage.learning.version_checks import VersionState, state_of
from kernel_lineage.rewrite.materialise import Lane, NoCandidate, materialise
from kernel_lineage.rewrite.program_edits import kernel_of, mechanisms_in, with_candidate
from kernel_lineage.rewrite.simplifications.model import Simplification
from kernel_lineage.rewrite.simplifications.registry import all_simplifications, simplified
from kernel_lineage.rewrite.situation import toolchain_facts, workload_facts
from kernel_lineage.skills.card import Skill
from kernel_lineage.workloads.proof import Device

OPTIONS = GateOptions(need="not_slower")
RIGHT_ONLY = GateOptions(need="not_slower", profile_seconds=0.1)
"""For a simpler kernel, which may be as slow as it likes."""
MOST_STEPS = 12


@dataclass(frozen=True, slots=True)
class Forward:
    """The step forward, made anew."""

    skill: str | None
    """Which skill's assist made it; None when none did."""
    state: VersionState
    reason: str


@dataclass(frozen=True, slots=True)
class BackwardStep:
    """One mechanism taken off. `before` is the simpler kernel, `after` the one that it was taken from."""

    simplification: str
    """Its id."""
    before: Program
    after: Program
    added: tuple[str, ...]
    """Mechanisms that the step forward adds."""
    effect: Effect
    """The effect of the step forward."""
    forward: Forward


@dataclass(frozen=True, slots=True)
class FailedSimplification:
    """One that made the kernel wrong: what the mechanism is there for, besides speed."""

    simplification: str
    weakens: str
    reason: str


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk, from the expert's kernel to the simplest that was reached."""

    kernel: str
    steps: tuple[BackwardStep, ...]
    """In the order of the walk: the last one's `before` is the simplest kernel."""
    failed: tuple[FailedSimplification, ...]
    ended: str
    """Why it ended."""


def walk(
    expert: Program,
    workload: Workload,
    judge: Judge,
    skills: Sequence[Skill],
    *,
    device: Device,
    most: int = MOST_STEPS,
    on_step: Callable[[str], None] = lambda _line: None,
) -> Walk:
    """Take off what simplifications can take off; rightness is judged on `device`. Raises `DeviceError`."""
    steps: list[BackwardStep] = []
    failed: dict[str, FailedSimplification] = {}
    current = expert

    def judged(simpler: Program) -> Verdict:
        return judge(GateRequest.of(current, simpler, workload, device=device, options=RIGHT_ONLY))

    # A fault of the expert's own would be taken for one of each simplification.
    state, reason = state_of(judged(expert))
    if state is not VersionState.RIGHT:
        return Walk(expert.entry, (), (), f"{expert.entry} does not pass by itself: {reason}")
    while len(steps) < most:
        kernel = kernel_of(current)
        if kernel is None:
            ended = f"{current.entry} is not one kernel that can be read"
            break
        removal = _by_simplification(kernel, current, failed, judged, on_step)
        if removal is None:
            ended = "no simplification has anything left to take off"
            break
        simplification, simpler = removal
        steps.append(_step(simplification, simpler, current, workload, judge, skills, device))
        current = simpler
    else:
        ended = f"{most} steps were taken"
    return Walk(expert.entry, tuple(steps), tuple(failed.values()), ended)


def _by_simplification(
    kernel: Kernel,
    current: Program,
    failed: dict[str, FailedSimplification],
    judged: Callable[[Program], Verdict],
    on_step: Callable[[str], None],
) -> tuple[Simplification, Program] | None:
    """The first simplification that leaves the kernel right; those that do not are noted."""
    for simplification in all_simplifications():
        if simplification.id in failed:
            continue
        simpler = _simpler(simplification, kernel, current)
        if simpler is None:
            continue
        on_step(simplification.title)
        verdict = judged(simpler)
        state, reason = state_of(verdict)
        if state is VersionState.RIGHT:
            return simplification, simpler
        failed[simplification.id] = FailedSimplification(simplification.id, simplification.weakens, reason)
    return None


def _simpler(simplification: Simplification, kernel: Kernel, program: Program) -> Program | None:
    made = simplified(simplification, kernel)
    if made is None:
        return None
    return replace(program, source=made.decode(), name=f"{program.name} with {simplification.title}")


def _step(
    simplification: Simplification,
    simpler: Program,
    current: Program,
    workload: Workload,
    judge: Judge,
    skills: Sequence[Skill],
    device: Device,
) -> BackwardStep:
    added = mechanisms_in(current) - mechanisms_in(simpler)
    verdict = judge(GateRequest.of(simpler, current, workload, device=device, options=OPTIONS))
    return BackwardStep(
        simplification.id,
        simpler,
        current,
        tuple(sorted(added)),
        effect_of(verdict),
        _forward(simpler, current, added or {simplification.weakens}, workload, judge, skills, device),
    )


def _forward(
    simpler: Program,
    expert: Program,
    added: Set[str],
    workload: Workload,
    judge: Judge,
    skills: Sequence[Skill],
    device: Device,
) -> Forward:
    """The step made anew by the first skill that adds a mechanism of it and has an assist."""
    kernel = kernel_of(simpler)
    reasons = []
    for skill in skills:
        if kernel is None or skill.mechanism not in added or skill.assist is None:
            continue
        facts = workload_facts(workload, "the workload").merged(toolchain_facts())
        made = materialise(Lane("assist"), skill, kernel, facts, Path(), lambda _candidate: None)
        if isinstance(made, NoCandidate):
            reasons.append(f"{skill.id}: {made.reason}")
            continue
        candidate = with_candidate(simpler, made.candidate, workload)
        if not added & mechanisms_in(candidate):
            reasons.append(f"{skill.id}: what it made shows none of {', '.join(sorted(added))}")
            continue
        verdict = judge(GateRequest.of(expert, candidate, workload, device=device, options=OPTIONS))
        state, reason = state_of(verdict)
        return Forward(skill.id, state, reason)
    return Forward(None, VersionState.UNKNOWN, "; ".join(reasons) or "no skill with an assist adds it")
