"""Apply a skill: conditions → candidate → gate → edit.

Invariant: a file changes only when the gate accepted this very candidate and the file still holds the text that was
gated (its SHA-256). In every other case nothing changes, and the candidate is kept as a patch with its verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from kernel_gate.devices.base import DeviceError
from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_gate.verdict import Outcome, Verdict, conditions_of
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.naming import earlier_namesake, kernel_as_written
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.document import ApplyDocument, EditDocument
from kernel_lineage.rewrite.kept_workloads import workload_of
from kernel_lineage.rewrite.materialise import Lane, Materialised, NoCandidate, materialise
from kernel_lineage.rewrite.memory import remember, tried
from kernel_lineage.rewrite.patches import keep_candidate
from kernel_lineage.rewrite.situation import situation_of, workload_facts
from kernel_lineage.skills.applicable import known_here
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.evaluate import judge as judge_condition
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.parse import ConditionError
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.ranking.rules import limits_of
from kernel_lineage.workloads.on_the_spot import SpotWorkload, resting_on
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import FOLDER as WORKLOADS
from kernel_lineage.workloads.saved import FoundWorkload, folder_of

Judge = Callable[[Kernel, Path, bytes, Candidate, FoundWorkload], Verdict]
"""Kernel, its path, the file's text, the candidate, the workload → the gate's verdict."""


class ApplyError(Exception):
    """The request itself makes no sense; the message says what to ask instead."""


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """What is to be applied where."""

    skill: Skill
    path: Path
    kernel: str
    lane: Lane
    text: bytes | None = None
    """The text of an unsaved buffer; then the caller makes the edit, and no file is written to."""
    line: int | None = None
    """Apply at the anchor nearest to this line; None: at the first one that takes it."""
    device: str = "auto"
    draft: bool = False
    """Draft a workload in memory where the repository has none."""
    record: bool = False
    """Run host code where reading it leaves the draft open."""
    dry_run: bool = False
    """Gate, and write nothing."""
    stated: Facts = field(default_factory=Facts)
    """Facts that a person states."""
    anyway: bool = False
    """Try also what failed on this very kernel before, or what its limits forbid now."""


def apply(
    request: ApplyRequest, judge: Judge, report: Callable[[str, str], None] = lambda _stage, _message: None
) -> ApplyDocument:
    """Carry a skill over to a kernel, gate the result, and edit the file when the gate accepts.

    Raises `ApplyError` when the file or the kernel is not there, `ModelError` when an endpoint gives no answer.
    """
    text = request.text if request.text is not None else _read(request.path)
    kernel = _kernel(request, text)
    root = folder_of(request.path)
    situation = situation_of(kernel, request.path, root, device=request.device)
    drafted, why = (
        _drafted(request, kernel, report) if situation.workload is None and request.draft else (None, "")
    )
    begun = _Begun(request, text, root, kernel, situation.workload, why)
    facts = request.stated.merged(situation.facts)
    if drafted is not None:
        facts = facts.merged(workload_facts(drafted.workload, "the drafted workload"))

    def gate(candidate: Candidate) -> Verdict | None:
        if candidate.function:
            return _gated_whole(request, kernel, text, candidate, judge, report)
        if situation.workload is None and drafted is None:
            return None
        report("build", f"gating {candidate.by}'s candidate for {kernel.name}")
        if situation.workload is not None:
            return judge(kernel, request.path, text, candidate, situation.workload)
        if drafted is None:
            return None
        place = FoundWorkload(drafted.workload, root / WORKLOADS / f"{kernel.name}.toml")
        return resting_on(judge(kernel, request.path, text, candidate, place), drafted)

    report("materialise", f"{request.skill.title} at {kernel.name}")
    if (vetoed := _vetoed(begun, facts)) and not request.anyway:
        return begun.document("refused", f"{vetoed} Nothing was run; --anyway tries it all the same.")
    made = materialise(request.lane, request.skill, kernel, facts, root, gate, request.line)
    if isinstance(made, NoCandidate):
        return begun.document("refused", made.reason)
    return _conclude(begun, made, made.verdict or gate(made.candidate), facts)


@dataclass(frozen=True, slots=True)
class _Begun:
    """An application whose text is read: what every outcome has in common."""

    request: ApplyRequest
    text: bytes
    root: Path
    kernel: Kernel
    workload: FoundWorkload | None
    undrafted: str = ""
    """Why no workload could be drafted."""

    def document(
        self,
        outcome: Literal["accepted", "rejected", "inconclusive", "refused"],
        reason: str,
        candidate: Candidate | None = None,
        verdict: Verdict | None = None,
    ) -> ApplyDocument:
        edits = candidate.edits if candidate is not None else ()
        return ApplyDocument(
            skill=self.request.skill.id,
            path=str(self.request.path),
            kernel=self.request.kernel,
            by=candidate.by if candidate is not None else self.request.lane.name,
            outcome=outcome,
            reason=reason,
            explanation=candidate.explanation if candidate is not None else "",
            guarded=candidate.guarded if candidate is not None else False,
            source_sha256=hashlib.sha256(self.text).hexdigest(),
            edits=[EditDocument(start=e.span.start, end=e.span.end, text=e.text) for e in edits],
            verdict=verdict,
        )


def _gated_whole(
    request: ApplyRequest,
    kernel: Kernel,
    text: bytes,
    candidate: Candidate,
    judge: Judge,
    report: Callable[[str, str], None],
) -> Verdict | None:
    """The verdict on the host function of a candidate that joins kernels which it launches; None without a workload."""
    function = candidate.function
    report("workload", f"{kernel.name} is judged with all that {function} launches")
    try:
        spot = workload_of(request.path, function, record=request.record, say=partial(report, "workload"))
    except (WorkloadError, ProgramError, DeviceError) as error:
        report("workload", str(error))
        return None
    report("build", f"gating {candidate.by}'s candidate for {function}")
    place = spot.path or folder_of(request.path) / WORKLOADS / f"{function}.toml"
    verdict = judge(kernel, request.path, text, candidate, FoundWorkload(spot.workload, place))
    return resting_on(verdict, spot)


def _drafted(
    request: ApplyRequest, kernel: Kernel, report: Callable[[str, str], None]
) -> tuple[SpotWorkload | None, str]:
    """A workload that is drafted in memory, with what it sees of wrong kernels; or the reason why there is none."""
    report("workload", f"no workload names {kernel.name}; one is drafted from {request.path.name}")
    try:
        say = partial(report, "workload")
        return workload_of(request.path, kernel.name, record=request.record, say=say), ""
    except (WorkloadError, ProgramError, DeviceError) as error:
        return None, str(error)


def _conclude(begun: _Begun, made: Materialised, verdict: Verdict | None, facts: Facts) -> ApplyDocument:
    """The one place where a file is written to."""
    request = begun.request
    candidate = replace(made.candidate, explanation=made.candidate.explanation + made.note)
    changed = candidate.apply(begun.text)
    if verdict is None:
        undrafted = f" None could be drafted: {begun.undrafted}" if begun.undrafted else ""
        reason = (
            f"No workload says how to run {request.kernel}, so nothing could be checked. "
            f"Describe its arguments, sizes and launch in {begun.root / WORKLOADS / request.kernel}.toml.{undrafted}"
        )
        return _kept(begun, begun.document("inconclusive", reason, candidate), changed)
    document = begun.document(verdict.outcome.value, verdict.reason, candidate, verdict)
    if not request.dry_run:
        workload = begun.workload.path if begun.workload is not None else None
        name = _name(request.path.resolve(), begun.root)
        remember(begun.root, begun.kernel, name, request.skill, candidate.by, changed, workload, verdict)
    if verdict.outcome is Outcome.ACCEPTED and made.unknown:
        reason = (
            f"The gate accepts it, but {made.unknown}. Nothing was changed; state it, or use --by assist."
        )
        return _kept(begun, begun.document("inconclusive", reason, candidate, verdict), changed)
    if verdict.outcome is Outcome.ACCEPTED and (needs := open_conditions(verdict, facts)):
        reason = (
            f"The gate accepts it only if {' and '.join(needs)}, which the old code does not need and nothing "
            "establishes. Nothing was changed; state it with --fact, or promise it in the workload."
        )
        return _kept(begun, begun.document("inconclusive", reason, candidate, verdict), changed)
    if verdict.outcome is not Outcome.ACCEPTED:
        return _kept(begun, document, changed)
    if request.dry_run or request.text is not None:
        return document
    path = request.path.resolve()
    if _read(path) != begun.text:
        moved = (
            f"Accepted, but {request.path} has changed since it was read; nothing was written. Apply again."
        )
        return _kept(begun, document.model_copy(update={"reason": moved}), changed)
    write_atomically(path, changed, path.stat().st_mode & 0o777)
    return document.model_copy(update={"applied": True})


def open_conditions(verdict: Verdict, facts: Facts) -> list[str]:
    """What a verdict holds under that is not known to be so."""
    return [expr for expr in conditions_of(verdict) if not _holds(expr, facts)]


def _holds(expr: str, facts: Facts) -> bool:
    try:
        return judge_condition(expr, facts).truth is Truth.HOLDS
    except ConditionError:
        return False


def _kept(begun: _Begun, document: ApplyDocument, changed: bytes) -> ApplyDocument:
    if begun.request.dry_run:
        return document
    name = _name(begun.request.path.resolve(), begun.root)
    patch = keep_candidate(begun.root, name, begun.text, changed, document)
    return document.model_copy(update={"patch": str(patch)})


def _vetoed(begun: _Begun, facts: Facts) -> str:
    """Why nothing should be run for this, in a sentence: a rule on the kernel's limits, or what failed before."""
    request, kernel = begun.request, begun.kernel
    not_now = limits_of(known_here(kernel, facts, mechanisms_of(kernel))).not_now(request.skill.mechanism)
    if not_now:
        return f"{not_now[0].upper()}{not_now[1:]}."
    if (
        request.lane.name == "handoff"
    ):  # whoever answers is told the finding and mends it: the next answer is a repair
        return ""
    workload = begun.workload.path if begun.workload is not None else None
    before = tried(begun.root, kernel, request.skill, request.lane.name, workload)
    if before is None:
        return ""
    when = f"{request.skill.title} was tried on this very kernel on {before.date}"
    return f"{when} and rejected: {before.reason.rstrip('.')}."


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name


def _kernel(request: ApplyRequest, text: bytes) -> Kernel:
    language = language_of(str(request.path), text)
    if language is None:
        raise ApplyError(f"{request.path} holds no kernels: neither CUDA C++ nor Triton.")
    source = read(text, language)
    kernel = kernel_as_written(source, request.kernel)
    if kernel is None:
        names = ", ".join(k.name for k in source.kernels) or "none"
        note = "".join(f" {p.message}" for p in source.problems[:1])
        raise ApplyError(f"{request.path} has no kernel {request.kernel}; its kernels: {names}.{note}")
    meant = source.kernel(kernel.name, request.line or kernel.span.first_line) or kernel
    if (namesake := earlier_namesake(meant)) is not None:
        raise ApplyError(f"{request.path}: {namesake}.")
    return kernel


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise ApplyError(f"{path} cannot be read: {error.strerror}.") from error
