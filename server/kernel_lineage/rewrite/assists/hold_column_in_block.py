"""Hold the columns of a Triton program in one block, instead of going down them row by row for each pass.

Before: `for c in range(channels):` around each pass, which loads `x + c * pixels + p`.
After: `c = tl.arange(0, ROWS)[:, None]` and the pass by itself, launched with `ROWS=triton.next_power_of_2(channels)`;
what an earlier pass loaded is not loaded again.

The loops are made to take all of their rows in one round (`load_rows_together`, which says what is refused), and then
are none (`triton_passes`). The block of columns stays as wide as it was; alternatives have more warps for it.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.triton_column_in_passes import column_passes
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_loops import range_arguments
from kernel_lineage.rewrite.assists.load_rows_together import rows_together
from kernel_lineage.rewrite.assists.model import Assist, Refusal, with_alternatives
from kernel_lineage.rewrite.assists.triton_block_choices import kernel_after
from kernel_lineage.rewrite.assists.triton_passes import joined, of_original, with_loads_named
from kernel_lineage.rewrite.assists.triton_places import (
    calls_of,
    check_imports_triton,
    check_launched_here,
    function_of,
    parameter_added,
    stored_names,
    triton_syntax_of,
)
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.launch_site import launch_edits
from kernel_lineage.skills.kernel_facts import constant

_ROWS = "ROWS"
_WIDEST = 1024
"""Columns of a block at most: Triton compiles 2**20 elements, and the skill's condition is on the rows."""
_WARPS = ("8", "16", "")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    check_launched_here(kernel, "gives it its rows")
    loops = _loops(kernel)
    if len(loops) < 2:
        raise Refusal(f"{kernel.name} does not go down its columns more than once")
    _, stop, _ = range_arguments(loops[0])
    assert isinstance(stop, ast.Name)
    if stop.id in stored_names(function_of(kernel)):
        raise Refusal(f"{stop.id} is not an argument of the launch")
    _check_width(kernel)
    made = with_loads_named(kernel, loops)
    for done in range(len(loops)):
        function = function_of(made)
        edits = rows_together(made, function, _loops(made)[0])
        if not done:
            edits.append(parameter_added(made, function, _ROWS))
        made = kernel_after(made, edits)
    function = function_of(made)
    passes = [s for s in function.body if isinstance(s, ast.For) and _ROWS in ast.unparse(s.iter)]
    whole = joined(made, function, passes, stop.id)
    position = [p.name for p in kernel.parameters].index(stop.id)

    def with_warps(warps: str) -> Candidate:
        options = {"num_warps": warps} if warps else {}
        edits = [whole]
        for launch in made.launches:
            argument = launch.arguments[position] if position < len(launch.arguments) else ""
            if launch.span != made.name_span and not argument:
                raise Refusal(f"the launch in line {launch.span.first_line} does not tell {stop.id}")
            rows = {_ROWS: f"triton.next_power_of_2({argument})"}
            edits += launch_edits(made, launch, rows | options)
        return ASSIST.candidate(
            kernel,
            of_original(kernel, made, edits),
            explanation="Columns that one block holds are read from memory once; sums over rows are rounded in "
            "another order.",
            launch={_ROWS: f"next_power_of_2({stop.id})", **options},
        )

    has_warps = any("num_warps" in launch.options for launch in kernel.launches)
    return with_alternatives(("",) if has_warps else _WARPS, with_warps)


def _loops(kernel: Kernel) -> list[ast.For]:
    return column_passes(triton_syntax_of(kernel).entry)


def _check_width(kernel: Kernel) -> None:
    """Refuse columns of which no launch tells how many a block has, or that are many."""
    check_imports_triton(kernel)
    sizes = {ast.unparse(c.args[1]) for c in calls_of(function_of(kernel), "arange") if len(c.args) > 1}
    for launch in kernel.launches:
        for size in sizes:
            width = constant(launch.options.get(size, size), launch.definitions)
            if width is None or width > _WIDEST:
                raise Refusal(f"the launch in line {launch.span.first_line} tells no {size} up to {_WIDEST}")


ASSIST = Assist(
    title="Hold columns in one block",
    skill="triton-column-in-block",
    pattern="triton_column_in_passes",
    make=_rewrite,
)
