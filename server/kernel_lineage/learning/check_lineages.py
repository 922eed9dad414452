"""Runs the versions of mined lineages through the gate: which are right, which are wrong, what each step gains.

Every version is checked against the first one of its lineage (and the workload's oracle, where there is one). On a
GPU each step between two right versions is profiled as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Speedup, StageStatus, Verdict
from kernel_gate.worker import run_in_child
from kernel_gate.workload import Workload
from kernel_lineage.history.model import Lineage, Version
from kernel_lineage.learning.version_checks import VersionCheck, VersionState
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.rewrite.programs import ProgramError, program_from_file

DeviceChoice = Literal["auto", "cuda", "emulated"]


@dataclass(frozen=True, slots=True)
class CheckableLineage:
    """A lineage with the workload that runs its versions."""

    lineage: Lineage
    workload: Workload


def checkable(lineages: Sequence[Lineage], workloads: Sequence[Workload]) -> list[CheckableLineage]:
    """The lineages that some workload is for: it names a kernel that the lineage's versions have or had."""
    found = []
    for lineage in lineages:
        symbols = {v.symbol for v in lineage.versions}
        workload = next(
            (w for w in workloads if w.kernel in symbols and w.language == lineage.language), None
        )
        if workload is not None:
            found.append(CheckableLineage(lineage, workload))
    return found


def check_versions(
    items: Sequence[CheckableLineage],
    sources: VersionSources,
    *,
    device: DeviceChoice = "auto",
    jobs: int = 1,
    on_check: Callable[[Version, VersionCheck], None] | None = None,
) -> dict[str, VersionCheck]:
    """Version id → its check. With `jobs` > 1 several gate processes run side by side (for the emulated device)."""
    checks: dict[str, VersionCheck] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = []
        for item in items:
            first = _program_or_why(item, item.lineage.versions[0], sources)
            waiting += [
                (version, pool.submit(_check, item, first, version, sources, device))
                for version in item.lineage.versions
            ]
        for version, future in waiting:
            checks[version.id] = future.result()
            if on_check is not None:
                on_check(version, checks[version.id])
    return checks


def profile_steps(
    items: Sequence[CheckableLineage],
    sources: VersionSources,
    checks: Mapping[str, VersionCheck],
) -> Iterator[tuple[str, Speedup]]:
    """Transition id → speed-up on the local GPU, for the steps whose two ends are right."""
    for item in items:
        versions = {v.id: v for v in item.lineage.versions}
        for transition in item.lineage.transitions:
            ends = (versions[transition.before], versions[transition.after])
            if any(checks[v.id].state is not VersionState.RIGHT for v in ends):
                continue
            before, after = (_program(item, v, sources) for v in ends)
            verdict = run_in_child(GateRequest.of(before, after, item.workload, device="cuda"))
            if verdict.speedup is not None:
                yield transition.id, verdict.speedup


def _program(item: CheckableLineage, version: Version, sources: VersionSources) -> Program:
    return program_from_file(
        sources.path(version), version.symbol, item.workload, data=sources.data(version), name=version.path
    )


def _program_or_why(item: CheckableLineage, version: Version, sources: VersionSources) -> Program | str:
    try:
        return _program(item, version, sources)
    except ProgramError as error:
        return str(error)


def _check(
    item: CheckableLineage,
    first: Program | str,
    version: Version,
    sources: VersionSources,
    device: DeviceChoice,
) -> VersionCheck:
    program = _program_or_why(item, version, sources)
    if isinstance(first, str):
        return VersionCheck(version.id, VersionState.UNKNOWN, first)
    if isinstance(program, str):
        return VersionCheck(version.id, VersionState.UNKNOWN, program)
    verdict = run_in_child(GateRequest.of(first, program, item.workload, device=device))
    return VersionCheck(version.id, *state_of(verdict), verdict)


def state_of(verdict: Verdict) -> tuple[VersionState, str]:
    """Whether the candidate of a verdict computes what it should, whatever its speed."""
    stages = {stage.name: stage for stage in verdict.stages}
    for name in ("build", "check", "sanitize"):
        stage = stages[name]
        if stage.status is StageStatus.FAIL and name != "build":
            return VersionState.WRONG, stage.reason
        if stage.status is not StageStatus.PASS:
            return VersionState.UNKNOWN, verdict.reason
    about = stages["check"].reason
    if verdict.outcome is Outcome.ACCEPTED and verdict.speedup is not None:
        about += f"; {verdict.speedup.median:.2f}× of the first version"
    return VersionState.RIGHT, about
