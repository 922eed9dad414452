"""A change through the gate: each kernel that it touched, old version against new."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from kernel_gate.conclusion import not_judged
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.workload import WorkloadError
from kernel_lineage.history.git import Repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.changed_kernels import ChangedKernel, changed_kernels
from kernel_lineage.workloads.on_the_spot import (
    NoWorkloadError,
    SpotWorkload,
    drafted_workload,
    in_a_line,
    told,
)
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.saved import FoundWorkload, Workloads, workloads_in

VERSION = 1
Judge = Callable[[GateRequest, Path, str], Verdict]
"""The verdict on a request; the candidate's file and its kernel are for what is kept and shown."""


class KernelVerdict(Verdict):
    """A verdict of `gate --since`, and what it is about."""

    kernel: str
    file: str
    """The new file, relative to the repository."""
    baseline: str
    """Where the old version comes from: `rmsnorm.cu of 1a2b3c4d5e6f`."""
    workload: str
    """The workload's file, relative to the repository; "" when there is none."""


class GateChangesDocument(BaseModel):
    """What `klineage gate --since REV --json` prints."""

    version: int = VERSION
    since: str
    verdicts: list[KernelVerdict]


def gate_changes(
    repository: Repository,
    since: str,
    files: Sequence[str],
    judge: Judge,
    *,
    device: Literal["auto", "cuda", "emulated"] = "auto",
    options: GateOptions | None = None,
    at_once: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[NamedVerdict]:
    """The verdict on each kernel that changed, in the order of the files; `judge` is called by `at_once` threads.

    A kernel without a workload gets one that is drafted from its old version; `say` is told a line about it. One of
    which no complete one is drafted, or of which no program can be made, gets a verdict that says so: not judged.
    Raises `RepositoryError` for a revision that is not there, and what `judge` raises.
    """
    workloads = workloads_in(repository.top)

    def judged(changed: ChangedKernel) -> NamedVerdict:
        started = time.monotonic()
        found = _workload(changed, workloads)
        try:
            spot = SpotWorkload(found.workload, found.path) if found is not None else _drafted(changed, say)
        except (NoWorkloadError, ProgramError, WorkloadError) as error:
            say(f"{changed.after.kernel.name}: no workload names it, and {error}")
            verdict = not_judged(changed.after.kernel.name, str(error))
        else:
            verdict = _verdict(judge, changed, spot, device, options, repository.top)
        return NamedVerdict(
            kernel=changed.after.kernel.name,
            verdict=_named(verdict, changed, found, repository.top),
            candidate=changed.after.path,
            baseline=f"{changed.before.path} of {changed.before.tree.name}",
            line=changed.after.kernel.span.first_line,
            seconds=time.monotonic() - started,
        )

    with trees(repository, since) as (before, after), ThreadPoolExecutor(at_once) as threads:
        try:
            yield from threads.map(judged, changed_kernels(before, after, files))
        finally:
            threads.shutdown(cancel_futures=True)


def _workload(changed: ChangedKernel, workloads: Workloads) -> FoundWorkload | None:
    """By the new name, else by the old one of a kernel that was renamed."""
    after, before = changed.after, changed.before
    return workloads.of(after.kernel.name, after.path) or workloads.of(before.kernel.name, before.path)


def _drafted(changed: ChangedKernel, say: Callable[[str], None]) -> SpotWorkload:
    """The workload that the old version's host code tells."""
    seen = changed.before
    spot = drafted_workload(seen.kernel, seen.file, changed.after.path, "emulated", root=seen.tree.root)
    say(in_a_line(changed.after.kernel.name, f"{seen.path} of {seen.tree.name}", spot))
    return spot


def _verdict(
    judge: Judge,
    changed: ChangedKernel,
    found: SpotWorkload,
    device: Literal["auto", "cuda", "emulated"],
    options: GateOptions | None,
    top: Path,
) -> Verdict:
    name = changed.after.kernel.name
    try:
        old, new = (
            program_from_file(
                seen.file, seen.kernel.name, found.workload, root=seen.tree.root, name=f"{seen.path} ({when})"
            )
            for seen, when in ((changed.before, "before"), (changed.after, "after"))
        )
    except (ProgramError, WorkloadError) as error:
        return not_judged(name, f"the workload does not fit it: {error}", Reason.ARGUMENTS_DIFFER)
    request = GateRequest.of(old, new, found.workload, device=device, options=options)
    verdict = judge(request, top / changed.after.path, name)
    return told(verdict, found) if found.path is None else verdict


def _named(verdict: Verdict, changed: ChangedKernel, found: FoundWorkload | None, top: Path) -> KernelVerdict:
    return KernelVerdict(
        **verdict.model_dump(),
        kernel=changed.after.kernel.name,
        file=changed.after.path,
        baseline=f"{changed.before.path} of {changed.before.tree.name}",
        workload=_relative(found.path, top) if found is not None else "",
    )


def _relative(path: Path, top: Path) -> str:
    return str(path.relative_to(top)) if path.is_relative_to(top) else str(path)
