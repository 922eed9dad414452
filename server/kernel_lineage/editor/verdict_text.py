"""A verdict in words: one line for a message, and a page of Markdown with the stages."""

from __future__ import annotations

from kernel_gate.cleaning import without_links
from kernel_gate.reasons import Reason
from kernel_gate.reporting.reason_links import link_to
from kernel_gate.verdict import SpeedState, Speedup, Stage, StageStatus
from kernel_lineage.rewrite.document import ApplyDocument

_MARK = {StageStatus.PASS: "✓", StageStatus.FAIL: "✗", StageStatus.UNAVAILABLE: "?", StageStatus.SKIPPED: "–"}


def summary_of(document: ApplyDocument) -> str:
    """`Rejected by check: y[3, 769] = NaN …. Nothing was changed.`; says nothing of an edit when it was accepted."""
    reason = " ".join(document.reason.split()).rstrip(".")
    if document.outcome == "accepted":
        return f"Accepted: {reason}."
    failed = _failed(document)
    word = document.outcome if document.outcome == "refused" else document.standing.label
    head = f"Rejected by {failed}" if failed is not None else word.capitalize()
    passed = _passed(document)
    if document.outcome == "inconclusive" and passed:
        head += f" ({passed} passed)"
    reason = reason.removeprefix(f"{failed}: ") if failed is not None else reason
    return f"{head}: {reason}. Nothing was changed."


def details_of(title: str, document: ApplyDocument) -> str:
    """The verdict stage by stage, with where it was measured and where the candidate lies."""
    explained = ""
    lines = [
        f"# {title}",
        "",
        f"`{document.kernel}` in `{document.path}`, by {document.by}",
        "",
        summary_of(document),
        "",
    ]
    if document.explanation:
        lines += [document.explanation.strip(), ""]
    if document.verdict is not None:
        lines += ["| stage | | |", "|---|---|---|"]
        lines += [_row(stage) for stage in document.verdict.stages]
        lines.append("")
        code = document.verdict.code
        if code is not None and document.outcome != "accepted":
            explained = f"**{_linked(code)}**: {code.means} {code.remedy}"
            lines += [explained, ""]
        if document.verdict.speedup is not None:
            lines += _speedup(document.verdict.speedup)
        environment = [
            f"{k} {v}" for k, v in sorted(document.verdict.environment.items()) if isinstance(v, str | int)
        ]
        if environment:
            lines += ["Environment: " + " · ".join(environment), ""]
    if document.patch is not None:
        lines += [f"The candidate is kept as a patch: `{document.patch}`", ""]
    return "\n".join(line if line == explained else without_links(line) for line in lines)


def _linked(code: Reason) -> str:
    """The code, as a link to where the page of verdicts explains it, when that page is there."""
    link = link_to(code)
    return f"[{code}]({link})" if link is not None else str(code)


def _failed(document: ApplyDocument) -> str | None:
    if document.outcome != "rejected" or document.verdict is None:
        return None
    return next((stage.name for stage in document.verdict.stages if stage.status is StageStatus.FAIL), None)


def _passed(document: ApplyDocument) -> str:
    stages = [] if document.verdict is None else document.verdict.stages
    return ", ".join(stage.name for stage in stages if stage.status is StageStatus.PASS)


def _row(stage: Stage) -> str:
    reason = " ".join(stage.reason.split()).replace("|", "\\|")
    return f"| {stage.name} | {_MARK[stage.status]} {stage.status} | {reason} |"


def _speedup(speedup: Speedup) -> list[str]:
    lines = [f"Speed-up {_ratio(speedup.median, speedup.low, speedup.high, speedup.state)}", ""]
    lines += ["| shape | before | after | speed-up |", "|---|---|---|---|"]
    for shape in speedup.by_shape:
        dims = ", ".join(f"{name} {value}" for name, value in shape.dims.items())
        ratio = _ratio(shape.median, shape.low, shape.high, shape.state)
        lines.append(f"| {dims} | {shape.baseline_us:.1f} µs | {shape.candidate_us:.1f} µs | {ratio} |")
    return [*lines, ""]


def _ratio(median: float, low: float, high: float, state: SpeedState) -> str:
    return f"{median:.2f}× ({low:.2f} … {high:.2f}), {state}"
