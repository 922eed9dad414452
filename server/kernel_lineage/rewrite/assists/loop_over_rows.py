"""Let a bounded number of Triton programs walk over the rows, instead of one program for each.

Before: `row = tl.program_id(0)` and what it does, launched on `(rows,)`.
After: `for row in range(tl.program_id(0), ROWS, tl.num_programs(0)):` around it, launched on `(min(rows, 1024),)`.

What does not depend on the row stays before the loop. `ROWS` is a parameter that every launch gives what the grid is,
or a new constant. A parameter that the kernel moves (`X += row * stride`) starts anew for each row. Refused where a
program returns early, uses what an atomic operation gives back, or where the launch does not tell its grid.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_counts import program_counts
from kernel_lineage.rewrite.assists.triton_loop_body import in_loop
from kernel_lineage.rewrite.assists.triton_places import (
    called,
    calls_of,
    function_of,
    parameter_added,
)
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import launch_edits, parameter_of_count

MOST_PROGRAMS = 1024
"""About eight for each multiprocessor of a large device."""
_ADDED = "ROWS"


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    if not kernel.launches:
        raise Refusal(f"{kernel.name} is not launched in this file")
    if reason := _not_alone(kernel, function):
        raise Refusal(reason)
    extents = [program_counts(kernel, launch) for launch in kernel.launches]
    if not all(len(counts) == 1 for counts in extents):
        raise Refusal(f"a launch of {kernel.name} does not tell its grid as one number")
    grids = [counts[0] for counts in extents]
    bound = parameter_of_count(kernel, grids)
    edits: list[Edit] = []
    if not bound:
        if kernel.parameter(_ADDED):
            raise Refusal(f"{kernel.name} knows another {_ADDED} than its number of programs")
        edits.append(parameter_added(kernel, function, _ADDED))
    walked = in_loop(kernel, function, bound or _ADDED)
    edits.append(walked)
    for launch, grid in zip(kernel.launches, grids, strict=True):
        fields = {"grid": f"(min({grid}, {MOST_PROGRAMS}),)"} | ({} if bound else {_ADDED: grid})
        edits += launch_edits(kernel, launch, fields)
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"At most {MOST_PROGRAMS} programs take row after row, so that their set-up is paid once.",
        launch={"grid": f'["min(grid.x, {MOST_PROGRAMS})"]'} | ({} if bound else {_ADDED: "grid.x"}),
    )


def _not_alone(kernel: Kernel, function: ast.FunctionDef) -> str:
    """Why a program is more than its row; "" when it is not."""
    if any(True for _ in calls_of(function, "num_programs")):
        return f"{kernel.name} knows how many programs there are"
    axes = {
        ast.unparse(a)
        for c in calls_of(function, "program_id")
        for a in (*c.args, *(k.value for k in c.keywords))
    }
    if axes != {"0"}:
        return f"{kernel.name} does not have one program axis"
    if any(isinstance(n, ast.Return) for n in ast.walk(function)):
        return "a program may return early, and would leave the rows that follow"
    alone = {id(n.value) for n in ast.walk(function) if isinstance(n, ast.Expr)}
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and called(call).startswith("atomic_") and id(call) not in alone:
            return f"{called(call)} tells a program what others did"
    return ""


ASSIST = Assist(
    title="Walk over the rows with fewer programs",
    skill="triton-persistent-rows",
    pattern="triton_program_per_row",
    make=_rewrite,
)
