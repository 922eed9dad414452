"""Verdicts as Markdown, for the summary of a CI job or a comment on a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernel_gate.cleaning import cleaned, without_links
from kernel_gate.reporting.figures import dims_text, interval, times
from kernel_gate.reporting.named import NamedVerdict, counts
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome, StageStatus

SIGNS = {
    Standing.ACCEPTED: "✅",
    Standing.RIGHT: "☑️",
    Standing.UNDECIDED: "❔",
    Standing.NOT_JUDGED: "⬜",
    Standing.LACKING: "⚠️",
    Standing.REJECTED: "❌",
}
_MARK = {StageStatus.PASS: "✓", StageStatus.FAIL: "✗", StageStatus.UNAVAILABLE: "?", StageStatus.SKIPPED: "–"}
_STAGES = ("build", "check", "sanitize", "watch", "profile")


def render(judged: Sequence[NamedVerdict]) -> str:
    """A table with one row a verdict, then what each means."""
    return "\n".join(_lines(list(judged))) + "\n"


def _lines(judged: list[NamedVerdict]) -> Iterator[str]:
    yield f"## Kernel gate: {counts(judged)}"
    yield ""
    yield "| | kernel | " + " | ".join(_STAGES) + " | speed-up | why |"
    yield "|---|---|" + "---|" * (len(_STAGES) + 2)
    for one in judged:
        yield _row(one)
    for one in judged:
        yield from _details(one)


def _row(judged: NamedVerdict) -> str:
    verdict = judged.verdict
    marks: dict[str, str] = {stage.name: _MARK[stage.status] for stage in verdict.stages}
    speedup = f"{interval(verdict.speedup)}, {verdict.speedup.state}" if verdict.speedup else ""
    cells = [
        f"{SIGNS[verdict.standing]} {verdict.standing.label}",
        f"`{judged.kernel}`",
        *(marks.get(name, "–") for name in _STAGES),
        speedup,
        f"`{verdict.code}`" if verdict.code is not None else "",
    ]
    return "| " + " | ".join(map(cell, cells)) + " |"


def _details(judged: NamedVerdict) -> Iterator[str]:
    verdict = judged.verdict
    yield ""
    yield f"### `{cell(judged.kernel)}`: {verdict.standing.label}"
    yield ""
    where = f"`{cell(judged.candidate)}:{cell(str(judged.place))}`" if judged.candidate else ""
    against = f" against `{cell(judged.baseline)}`" if judged.baseline else ""
    if where:
        yield f"{where}{against}"
        yield ""
    yield quoted(verdict.reason)
    if verdict.code is not None and verdict.outcome is not Outcome.ACCEPTED:
        yield ""
        yield f"**{verdict.code}**: {verdict.code.means} {verdict.code.remedy}"
    if verdict.speedup is not None:
        yield ""
        yield "| shape | before → after | speed-up | noise | |"
        yield "|---|---|---|---|---|"
        for shape in verdict.speedup.by_shape:
            cells = [dims_text(shape.dims), times(shape), interval(shape), f"±{shape.noise:.2%}", shape.state]
            yield "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """Text that does not end a table's cell, and of which nothing works."""
    return without_links(cleaned(" ".join(text.split()), "markdown")).replace("|", "\\|")


def quoted(text: str) -> str:
    """A quotation in which nothing is markup: a program's own words may be in it."""
    escaped = "".join(
        f"\\{c}" if c in "\\`*_{}[]#|!" else c for c in cleaned(" ".join(text.split()), "markdown")
    )
    return f"> {escaped}"
