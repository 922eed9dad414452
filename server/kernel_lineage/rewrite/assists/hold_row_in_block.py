"""Hold a row in one block of a Triton program, instead of walking over it once for each pass.

Before: `for start in range(0, n, BLOCK):` around each pass, launched with a fixed `BLOCK`.
After: `start = 0` and the pass by itself, launched with `BLOCK=triton.next_power_of_2(n)`; what an earlier pass loaded
is not loaded again.

Every loop has one round when `BLOCK >= n`, so the kernel computes what it did. Refused where the mask of an access in
a pass does not compare with `n` (its sizes are then multiples of a block that was chosen), where `BLOCK` says more than
how far a pass moves on, and where nothing is loaded again under the same address and mask.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.triton_row_in_passes import length_of, passes
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.kernels.triton_loops import range_arguments
from kernel_lineage.rewrite.assists.layout import source_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal, with_alternatives
from kernel_lineage.rewrite.assists.triton_passes import joined, of_original, with_loads_named
from kernel_lineage.rewrite.assists.triton_places import (
    called,
    check_imports_triton,
    check_launched_here,
    function_of,
    resolved,
    triton_syntax_of,
)
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import launch_edits

_WARPS = ("", "16", "8")
"""Warps of a program that are tried where no launch tells them: 16384 floats do not fit into the registers of four."""
_SHAPED = ("arange", "zeros", "full")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    check_launched_here(kernel, "chooses the block itself")
    named = with_loads_named(kernel, _passes(kernel))
    function, loops = function_of(named), _passes(named)
    if any(list(unit.called("load", "store")) for unit in triton_syntax_of(named).units if not unit.entry):
        raise Refusal(f"{kernel.name} reaches functions that load or store")
    if len(loops) < 2:
        raise Refusal(f"{kernel.name} does not walk over its row more than once")
    _, stop, step = range_arguments(loops[0])
    assert isinstance(stop, ast.Name) and isinstance(step, ast.Name)
    length, block = stop.id, step.id
    of_launch = length_of(triton_syntax_of(named).entry, stop)
    if not of_launch:
        raise Refusal(f"{length} is not an argument of the launch")
    if reason := _unfit(function, loops, block):
        raise Refusal(reason)
    made = joined(named, function, loops, length)
    for launch in named.launches:
        if block in " ".join(launch.grid).replace("(", " ").replace(")", " ").replace(",", " ").split():
            raise Refusal(f"the grid depends on {block}")

    def with_warps(warps: str) -> Candidate:
        options = {"num_warps": warps} if warps else {}
        sites = [e for x in named.launches for e in _site(named, x, of_launch, block, options)]
        return ASSIST.candidate(
            kernel,
            of_original(kernel, named, [made, *sites]),
            explanation="A row that one block holds is read from memory once.",
            launch={block: f"next_power_of_2({of_launch})", **options},
        )

    has_warps = any("num_warps" in launch.options for launch in named.launches)
    return with_alternatives(("",) if has_warps else _WARPS, with_warps)


def _passes(kernel: Kernel) -> list[ast.For]:
    """The loops that walk over a kernel's row."""
    return passes(triton_syntax_of(kernel).entry, {p.name for p in kernel.parameters if p.constexpr})


def _unfit(function: ast.FunctionDef, loops: list[ast.For], block: str) -> str:
    """Why one round of each loop would not do the same; "" when it would."""
    shaping = [
        n
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and called(call) in _SHAPED
        for n in ast.walk(call)
    ]
    stepping = [n for loop in loops for n in ast.walk(loop.iter)]
    ids = {id(n) for n in (*shaping, *stepping)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == block and id(node) not in ids:
            return f"{block} says more than how far a pass moves on"
    return ""


def _site(
    kernel: Kernel, launch: Launch, length: str, block: str, options: Mapping[str, str]
) -> tuple[Edit, ...]:
    """The launch with a block that is as long as an expression of parameters says."""
    if launch.span == kernel.name_span:
        return ()
    values = dict(zip((p.name for p in kernel.parameters), launch.arguments, strict=False)) | dict(
        launch.options
    )
    needed = names_in(ast.parse(length))
    written = source_of(kernel).text(launch.span)
    if not all(values.get(n) for n in needed) or re.search(rf"\b{block}\s*=", written) is None:
        raise Refusal(f"the launch in line {launch.span.first_line} does not name {block}")
    check_imports_triton(kernel)
    return launch_edits(
        kernel, launch, {block: f"triton.next_power_of_2({resolved(length, values)})", **options}
    )


ASSIST = Assist(
    title="Hold the row in one block",
    skill="triton-row-in-block",
    pattern="triton_row_in_passes",
    make=_rewrite,
)
