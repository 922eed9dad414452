"""Scan over a block with warp shuffles in place of doubling steps in shared memory.

Before:
    for (int d = 1; d < blockDim.x; d *= 2) {
        float below = t >= d ? s[t - d] : 0.0f;
        __syncthreads();
        s[t] += below;
        __syncthreads();
    }
After: each warp scans its 32 values in registers, every warp scans the totals of all of them, and each thread adds
what the warps before its own have. Two barriers are left, and each thread's element lies where it lay.

A round is read by what it does to a thread's element (`scan_rounds`), in place or between two buffers. Blocks that are
not made of whole warps, and scans that stop before they have reached all of a block, keep the steps.
"""

from __future__ import annotations

import re

from kernel_gate.expr.terms import Num, Var
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.shared_scan import DOUBLES
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, bare, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    laid_out,
    loop_at,
    newline_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.scans import Scan, scan_of
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.workloads.constants import block_threads


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    if "__shfl" in kernel.text:
        raise Refusal(f"{kernel.name} uses warp shuffles already")
    if re.search(r"threadIdx\.[yz]|blockDim\.[yz]", kernel.text):
        raise Refusal(f"{kernel.name} uses blocks of more than one dimension")
    loop = loop_at((x for x in syntax.entry.loops if x.step in DOUBLES), anchor.span)
    if (
        loop is None
        or loop.start is None
        or loop.body is None
        or text_of(bare(loop.start)) not in ("1", "1u")
    ):
        raise Refusal(f"{kernel.name} has no loop here whose stride doubles from 1")
    left = next((n for n in descendants(syntax.entry.node) if n.type == "return_statement"), None)
    if left is not None and left.start_byte < loop.node.start_byte:
        raise Refusal(f"`{text_of(left)}` in line {left.start_point.row + 1} may leave before the scan")
    scan = scan_of(syntax, loop)
    guards = _guards(kernel, loop, scan)
    data = data_of(kernel)
    lines = _lines(syntax, loop, scan)
    if guards:
        steps = data[loop.node.start_byte : loop.node.end_byte].decode()
        lines = [f"if ({' && '.join(guards)}) {{", *lines, "} else {", "\t" + steps, "}"]
    else:
        lines = ["{", *lines, "}"]
    layout = indent_at(data, loop.node.start_byte), indent_unit(kernel), newline_of(data)
    return ASSIST.candidate(
        kernel,
        [replace_node(loop.node, laid_out(lines, *layout))],
        explanation="The scan runs in registers: two barriers instead of one or two for each step."
        + (
            " Where a block is not made of whole warps, or not scanned to its end, the steps stay."
            if guards
            else ""
        ),
        guarded=bool(guards),
    )


def _guards(kernel: Kernel, loop: Loop, scan: Scan) -> list[str]:
    """What has to hold for the scan to reach all threads of a block of whole warps, and is not known to."""
    threads = [block_threads(launch) for launch in kernel.launches]
    sizes = [t for t in threads if t is not None]
    all_tell = len(sizes) == len(threads) > 0
    condition = bare(loop.condition)
    if (
        condition is None
        or operator_of(condition) != "<"
        or text_of(bare(field_of(condition, "left"))) != loop.counter
    ):
        raise Refusal(f"`{text_of(condition)}` does not compare the stride with the number of threads")
    bound = field_of(condition, "right")
    assert bound is not None
    guards = [] if all_tell and all(t % 32 == 0 for t in sizes) else ["blockDim.x % 32 == 0"]
    match scan.bound:
        case Var("blockDim.x"):
            pass
        case Num(steps) if all_tell and steps >= max(sizes):
            pass
        case Num(steps) if all_tell and steps < min(sizes):
            raise Refusal(f"the stride ends at {steps}, before the last thread of a block")
        case _:
            guards.append(f"({text_of(bound)}) >= (int)blockDim.x")
    return guards


def _lines(syntax: CudaSyntax, loop: Loop, scan: Scan) -> list[str]:
    """The scan in registers; a tab for each step of indentation."""
    taken = identifiers_in(syntax.entry.node)
    value, total, totals, below, step = (
        fresh_name(n, taken) for n in ("scanned", "total", "warp_totals", "below", "step")
    )
    kind, lane, warp = scan.type, "threadIdx.x % 32", "threadIdx.x / 32"

    def up(name: str) -> list[str]:
        return [
            "\t#pragma unroll",
            f"\tfor (int {step} = 1; {step} < 32; {step} *= 2) {{",
            f"\t\tconst {kind} {below} = __shfl_up_sync(0xffffffffu, {name}, {step});",
            f"\t\tif ({lane} >= {step}) {{",
            f"\t\t\t{name} = {scan.combined(below, name)};",
            "\t\t}",
            "\t}",
        ]

    begin = text_of(loop.node.child_by_field_name("initializer")).rstrip(";")
    head = f"\tfor ({begin}; {text_of(bare(loop.condition))}; {text_of(loop.update)}) {{"
    return [
        *(["\t__syncthreads();"] if scan.waits_first else []),
        f"\t__shared__ {kind} {totals}[32];",
        f"\t{kind} {value} = {scan.element};",
        *up(value),
        f"\tif ({lane} == 31) {{",
        f"\t\t{totals}[{warp}] = {value};",
        "\t}",
        "\t__syncthreads();",
        f"\t{kind} {total} = {totals}[{lane} < blockDim.x / 32 ? {lane} : 0];",
        *up(total),
        f"\t{total} = __shfl_sync(0xffffffffu, {total}, ({warp} + 31) % 32);",
        "\tif (threadIdx.x >= 32) {",
        f"\t\t{value} = {scan.combined(total, value)};",
        "\t}",
        *([head, *(f"\t\t{line}" for line in scan.moves), "\t}"] if scan.moves else []),
        f"\t{scan.element} = {value};",
        "\t__syncthreads();",
    ]


ASSIST = Assist(
    title="Scan with warp shuffles",
    skill="warp-shuffle-scan",
    pattern="shared_scan",
    make=_rewrite,
)
