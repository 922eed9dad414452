"""Verdicts as a comment on a change: a line for each kernel, with what repeats it; the reasons folded away below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernel_gate.reporting.figures import interval
from kernel_gate.reporting.named import NamedVerdict, counts
from kernel_gate.reporting.summary import SIGNS, cell, quoted
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome

MARK = "<!-- klineage gate -->"
"""By which the next run finds its comment and writes over it."""
_MOST_ROWS = 50
"""GitHub takes 65,536 characters."""
_MOST_REASON = 600


def render(judged: Sequence[NamedVerdict]) -> str:
    """A line a kernel, what is worst first."""
    ordered = sorted(judged, key=lambda one: list(Standing).index(one.verdict.standing))
    return "\n".join(_lines(ordered)) + "\n"


def _lines(judged: list[NamedVerdict]) -> Iterator[str]:
    yield MARK
    if not judged:
        yield "**Kernel gate**: no kernel changed."
        return
    yield f"**Kernel gate**: {counts(judged)}"
    yield ""
    yield "| | kernel | old / new time | holds if | again |"
    yield "|---|---|---|---|---|"
    for one in judged[:_MOST_ROWS]:
        yield _row(one)
    if len(judged) > _MOST_ROWS:
        yield f"\n{len(judged) - _MOST_ROWS} more are in the run's summary."
    reasons = [one for one in judged[:_MOST_ROWS] if one.verdict.outcome is not Outcome.ACCEPTED]
    if reasons:
        yield "\n<details><summary>Why</summary>\n"
        for one in reasons:
            code = one.verdict.code
            remedy = f"`{code}`: {code.remedy}\n" if code is not None else ""
            yield f"**{cell(one.kernel)}**\n\n{quoted(one.verdict.reason[:_MOST_REASON])}\n\n{remedy}"
        yield "</details>"


def _row(one: NamedVerdict) -> str:
    verdict = one.verdict
    speed = f"{interval(verdict.speedup)}, {verdict.speedup.state}" if verdict.speedup else "not timed"
    cells = [
        f"{SIGNS[verdict.standing]} {cell(verdict.standing.label)}",
        f"`{cell(one.kernel)}` {cell(one.candidate)}:{one.place}",
        cell(speed),
        cell(" and ".join(conditions_of(one))) or "–",
        f"`{cell(one.repeat)}`" if one.repeat else "",
    ]
    return "| " + " | ".join(cells) + " |"


def conditions_of(one: NamedVerdict) -> list[str]:
    """What the new code needs and the old one did not, once each."""
    expressions = (
        str(c["expr"]) for stage in one.verdict.stages for c in stage.details.get("conditions", ())
    )
    return list(dict.fromkeys(expressions))
