"""What `klineage check` prints: of each kernel whether it is right, and what is wrong at which line."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.editor.findings import findings_of
from kernel_lineage.learning.checked_file import CheckedKernel
from kernel_lineage.learning.saved_kernels import Reference, SavedVerdict
from kernel_lineage.learning.version_checks import VersionState

VERSION = 1


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True)


class RelatedDocument(_Document):
    """Another place of a finding, such as the other thread of a race."""

    line: int
    message: str


class FindingDocument(_Document):
    """One thing that is wrong."""

    line: int
    message: str
    severity: str
    """`error`, or `warning` for what an older version has as well or may be meant."""
    code: str | None = None
    related: list[RelatedDocument] = Field(default_factory=list)


class CheckedDocument(_Document):
    """One kernel."""

    kernel: str
    line: int
    state: VersionState
    reason: str
    """What was compared with what, the counterexample, or why nothing is known."""
    workload: str
    """Its file, `drafted`, or "" when there is none."""
    assumed: list[str] = Field(default_factory=list)
    """Of a drafted workload: what was chosen."""
    findings: list[FindingDocument] = Field(default_factory=list)


class FileCheckDocument(_Document):
    """What `klineage check FILE[:KERNEL] --json` prints."""

    version: int = VERSION
    file: str
    kernels: list[CheckedDocument]


def checked_document(checked: CheckedKernel) -> CheckedDocument:
    """The document of one kernel."""
    result, spot = checked.result, checked.workload
    workload = "" if spot is None else "drafted" if spot.path is None else str(spot.path)
    state, reason, findings = VersionState.UNKNOWN, checked.why_not, []
    if result is not None and result.verdict is not None:
        state = result.state
        check = result.verdict.stage("check")
        passed = _compared(result) + check.reason if check is not None else ""
        reason = passed if state is VersionState.RIGHT else result.verdict.reason
        findings = [
            FindingDocument(
                line=found.line,
                message=found.message,
                severity=found.severity.name.lower(),
                code=found.code,
                related=[RelatedDocument(line=r.line, message=r.message) for r in found.related],
            )
            for found in findings_of(result)
        ]
    return CheckedDocument(
        kernel=checked.kernel.name,
        line=checked.kernel.span.first_line,
        state=state,
        reason=reason,
        workload=workload,
        assumed=list(spot.assumed) if spot is not None and spot.path is None else [],
        findings=findings,
    )


def _compared(result: SavedVerdict) -> str:
    if result.reference is not Reference.ITSELF or result.saved.workload.workload.oracle is not None:
        return f"beside {result.reference}: "
    return "no race, no access out of bounds, repeatable; nothing else is there to compare its values with: "


def exit_code(kernels: Sequence[CheckedDocument]) -> ExitCode:
    """1 when one is wrong, 5 when one could not be judged, else 0."""
    states = {kernel.state for kernel in kernels}
    if VersionState.WRONG in states:
        return ExitCode.REJECTED
    return ExitCode.NOT_JUDGED if VersionState.UNKNOWN in states else ExitCode.DONE


def lines_of(file: str, kernel: CheckedDocument) -> list[str]:
    """One kernel for a person."""
    mark = {"right": "✓", "wrong": "✗", "unknown": "?"}[kernel.state]
    lines = [f"{mark} {kernel.kernel} ({file}:{kernel.line}) {kernel.state}: {kernel.reason}"]
    for found in kernel.findings:
        lines.append(f"    {file}:{found.line} {found.severity}: {found.message}".replace("\n", "\n      "))
        lines += [f"      {file}:{other.line} {other.message}" for other in found.related]
    return lines
