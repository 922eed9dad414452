"""A checked kernel as a document: its findings are those that the editor underlines."""

from __future__ import annotations

from kernel_lineage.editor.findings import findings_of
from kernel_lineage.learning.check_document import CheckedDocument
from kernel_lineage.learning.checked_file import CheckedKernel
from kernel_lineage.learning.saved_kernels import Reference, SavedVerdict
from kernel_lineage.learning.version_checks import VersionState


def checked_document(checked: CheckedKernel) -> CheckedDocument:
    """The document of one kernel."""
    result, spot = checked.result, checked.workload
    workload = "" if spot is None else "drafted" if spot.path is None else str(spot.path)
    state, reason, findings = VersionState.UNKNOWN, checked.why_not, []
    cases: list[str] = []
    if result is not None and result.verdict is not None:
        state = result.state
        check = result.verdict.stage("check")
        passed = _compared(result) + check.reason if check is not None else ""
        reason = passed if state is VersionState.RIGHT else result.verdict.reason
        findings = list(findings_of(result))
        cases = list(check.details.get("passed", ())) if check is not None else []
    return CheckedDocument(
        kernel=checked.asked.name,
        line=checked.asked.line,
        state=state,
        reason=reason,
        workload=workload,
        assumed=list(spot.assumed) if spot is not None and spot.path is None else [],
        findings=findings,
        passed=cases,
    )


def _compared(result: SavedVerdict) -> str:
    if result.reference is not Reference.ITSELF or result.saved.workload.workload.oracle is not None:
        return f"beside {result.reference}: "
    return "no race, no access out of bounds, repeatable; nothing else is there to compare its values with: "
