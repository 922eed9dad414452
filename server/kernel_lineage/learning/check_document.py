"""What `klineage check` prints: of each kernel whether it is right, and what is wrong at which line."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.learning.version_checks import VersionState

VERSION = 1
HINT = "hint"
"""The severity of what is no mistake at the sizes that callers come with."""

UNMASKED_CODE = "unmasked"
"""The code of an access that lacks a mask at sizes for which the kernel is not called wrong."""


class RelatedDocument(BaseModel, frozen=True):
    """Another place of a finding, such as the other thread of a race."""

    line: int
    message: str


class InnerDocument(BaseModel, frozen=True):
    """The place in a header of what a finding's line calls."""

    path: str
    line: int


class FindingDocument(BaseModel, frozen=True):
    """One thing that is wrong."""

    line: int
    message: str
    severity: str
    """`error`, `warning` for what an older version has as well or may be meant, or `hint`."""
    code: str | None = None
    """Which rule is broken, such as `race`; None where there is no name for it."""
    related: list[RelatedDocument] = Field(default_factory=list)
    inner: InnerDocument | None = None
    """Where it happens, in a function of a header that the line calls; None where it is the line itself."""


class CountedDocument(BaseModel, frozen=True):
    """What the emulated device counted of one line."""

    line: int
    sectors_per_request: float | None
    """Sectors of 32 bytes that a warp's access to global memory touches; None without such an access."""
    wavefronts_per_request: float | None
    """The same of shared memory: 1 without a bank conflict."""


class CheckedDocument(BaseModel, frozen=True):
    """One kernel."""

    kernel: str
    line: int
    state: VersionState
    reason: str
    """What was compared with what, the counterexample, or why nothing is known."""
    beside: str = ""
    """The version that it was compared with; "" where it was run beside itself, or not at all."""
    workload: str
    """Its file, `drafted`, or "" when there is none."""
    assumed: list[str] = Field(default_factory=list)
    """What was chosen for a drafted workload."""
    where: str = ""
    """The sizes for which alone it is right: no mask guards the others, and no code excludes them. "" for all."""
    findings: list[FindingDocument] = Field(default_factory=list)
    passed: list[str] = Field(default_factory=list)
    """Cases that agree in every element."""
    counted: list[CountedDocument] = Field(default_factory=list)
    """By line, of a kernel that is right; none of one whose cases are all large."""
    counted_in: str = ""
    """The case that was counted."""


class FileCheckDocument(BaseModel, frozen=True):
    """What `klineage check FILE[:KERNEL] --json` prints."""

    version: int = VERSION
    file: str
    kernels: list[CheckedDocument]


def exit_code(kernels: Sequence[CheckedDocument]) -> ExitCode:
    """1 when one is wrong, 5 when one could not be judged, else 0."""
    states = {kernel.state for kernel in kernels}
    if VersionState.WRONG in states:
        return ExitCode.REJECTED
    return ExitCode.NOT_JUDGED if VersionState.UNKNOWN in states else ExitCode.DONE


def lines_of(file: str, kernel: CheckedDocument) -> list[str]:
    """One kernel for a person."""
    mark = {"right": "✓", "wrong": "✗", "unknown": "?"}[kernel.state]
    where = f" where {kernel.where}" if kernel.where else ""
    lines = [f"{mark} {kernel.kernel} ({file}:{kernel.line}) {kernel.state}{where}: {kernel.reason}"]
    for finding in kernel.findings:
        lines.append(
            f"    {file}:{finding.line} {finding.severity}: {finding.message}".replace("\n", "\n      ")
        )
        lines += [f"      {file}:{other.line} {other.message}" for other in finding.related]
    return lines
