"""What checking a kernel found: a line, the counterexample, and the other places it speaks of."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Stage, StageStatus
from kernel_lineage.learning.check_document import FindingDocument, InnerDocument, RelatedDocument
from kernel_lineage.learning.saved_kernels import SavedVerdict, of_itself
from kernel_lineage.learning.version_checks import Reference
from kernel_lineage.workloads.headers import Headers
from kernel_lineage.workloads.read_from import repository_around

_UNDECIDED = {
    "unreached": "was not reached in any case; add a small shape to the workload that reaches it",
    "untagged": "was reached, and never by data with tags; tag the argument that they come from",
}
_ERROR, _WARNING = "error", "warning"
_SEED = re.compile(r"(?P<before>[;,] )?\bseed \d+(?P<after>, )?")


def findings_of(result: SavedVerdict) -> tuple[FindingDocument, ...]:
    """What is wrong with the saved kernel itself; nothing for a verdict that is only inconclusive."""
    if result.verdict is None:
        return ()
    findings: list[FindingDocument] = []
    for stage in result.verdict.stages:
        if stage.status in {StageStatus.PASS, StageStatus.SKIPPED}:
            continue
        if stage.name == "build":
            findings += _build(stage, result)
        elif stage.name == "check":
            findings += _check(stage, result)
            findings += _invariants(stage, result)
        elif stage.name == "sanitize":
            findings += _sanitize(stage, result)
    return tuple(findings)


def _build(stage: Stage, result: SavedVerdict) -> Iterator[FindingDocument]:
    if stage.status is not StageStatus.FAIL and result.reference is not Reference.ITSELF:
        return
    for diagnostic in stage.details.get("diagnostics", ()):
        if diagnostic["severity"] == "error" and diagnostic["line"]:
            message = f"{result.saved.kernel} does not build: {diagnostic['message']}"
            yield _finding(diagnostic["line"], message, _ERROR, _code(stage))


def _check(stage: Stage, result: SavedVerdict) -> Iterator[FindingDocument]:
    if stage.status is not StageStatus.FAIL and not result.is_wrong_beside_itself:
        return
    details = stage.details
    repeat = _repeat(result, details.get("repeat"))
    what = of_itself(stage.reason if " --seed " in repeat else without_seed(stage.reason))
    expected = "fault" not in details
    if expected:
        what += f"\nExpected by {_expected_by(result)}."
    elif result.reference is not Reference.ITSELF:
        what += f"\nJudged beside {result.reference}."
    # Another version may be wrong itself, or the change of what is computed may be meant.
    another = (
        expected
        and result.saved.workload.workload.oracle is None
        and result.reference is not Reference.ITSELF
    )
    severity = _WARNING if another else _ERROR
    code = str(details["cause"]) if "cause" in details else _code(stage)
    yield _at(
        details,
        f"{result.saved.kernel}: {what}{repeat}",
        severity,
        code,
        result,
    )


def _invariants(stage: Stage, result: SavedVerdict) -> Iterator[FindingDocument]:
    """Every violated invariant but the one that is the stage's own, and those that nobody can read or decide."""
    stated = stage.details.get("invariants", {})
    kernel = result.saved.kernel
    for fault in stated.get("violations", ()):
        if fault["message"] not in stage.reason:
            message = f"{kernel}: {fault['message']}; {fault['case']}"
            yield _at(fault, message, _ERROR, Reason.INVARIANT_VIOLATED, result)
    for mistake in stated.get("mistakes", ()):
        line = mistake["line"] or result.saved.line
        yield _finding(line, mistake["message"], _ERROR, Reason.INVARIANT_UNREADABLE)
    for assertion in stated.get("assertions", ()):
        if assertion["status"] in _UNDECIDED:
            message = f"{kernel}: the invariant `{assertion['text']}` {_UNDECIDED[assertion['status']]}"
            code = Reason.INVARIANT_UNDECIDED
            yield _finding(assertion["line"], message, _WARNING, code)


def _sanitize(stage: Stage, result: SavedVerdict) -> Iterator[FindingDocument]:
    seen: set[tuple[str, int | None]] = set()
    for finding in stage.details.get("findings", ()):
        if (finding["kind"], finding["line"]) in seen:
            continue
        seen.add((finding["kind"], finding["line"]))
        older = finding["program"] == "both" and result.reference is not Reference.ITSELF
        what = without_seed(f"{result.saved.kernel}: {finding['message']}; {finding['case']}")
        if result.reference is not Reference.ITSELF:
            what += f"\n{'Not new' if older else 'New'}: {result.reference} {'has' if older else 'does not have'} it."
        severity = _WARNING if older else _ERROR
        yield _at(finding, what + _repeat(result, None), severity, finding["kind"], result)


def _at(
    details: Mapping[str, Any],
    message: str,
    severity: str,
    code: str | None,
    result: SavedVerdict,
) -> FindingDocument:
    related = tuple(
        RelatedDocument(
            line=other["line"],
            message=other["what"]
            + (
                f": block {_index(other['block'])}, thread {_index(other['thread'])}"
                if other["block"]
                else ""
            ),
        )
        for other in details.get("related", ())
        if other["line"]
    )
    line = details.get("line") or result.saved.line
    inner = _in_header(str(details.get("inner") or ""), result.saved.path)
    return _finding(line, message, severity, code, related).model_copy(update={"inner": inner})


def _in_header(inner: str, path: Path) -> InnerDocument | None:
    """The place `FILE:LINE` in a header that a source includes."""
    name, _, line = inner.rpartition(":")
    header = Headers(repository_around(path)).at(path.resolve().parent, name) if name else None
    return InnerDocument(path=str(header), line=int(line)) if header is not None else None


def _finding(
    line: int, message: str, severity: str, code: str | None, related: Sequence[RelatedDocument] = ()
) -> FindingDocument:
    return FindingDocument(line=line, message=message, severity=severity, code=code, related=list(related))


def _index(place: Sequence[int] | None) -> str:
    return "unknown" if place is None else f"({', '.join(map(str, place))})"


def _expected_by(result: SavedVerdict) -> str:
    oracle = result.saved.workload.workload.oracle
    return f"the workload's oracle ({oracle.python})" if oracle is not None else str(result.reference)


def _repeat(result: SavedVerdict, options: str | None) -> str:
    """The command that shows it again in the file's folder: a message is beside the file, and its path is long."""
    path, kernel = shlex.quote(result.saved.path.name), result.saved.kernel
    if not result.saved.workload.path.is_file():
        command = f"klineage workload init {path}:{kernel}"
        return f"\nThe workload is a draft: `{command}` in this folder writes it down."
    match result.reference:
        case Reference.ITSELF:
            command = (
                f"klineage gate {path} {path} --kernel {kernel} --device emulated {options or ''}".rstrip()
            )
        case Reference.COMMITTED:
            command = f"klineage gate --since HEAD {path} --device emulated"
        case Reference.PASSED:
            return ""
    return f"\nRepeat in this folder: {command}"


def without_seed(words: str) -> str:
    """What happened, without the number that no command shown beside it takes."""
    return _SEED.sub(lambda m: (m["before"] or "") if m["after"] else "", words)


def _code(stage: Stage) -> str | None:
    return None if stage.code is None else str(stage.code)
