"""Sanitize: what detectors of bad accesses, races, missing barriers and uninitialised reads find in the candidate.

On a GPU two opinions are asked for: compute-sanitizer's four tools on the built images, and the emulated device's
detectors on the candidate's PTX, which see what the tools do not (uninitialised shared memory, races in global memory).
Either may refuse. The stage passes when the tools ran to their end, or, where they are not there, when the emulated
device executed the candidate to the end on every small case; what did not run is named in the details. Where a
tool does not know how the program orders its threads, the emulated device decides about what that tool reports. On the
emulated device its detectors have watched every launch of the check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.devices.base import Device, Fault
from kernel_gate.parts import Parts
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.sanitizer.opinions import Opinion, Suspicion, Tools, emulate
from kernel_gate.sanitizer.tool import SpareTools
from kernel_gate.shapes import MOST_WATCHED, elements
from kernel_gate.stages.check import CheckResult
from kernel_gate.stages.counted import counts_of
from kernel_gate.stages.counted_work import counted_work
from kernel_gate.stages.follow import one_of_each_path
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_NAMED, _HIDDEN, _PATHS = 2, 2, 4
"""Cases of each kind that are watched."""
_TOOL_SECONDS = 30.0
_EMULATED_SECONDS = 20.0
_SECOND_OPINION_SECONDS = 2.0
"""What the emulated device may take when the tools have an opinion already."""


def sanitize(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    cases: Sequence[Case],
    checked: CheckResult,
    spares: SpareTools,
    progress: Callable[[str, float], None],
) -> Stage:
    """The stage, from the check's own launches on the emulated device, or from launches of its own on small cases."""
    if device.kind == "emulated":
        findings = tuple(
            Suspicion("emulated device", fault, case) for fault, case in checked.candidate_findings
        )
        emulated = Opinion("emulated device", findings, launches=checked.launches)
        # Cases that the check made up while it ran are among those that passed.
        every = tuple({str(case): case for case in (*cases, *checked.passed)}.values())
        stage = _Judgement(baseline, candidate, workload, every, spares).stage(None, emulated)
        if stage.status is StageStatus.FAIL:
            return stage
        return with_details(stage, counts=counts_of(baseline, candidate, workload, checked.passed))
    small = _small(baseline, candidate, workload, checked.passed)
    if not small:
        return _unavailable("no case of the check passed that could be watched")
    judge = _Judgement(baseline, candidate, workload, small, spares)
    progress("compute-sanitizer and emulated detectors", 0.0)
    parts = Parts()
    with ExitStack() as stack:
        with parts.part("start tools"):
            tools = stack.enter_context(Tools(candidate, workload, small, spares))
        with parts.part("emulate"):
            seconds = _EMULATED_SECONDS if tools.missing else _SECOND_OPINION_SECONDS
            emulated = emulate(candidate, workload, [c for c in small if c.required], seconds)
        with parts.part("count"):
            # The tools are at work meanwhile; of a program that fails the counts are left out.
            counts = {
                "counts": counts_of(baseline, candidate, workload, checked.passed),
                "counted_work": counted_work(candidate, workload, checked.passed),
            }
        with parts.part("wait for tools"):
            watched = tools.opinion(_TOOL_SECONDS)
        if watched.doubted:
            with parts.part("emulate what a tool does not know"):
                emulated = emulate(candidate, workload, small, _EMULATED_SECONDS)
    with parts.part("judge"):
        stage = judge.stage(watched, emulated)
    return with_details(stage, seconds_of=parts.seconds(), **_if_right(stage, counts))


def with_details(stage: Stage, **more: Any) -> Stage:
    """The stage with more in its details."""
    return stage.model_copy(update={"details": {**stage.details, **more}})


def _if_right(stage: Stage, counts: dict[str, Any]) -> dict[str, Any]:
    return {} if stage.status is StageStatus.FAIL else counts


def _small(baseline: Built, candidate: Built, workload: Workload, passed: Sequence[Case]) -> list[Case]:
    """The smallest case of each path through the programs, the smallest named, the largest small hidden ones.

    The smallest of all where none is small.
    """
    ordered = sorted(passed, key=lambda c: elements(workload, c.dims))
    fit = [c for c in ordered if elements(workload, c.dims) <= MOST_WATCHED]
    if not fit:
        return ordered[:1]
    hidden = [c for c in fit if c.origin == "hidden"]
    paths = one_of_each_path(fit, baseline, candidate, workload)[:_PATHS]
    chosen = [*[c for c in fit if c.required][:_NAMED], *paths, *hidden[-_HIDDEN:]]
    return list({str(case): case for case in chosen}.values())


def _unavailable(reason: str, details: dict[str, Any] | None = None) -> Stage:
    return Stage(
        name="sanitize",
        status=StageStatus.UNAVAILABLE,
        code=Reason.SANITIZER_UNAVAILABLE,
        reason=reason,
        details=details or {},
    )


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What the opinions amount to."""

    baseline: Built
    candidate: Built
    workload: Workload
    cases: Sequence[Case]
    spares: SpareTools

    def stage(self, watched: Opinion | None, emulated: Opinion) -> Stage:
        """FAIL for a finding that the baseline does not have, UNAVAILABLE for one that it has, else what ran."""
        opinions = [o for o in (watched, emulated) if o is not None]
        details: dict[str, Any] = {
            "launches": sum(o.launches for o in opinions),
            "findings": [],
            "opinions": [o.describe() for o in opinions],
        }
        suspicions = [s for o in opinions for s in o.suspicions]
        if suspicions:
            return self._about(suspicions, details)
        # What a tool does not know is for the emulated device to decide, or nobody has.
        complete = [o for o in opinions if not o.missing and not o.doubted]
        summary = "; ".join(o.summary() for o in opinions)
        if not complete:
            return _unavailable(f"no detector could watch this kernel: {summary}", details)
        return Stage(name="sanitize", status=StageStatus.PASS, reason=summary, details=details)

    def _about(self, suspicions: Sequence[Suspicion], details: dict[str, Any]) -> Stage:
        own, shared = self._told_apart(suspicions)
        details["findings"] = [_as_json(s, "candidate") for s in own] + [_as_json(s, "both") for s in shared]
        worst = (own or shared)[0]
        reason = _sentence(worst, self.candidate.label)
        code = FAULT_REASONS[worst.fault.kind]
        if own:
            return Stage(name="sanitize", status=StageStatus.FAIL, code=code, reason=reason, details=details)
        return Stage(
            name="sanitize",
            status=StageStatus.UNAVAILABLE,
            code=code,
            reason=f"the baseline has it as well, so it is not the candidate's doing: {reason}",
            details=details,
        )

    def _told_apart(self, suspicions: Sequence[Suspicion]) -> tuple[list[Suspicion], list[Suspicion]]:
        """Those that are the candidate's own, and those that the baseline has as well, on the same case."""
        own: list[Suspicion] = []
        shared: list[Suspicion] = []
        for tool in dict.fromkeys(s.source for s in suspicions):
            mine = [s for s in suspicions if s.source == tool]
            if tool == "emulated device":
                first = {(s.fault.kind, s.fault.buffer, s.fault.line): s for s in reversed(mine)}.values()
                # Each mistake in one case; the others decide only when the baseline makes all of them there.
                alone, both = self._apart(first, self._emulated(first))
                if not alone:
                    alone, both = self._apart(mine, self._emulated(mine))
            else:
                alone, both = self._apart(*self._watched_again(tool, self._cases_of(mine), mine))
            own += alone
            shared += both
        return own, shared

    def _cases_of(self, suspicions: Collection[Suspicion]) -> list[Case]:
        return [c for c in self.cases if any(s.case in {"", str(c)} for s in suspicions)]

    def _emulated(self, suspicions: Collection[Suspicion]) -> Sequence[Suspicion]:
        """What the emulated device finds in the baseline on the cases of these."""
        cases = self._cases_of(suspicions)
        return emulate(self.baseline, self.workload, cases, _EMULATED_SECONDS).suspicions

    @staticmethod
    def _apart(
        mine: Iterable[Suspicion], theirs: Iterable[Suspicion]
    ) -> tuple[list[Suspicion], list[Suspicion]]:
        """The suspicions that the baseline does not have, and those that it has."""
        kinds = {_kind(s) for s in theirs}
        own = [s for s in mine if _kind(s) not in kinds]
        return own, [s for s in mine if _kind(s) in kinds]

    def _watched_again(
        self, tool: str, cases: Sequence[Case], suspicions: Sequence[Suspicion]
    ) -> tuple[list[Suspicion], list[Suspicion]]:
        """Candidate and baseline under one tool, each case by itself: which case it is, and whose doing."""
        again: list[Suspicion] = []
        theirs: list[Suspicion] = []
        for case in cases:
            with (
                Tools(self.candidate, self.workload, [case], self.spares, [tool]) as mine,
                Tools(self.baseline, self.workload, [case], self.spares, [tool]) as other,
            ):
                again += mine.opinion(_TOOL_SECONDS).suspicions
                theirs += other.opinion(_TOOL_SECONDS).suspicions
            if again and not theirs:
                break
        return again or list(suspicions), theirs


def _kind(suspicion: Suspicion) -> tuple[str, str | None, str]:
    return suspicion.fault.kind, suspicion.fault.buffer, suspicion.case


def _as_json(suspicion: Suspicion, who: str) -> dict[str, Any]:
    fault: Fault = suspicion.fault
    return {
        "program": who,
        "source": suspicion.source,
        "kind": fault.kind,
        "message": fault.message,
        **fault.where(),
        "case": suspicion.case,
    }


def _sentence(suspicion: Suspicion, label: str) -> str:
    place = f"{label}:{suspicion.fault.line}" if suspicion.fault.line is not None else label
    return "; ".join(part for part in (suspicion.fault.message, suspicion.case, place) if part)
