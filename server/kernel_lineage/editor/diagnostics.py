"""Findings as the editor's diagnostics, and where they are after an edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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
        _diagnostic(
            finding,
            text.code_of(finding.line),
            [
                *_in_header(finding),
                *(
                    types.DiagnosticRelatedInformation(types.Location(uri, text.code_of(r.line)), r.message)
                    for r in finding.related
                ),
            ],
        )
        for finding in findings
    ]


def in_header(finding: FindingDocument, there: types.Range, called: types.Location) -> types.Diagnostic:
    """A finding at its place in a header, with where its code is called."""
    by = finding.message.partition(":")[0]
    related = [types.DiagnosticRelatedInformation(called, f"{by} calls it here")]
    return _diagnostic(finding, there, related)


def _diagnostic(
    finding: FindingDocument, there: types.Range, related: list[types.DiagnosticRelatedInformation]
) -> types.Diagnostic:
    return types.Diagnostic(
        range=there,
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=_explained(finding.code),
        source=SOURCE,
        related_information=related,
    )


def _in_header(finding: FindingDocument) -> Iterator[types.DiagnosticRelatedInformation]:
    if finding.inner is not None:
        start = types.Position(finding.inner.line - 1, 0)
        place = types.Location(Path(finding.inner.path).as_uri(), types.Range(start, start))
        yield types.DiagnosticRelatedInformation(place, "it happens here")


def moved(findings: Sequence[FindingDocument], before: bytes, after: bytes) -> tuple[FindingDocument, ...]:
    """The findings after an edit: those of a changed line, or with another place on one, are gone."""
    if before == after:
        return tuple(findings)
    lines = moved_lines(before, after)
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


def moved_in_header(finding: FindingDocument, path: str, lines: Mapping[int, int]) -> FindingDocument:
    """The same after an edit of a header."""
    inner = finding.inner
    if inner is None or inner.path != path:
        return finding
    line = lines.get(inner.line)
    return finding.model_copy(
        update={"inner": None if line is None else inner.model_copy(update={"line": line})}
    )


def moved_lines(before: bytes, after: bytes) -> dict[int, int]:
    """Lines that an edit has left as they were → where they are now; 1-based."""
    old, new = before.split(b"\n"), after.split(b"\n")
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    lines = {n: n for n in range(1, head + 1)}
    return lines | {len(old) - i: len(new) - i for i in range(tail)}


def _explained(code: str | None) -> types.CodeDescription | None:
    """Where the page of reason codes explains the code: the editor makes a link of it in the hover."""
    link = link_to(code) if code is not None else None
    return types.CodeDescription(link) if link is not None else None
