"""How the line that a verdict names lies to the line that was changed."""

from __future__ import annotations

import re
from typing import Literal

from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.mutants.ground import ground_of, names_in, target_of
from kernel_lineage.workloads.mutants.model import Mutant

Distance = Literal["same", "near", "far", "none"]
_STATEMENTS = ("for_statement", "while_statement", "do_statement", "if_statement", "expression_statement",
               "declaration", "assignment", "expression_statement", "augmented_assignment")  # fmt: skip
_OTHER_LINE = re.compile(r"(?:at|on) line (\d+)")


def lines_of(verdict: Verdict, *, by_difference: bool = True) -> list[int]:
    """The lines that a rejected verdict names, the fault's own first; both sides of a race.

    `by_difference`: also the changed lines that fed a wrong element, which it knows from both programs' texts, or those
    that are likeliest at fault, which it knows from their runs.
    """
    lines: list[int | None] = []
    for stage in verdict.stages:
        if stage.status != "fail":
            continue
        details = stage.details
        lines.append(details.get("line"))
        for finding in details.get("findings") or ():
            lines.append(finding.get("line"))
            lines += [int(n) for n in _OTHER_LINE.findall(finding.get("message", ""))]
        lines += [int(n) for n in _OTHER_LINE.findall(stage.reason.partition("; the baseline writes it")[0])]
        if by_difference:
            lines += [
                r["line"] for r in details.get("related", ()) if r["what"].startswith(("changed", "likely"))
            ]
    return list(dict.fromkeys(line for line in lines if line is not None))


def fed_by(verdict: Verdict) -> list[int]:
    """The lines that a wrong element came from, changed or not; empty for what is not a wrong value."""
    return next((s.details["fed_by"] for s in verdict.stages if "fed_by" in s.details), [])


def distance(kernel: Kernel, mutant: Mutant, named: list[int]) -> Distance:
    """`same`: a changed line is named. `near`: a named line stands in the statement or innermost loop that was changed,
    computes with a name that it gives a value to, or, for a barrier, the named lines stand on both sides of it.
    """
    if not named:
        return "none"
    changed = range(mutant.line, mutant.line + len(mutant.before.splitlines()))
    if any(line in changed for line in named):
        return "same"
    if any(_together(kernel, mutant.line, line) or _depends(kernel, changed, line) for line in named):
        return "near"
    if mutant.kind in ("dropped_barrier", "buffer_reused_early") and min(named) < mutant.line < max(named):
        return "near"
    return "far"


def _together(kernel: Kernel, first: int, second: int) -> bool:
    """Whether both lines are in one statement or in one innermost loop."""
    ground = ground_of(kernel)
    assert ground is not None
    around = [
        n for n in ground.of(*dict.fromkeys(_STATEMENTS)) if n.start_point[0] < first <= n.end_point[0] + 1
    ]
    if not around:
        return False
    innermost = min(around, key=lambda n: n.end_byte - n.start_byte)
    loops = [n for n in around if n.type in ("for_statement", "while_statement", "do_statement")]
    loop = min(loops, key=lambda n: n.end_byte - n.start_byte, default=innermost)
    return any(n.start_point[0] < second <= n.end_point[0] + 1 for n in (innermost, loop))


def _depends(kernel: Kernel, changed: range, line: int) -> bool:
    """Whether a line uses a name that a changed line gives a value to."""
    ground = ground_of(kernel)
    assert ground is not None
    assignments = ground.of("init_declarator", "assignment_expression", "assignment", "augmented_assignment")
    targets = {target_of(n) for n in assignments if n.start_point[0] + 1 in changed} - {""}
    return any(n.start_point[0] + 1 == line and names_in(n) & targets for n in ground.nodes)
