"""Between axes: what one has learned and another one says better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_lineage.learning.probes.asking import Saw
from kernel_lineage.learning.probes.findings import AxisFindings, Finding


def drop_what_is_said_better(by_axis: Mapping[str, AxisFindings], latest: AxisFindings) -> None:
    """Findings of earlier axes that those of the latest have refuted, or have made superfluous."""
    better = [f for f in latest.findings if not f.why_dropped]
    if not better:
        return
    named = " and ".join(f.atom.expr for f in better)
    for findings in by_axis.values():
        if findings is latest:
            continue
        for position, finding in enumerate(findings.findings):
            if finding.why_dropped:
                continue
            if finding.atom in latest.refuted:
                why = f"too narrow: cases that break it are right, and {named} says which"
            elif expr := _said_by(finding, better, by_axis):
                why = f"superfluous: {expr} says it, and all cases that fail without it break that"
            else:
                continue
            findings.findings[position] = replace(finding, why_dropped=why)


def _said_by(finding: Finding, better: list[Finding], by_axis: Mapping[str, AxisFindings]) -> str:
    """One that every failing case breaks which breaks this finding, and no agreeing one; "" for none."""
    answers = [a for findings in by_axis.values() for a in findings.answers]
    failing = [a.facts for a in answers if a.saw is Saw.FAILS and finding.atom.broken_by(a.facts)]
    agreeing = [a.facts for a in answers if a.saw is Saw.AGREES]
    for other in (f.atom for f in better):
        if all(other.broken_by(p) for p in failing) and not any(other.broken_by(p) for p in agreeing):
            return other.expr
    return ""
