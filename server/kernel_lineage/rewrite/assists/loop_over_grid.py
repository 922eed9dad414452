"""Let a bounded number of blocks walk over all elements in steps of the whole grid, instead of a thread for each.

Before:
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = factor * x[i]; }
After: the same work within `for (long long element = …; element < n; element += stride)`, launched with
at most 1024 blocks where the file tells the grid; where it does not, the launch stays, and the kernel is right for any.

The loop counts in 64 bits, because the step past the last element may not fit an `int`. What is declared before the
loop must not change in it, and threads of a block must not wait for each other: they leave in different rounds.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.blocks_at_launch import blocks_changed
from kernel_lineage.rewrite.assists.element_work import ElementWork, check_repeatable, work_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    syntax_of,
)
from kernel_lineage.rewrite.assists.model import Assist
from kernel_lineage.rewrite.candidate import Candidate, Edit

MOST_BLOCKS = 1024
"""About eight for each multiprocessor of a large device."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    work = work_of(kernel, syntax)
    check_repeatable(kernel, syntax, work)
    bounded = [_bounded(kernel, launch) for launch in kernel.launches]
    edits = [*grid_loop(kernel, syntax, work), *(edit for edit in bounded if edit is not None)]
    sentence = (
        f"At most {MOST_BLOCKS} blocks take element after element"
        if bounded and None not in bounded
        else "The kernel is right for any grid; a launch that does not tell its blocks as one number was left alone"
    )
    return ASSIST.candidate(kernel, edits, explanation=f"{sentence}. Each element is computed as before.")


def grid_loop(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> list[Edit]:
    """Edits that take the index's declaration out, and make the work a loop over the elements of the whole grid."""
    data = data_of(kernel)
    margin, newline = indent_at(data, work.first), newline_of(data)
    unit = _step(data, work, margin) or indent_unit(kernel)
    name, counted = work.index.name, work.counted
    taken = identifiers_in(syntax.entry.node)
    counter = name if work.keeps_index else fresh_name("element", taken)
    step = fresh_name("stride", taken)
    start, bound = text_of(work.start), text_of(work.bound)
    lines = [
        f"const {counted} {step} = ({counted})gridDim.x * blockDim.x;",
        f"{margin}for ({counted} {counter} = {start}; {counter} < {bound}; {counter} += {step}) {{",
    ]
    if not work.keeps_index:
        lines.append(f"{margin}{unit}{work.type} {name} = ({work.type.removeprefix('const ')}){counter};")
    if work.before:
        lines += _deeper(_continued(data, work.first, work.before[-1].end_byte, ()), margin, unit)
    if work.leaves:
        rest = _continued(data, work.guard.end_byte, work.end, work.returns).lstrip()
        lines += _deeper(rest, margin, unit)
    else:
        lines += _taken_out(data, work, margin, unit)
    lines.append(f"{margin}}}")
    whole = replace_between(kernel, work.first, work.end, newline.join(lines))
    return [dropped(kernel, work.index.node), whole]


def _step(data: bytes, work: ElementWork, margin: str) -> str:
    """How much deeper than its guard the work stands; "" when the two do not tell."""
    inner = indent_at(data, work.inner[0].start_byte)
    deeper = not work.leaves and not work.before and inner.startswith(margin) and len(inner) > len(margin)
    return inner[len(margin) :] if deeper else ""


def _taken_out(data: bytes, work: ElementWork, margin: str, unit: str) -> list[str]:
    """The lines that stood in the guard's braces, with the comments there."""
    then = work.guard.child_by_field_name("consequence")
    assert then is not None
    if then.type != "compound_statement":
        return [margin + unit + _continued(data, then.start_byte, then.end_byte, work.returns)]
    inside = _continued(data, then.start_byte + 1, then.end_byte - 1, work.returns)
    first, *rest = inside.splitlines()
    while rest and not rest[-1].strip():
        rest.pop()
    return ([margin + unit + first.strip()] if first.strip() else []) + rest


def _continued(data: bytes, start: int, end: int, returns: list[Node] | tuple[()]) -> str:
    """A part of the file in which a return goes on with the next element."""
    for node in sorted(returns, key=lambda n: n.start_byte, reverse=True):
        if start <= node.start_byte and node.end_byte <= end:
            data = data[: node.start_byte] + b"continue;" + data[node.end_byte :]
            end += len(b"continue;") - (node.end_byte - node.start_byte)
    return data[start:end].decode("utf-8", "replace")


def _deeper(text: str, margin: str, unit: str) -> list[str]:
    """Lines moved in by one step; directives of the preprocessor and empty lines stay."""
    first, *rest = text.splitlines()
    moved = [unit + line if line.strip() and not line.startswith("#") else line for line in rest]
    return [margin + unit + first, *moved]


def dropped(kernel: Kernel, declaration: Node) -> Edit:
    """The declaration taken out, with its line when nothing else stands there."""
    data, start, end = data_of(kernel), declaration.start_byte, declaration.end_byte
    begin = data.rfind(b"\n", 0, start) + 1
    after = data.find(b"\n", end)
    if not data[begin:start].strip() and after >= 0 and not data[end:after].strip():
        start, end = begin, after + 1
    return replace_between(kernel, start, end, "")


def _bounded(kernel: Kernel, launch: Launch) -> Edit | None:
    """An edit that bounds the blocks of a launch; None where it does not tell them, or has several dimensions."""
    if len([extent for extent in launch.grid if extent.strip() != "1"]) != 1 or launch.grid[0].strip() == "1":
        return None
    return blocks_changed(
        kernel, launch, lambda blocks: f"{blocks} < {MOST_BLOCKS} ? {blocks} : {MOST_BLOCKS}"
    )


ASSIST = Assist(
    title="Walk over elements in a grid-stride loop",
    skill="grid-stride-loop",
    pattern="launch_configuration",
    make=_rewrite,
)
