"""What is known of a kernel that was checked, as plain text: each finding with its code, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.learning.check_document import CheckedDocument

_AROUND = 2
"""Lines before and after one that is spoken of."""


def debug_text(snapshot: Snapshot, checked: CheckedDocument) -> str:
    """The text of one kernel that was checked; its lines are those of the document as it is now."""
    return "\n".join(_lines(snapshot, checked)) + "\n"


def _lines(snapshot: Snapshot, checked: CheckedDocument) -> Iterator[str]:
    code = snapshot.text.data.decode("utf-8", "replace").splitlines()
    place = f"{snapshot.path}:{checked.kernel}"
    yield f"{checked.kernel}: {checked.state}"
    yield from (f"  {line}" for line in checked.reason.splitlines())
    for finding in checked.findings:
        yield ""
        yield f"{snapshot.path}:{finding.line}: {finding.severity}" + (
            f" [{finding.code}]" if finding.code else ""
        )
        yield from (f"  {line}" for line in finding.message.splitlines())
        yield from _code(code, finding.line)
        for other in finding.related:
            yield f"{snapshot.path}:{other.line}: {other.message}"
            yield from _code(code, other.line)
    yield ""
    yield f"See it again: klineage check '{place}'"
    if checked.workload == "drafted":
        yield f"The workload is a draft, written down by: klineage workload init '{place}'"
    else:
        yield f"Workload: {checked.workload or 'none'}"
    yield from (f"  assumed: {assumption}" for assumption in checked.assumed)
    yield from _listed("Cases that agree", checked.passed)
    yield from _listed(
        f"Counted on the emulated device, {checked.counted_in}",
        [
            f"line {c.line}: sectors a request {_figure(c.sectors_per_request)}, wavefronts a request "
            f"{_figure(c.wavefronts_per_request)}"
            for c in checked.counted
        ],
    )


def _code(code: list[str], line: int) -> Iterator[str]:
    """The line with those around it; the line itself is marked."""
    for number in range(max(line - _AROUND, 1), min(line + _AROUND, len(code)) + 1):
        yield f"  {'>' if number == line else ' '} {number:5} | {code[number - 1]}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
