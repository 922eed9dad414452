"""A kernel as it was just saved, on the emulated device: right or wrong, and against what.

It is compared with the workload's oracle where there is one. Beside it runs another version, from whose own errors
the tolerance comes and which is what is expected where there is no oracle: the committed one, else the text that
passed last. Where neither is there or neither is right itself, the kernel runs beside itself: bounds, races,
uninitialised reads, barriers and repeatability are judged all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.evidence import companion_files, hash_inputs
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.history.git import RepositoryError, head_files, open_repository
from kernel_lineage.history.objects import BlobReader
from kernel_lineage.learning.steps import Judge
from kernel_lineage.learning.version_checks import Reference, VersionState, state_of
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.saved import FoundWorkload

_BASELINES_FAULT = {Reason.BASELINE_FAILS_CHECK, Reason.BASELINE_DOES_NOT_COMPILE}

_OF_BASELINE = re.compile(
    r"^(?:\w+: )?the baseline (?:does not pass its own check|does not build|"
    r"has it as well, so it is not the candidate's doing): "
)


@dataclass(frozen=True, slots=True)
class Saved:
    """A kernel in a text that was saved, with how to run it."""

    path: Path
    text: bytes
    kernel: str
    line: int
    """Where the kernel begins."""
    workload: FoundWorkload


@dataclass(frozen=True, slots=True)
class SavedVerdict:
    """What running it says."""

    saved: Saved
    reference: Reference
    verdict: Verdict | None
    why_not: str = ""
    """Why there is no verdict."""

    @property
    def state(self) -> VersionState:
        """Whether it computes what it should, whatever its speed."""
        if self.verdict is None:
            return VersionState.UNKNOWN
        state, _ = state_of(self.verdict)
        build = self.verdict.stage("build")
        broken = build is not None and build.code is Reason.CANDIDATE_DOES_NOT_COMPILE
        return VersionState.WRONG if broken or self.is_wrong_beside_itself else state

    @property
    def is_wrong_beside_itself(self) -> bool:
        """Whether the baseline's failure is the saved kernel's, because both are one."""
        if self.reference is not Reference.ITSELF or self.verdict is None:
            return False
        sanitized = self.verdict.stage("sanitize")
        has_findings = sanitized is not None and bool(sanitized.details.get("findings"))
        return has_findings or self.verdict.code in _BASELINES_FAULT


def of_itself(reason: str) -> str:
    """The reason of a verdict on a kernel beside itself, without the words that tell a baseline from its candidate."""
    return _OF_BASELINE.sub("", reason)


def check_saved(
    saved: Saved,
    judge: Judge,
    options: GateOptions,
    *,
    passed: bytes | None = None,
    verdicts: MutableMapping[str, Verdict] | None = None,
) -> SavedVerdict:
    """Judge a saved kernel; `judge` bounds the time.

    `passed` is a text of the file that passed before; `verdicts` holds earlier verdicts by the hash of what went into
    them, and gets those that are final.
    """
    verdicts = {} if verdicts is None else verdicts
    workload = saved.workload.workload
    try:
        candidate = program_from_file(saved.path, saved.kernel, workload, data=saved.text)
    except ProgramError as error:
        return SavedVerdict(saved, Reference.ITSELF, None, str(error))
    for reference, baseline in _beside(saved, candidate, passed):
        inputs = hash_inputs(baseline, candidate, workload, options, companion_files(workload))
        verdict = verdicts.get(inputs)
        if verdict is None:
            verdict = judge(GateRequest.of(baseline, candidate, workload, device="emulated", options=options))
        result = SavedVerdict(saved, reference, verdict)
        if result.state is not VersionState.UNKNOWN:
            verdicts[inputs] = verdict
        if reference is Reference.ITSELF or verdict.code not in _BASELINES_FAULT:
            return result
    raise AssertionError("a kernel can always run beside itself")


def _beside(saved: Saved, candidate: Program, passed: bytes | None) -> Iterator[tuple[Reference, Program]]:
    """The versions that it may run beside, best first; one that is the same program is no other version."""
    for reference, text in ((Reference.COMMITTED, committed(saved.path)), (Reference.PASSED, passed)):
        if text is None or text == saved.text:
            continue
        try:
            other = program_from_file(
                saved.path,
                saved.kernel,
                saved.workload.workload,
                data=text,
                name=f"{saved.path.name} ({reference})",
            )
        except ProgramError:  # the kernel is new, or was broken then: that says nothing about it now
            continue
        if replace(other, name=candidate.name) != candidate:
            yield reference, other
    yield Reference.ITSELF, candidate


def committed(path: Path) -> bytes | None:
    """The file's text in HEAD; None when it is not in a repository, or not committed."""
    try:
        repository = open_repository(path.parent)
    except RepositoryError:
        return None
    place = path.resolve()
    if repository.bare or not place.is_relative_to(repository.top.resolve()):
        return None
    blob = head_files(repository).get(place.relative_to(repository.top.resolve()).as_posix())
    if blob is None:
        return None
    with BlobReader(repository, {}) as reader:
        return dict(reader.read([blob])).get(blob)
