"""Findings as the editor's diagnostics, and where they are after an edit."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from kernel_gate.reporting.reason_links import link_to
from kernel_lineage.editor.text import Text
from kernel_lineage.learning.check_document import HINT, FindingDocument

SOURCE = "klineage"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    HINT: types.DiagnosticSeverity.Hint,
}


def diagnostics(findings: Sequence[FindingDocument], text: Text, uri: str) -> list[types.Diagnostic]:
    """For the editor: each on the code of its line."""
    return [
        types.Diagnostic(
            range=text.code_of(finding.line),
            message=finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=_explained(finding.code),
            source=SOURCE,
            related_information=[
                types.DiagnosticRelatedInformation(types.Location(uri, text.code_of(r.line)), r.message)
                for r in finding.related
            ],
        )
        for finding in findings
    ]


def moved(findings: Sequence[FindingDocument], before: bytes, after: bytes) -> tuple[FindingDocument, ...]:
    """The findings after an edit: those of a changed line, or with another place on one, are gone."""
    if before == after:
        return tuple(findings)
    old, new = before.split(b"\n"), after.split(b"\n")
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    lines = {n: n for n in range(1, head + 1)}
    lines |= {len(old) - i: len(new) - i for i in range(tail)}
    return tuple(
        finding.model_copy(
            update={
                "line": lines[finding.line],
                "related": [r.model_copy(update={"line": lines[r.line]}) for r in finding.related],
            }
        )
        for finding in findings
        if {finding.line, *(r.line for r in finding.related)} <= lines.keys()
    )


def _explained(code: str | None) -> types.CodeDescription | None:
    """Where the page of reason codes explains the code: the editor makes a link of it in the hover."""
    link = link_to(code) if code is not None else None
    return types.CodeDescription(link) if link is not None else None
