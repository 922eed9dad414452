"""Let a bounded number of Triton programs walk over the rows, instead of one program for each.

Before: `row = tl.program_id(0)` and what it does, launched on `(rows,)`.
After: `for row in range(tl.program_id(0), ROWS, tl.num_programs(0)):` around it, launched on `(min(rows, 1024),)`.

What does not depend on the row stays before the loop. `ROWS` is a parameter that every launch gives what the grid is,
or a new constant. A parameter that the kernel moves (`X += row * stride`) starts anew for each row. Refused where a
program returns early, uses what an atomic operation gives back, or where the launch does not tell its grid.
"""

from __future__ import annotations

import ast
import re

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.layout import data_of, source_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_loop_body import in_loop
from kernel_lineage.rewrite.assists.triton_places import (
    called,
    calls_of,
    function_of,
    parameter_added,
    resolved,
)
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import launch_edits

MOST_PROGRAMS = 1024
"""About eight for each multiprocessor of a large device."""
_ADDED = "ROWS"


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    if not kernel.launches:
        raise Refusal(f"{kernel.name} is not launched in this file")
    if reason := _not_alone(kernel, function):
        raise Refusal(reason)
    grids = [_grid(kernel, launch) for launch in kernel.launches]
    if not all(grids):
        raise Refusal(f"a launch of {kernel.name} does not tell its grid as one number")
    bound = next((p.name for p in kernel.parameters if _is_grid(kernel, p.name, grids)), "")
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


def _grid(kernel: Kernel, launch: Launch) -> str:
    """The number of programs, as the launcher could write it; "" for several axes, and for what a tuner chooses.

    `meta["BLOCK"]` of a lambda is told as `BLOCK`, which is no name of the launcher's: it is what the launch gives.
    """
    (grid,) = launch.grid if len(launch.grid) == 1 else ("",)
    named = re.search(r"\[\s*(\w+)\s*\]\s*\(", source_of(kernel).text(launch.span))
    if named and re.search(rf"\bdef {named[1]}\(", data_of(kernel).decode("utf-8", "replace")):
        return ""  # what a function computes in between are names of its own
    try:
        tree = ast.parse(grid, mode="eval").body
    except SyntaxError:
        return ""
    constants = {p.name for p in kernel.parameters if p.constexpr}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & constants
    if not used or launch.span == kernel.name_span:
        return grid
    given = {name: launch.options.get(name, "") for name in used}
    if not all(given.values()) or kernel.attributes.keys() & {"autotune", "heuristics"}:
        return ""
    return resolved(grid, given)


def _is_grid(kernel: Kernel, name: str, grids: list[str]) -> bool:
    """Whether every launch gives a parameter just what its grid is."""
    position = [p.name for p in kernel.parameters].index(name)
    beside = any(launch.span == kernel.name_span for launch in kernel.launches)
    given = [x.arguments[position] if position < len(x.arguments) else "" for x in kernel.launches]
    parameter = kernel.parameter(name)
    return given == grids and not beside and parameter is not None and not parameter.pointer


ASSIST = Assist(
    id="loop_over_rows",
    title="Walk over the rows with fewer programs",
    skill="triton-persistent-rows",
    pattern="triton_program_per_row",
    make=_rewrite,
)
