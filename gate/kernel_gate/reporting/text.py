"""A verdict as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_gate.reporting.figures import shape_line
from kernel_gate.verdict import Outcome, Verdict


def render(verdict: Verdict) -> str:
    """The outcome, the stages, the figures, and what to do about it."""
    return "\n".join(_lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.standing.label}: {verdict.reason}"
    yield ""
    for stage in verdict.stages:
        yield f"  {stage.name:<9}{stage.status:<12}{stage.reason}"
    yield from _counts(verdict)
    if verdict.speedup is not None:
        yield ""
        yield from (f"  {shape_line(shape)}" for shape in verdict.speedup.by_shape)
    if verdict.code is not None and verdict.outcome is not Outcome.ACCEPTED:
        yield ""
        yield f"  {verdict.code}: {verdict.code.means}"
        yield f"  {verdict.code.remedy}"


def _counts(verdict: Verdict) -> Iterator[str]:
    """What the executed addresses and branches of one case changed to."""
    stage = verdict.stage("sanitize")
    counts = {} if stage is None else stage.details.get("counts", {})
    if counts.get("summary"):
        yield ""
        yield f"  counted on the emulated device ({counts['case']}):"
        yield from (f"    {line}" for line in counts["summary"])
