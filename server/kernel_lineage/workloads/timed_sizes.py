"""Sizes that are worth timing, where no code tells any: as many blocks as keep a device busy.

Launches of a few microseconds tell nothing of what a kernel costs. What a grid is made of grows, and the one dim that
the kernel walks along where it has no array of a fixed size: a row that fits into a block, or an array, still does. A
row that a Triton launch rounds its block up from (`next_power_of_2(n_cols)`) grows with the block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.expressions import names as names_in
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.chosen_sizes import stays_small, usual_number
from kernel_lineage.workloads.divisions import divisors
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.promises import broken

_MOST_ELEMENTS = 1 << 24
"""Elements of the largest buffer: more than a cache holds."""
_MOST_WORK = 1 << 34
"""Elements or threads, times the rounds of a loop over the longest dim: milliseconds of a simple kernel."""
_MOST_BLOCKS = (1 << 31, 1 << 16, 1 << 16)
"""Blocks along x, y and z: one more than a launch takes."""
_MOST_IN_TILE = 1 << 12
"""Elements of a block of Triton's that is made of a row: a program of four warps keeps them in registers."""
_ROUNDED = "next_power_of_2("
_LOOP = re.compile(r"\b(?:for|while)\b")
_ARRAY = re.compile(r"\w[\s*]+\w+\s*(?:\[[^\]]*\]\s*)+[;={,]")
"""A declaration of an array, or what looks like one."""


def with_timed_sizes(draft: Draft, kernel: Kernel) -> Draft:
    """The draft with larger sizes for the dims that were chosen; those that are checked stay."""
    text = kernel.source.data.decode("utf-8", "replace") if kernel.source is not None else ""
    has_loops = _LOOP.search(text) is not None
    outer, inner, rows = _growing(draft)
    # What a Triton kernel walks along may be a block that is as long as a row.
    walks = has_loops and len(inner) == 1 and kernel.language is Language.CUDA and not _ARRAY.search(text)
    growing = [*outer, *inner, *rows] if walks else [*outer, *rows]
    if draft.missing or not growing:
        return draft
    try:
        workload = draft.workload()
    except WorkloadError:
        return draft
    sizes, kept = dict(draft.dims), {*broken(draft.dims, draft.promises)}
    while growing:
        name = min(growing, key=sizes.__getitem__)
        larger = {**sizes, name: 2 * sizes[name]}
        fits = name not in rows or _in_tile(draft, larger) <= _MOST_IN_TILE
        if (
            fits
            and _is_run_in_time(workload, larger, has_loops)
            and {*broken(larger, draft.promises)} <= kept
        ):
            sizes = larger
        else:
            growing.remove(name)
    return replace(draft, dims=sizes)


def _growing(draft: Draft) -> tuple[list[str], list[str], list[str]]:
    """The dims that nothing tells and that are an extent of a buffer: of the grid, of nothing in a launch, and those
    that a block is rounded up from.
    """
    try:
        in_grid = {n for text in draft.grid for n in names_in(text)}
        rounded = {n for text in draft.constexpr.values() if _ROUNDED in text for n in names_in(text)}
        exact = [text for text in draft.constexpr.values() if _ROUNDED not in text]
        in_block = {n for text in (*draft.block, draft.shared_bytes, *exact) for n in names_in(text)}
    except ExpressionError:
        return [], [], []
    extents = {extent for a in draft.arguments for extent in a.shape or ()} - in_block - divisors(draft)
    free = [
        n
        for n in draft.dims
        if n in draft.untold & extents and not stays_small(n) and usual_number(n) is None
    ]
    rows = [n for n in free if n in rounded]
    others = [n for n in free if n not in rounded]
    return [n for n in others if n in in_grid], [n for n in others if n not in in_grid], rows


def _in_tile(draft: Draft, sizes: Mapping[str, int]) -> int:
    """The product of a launch's constexpr numbers, which bounds the elements of any of its blocks."""
    try:
        return math.prod(max(1, int(evaluate(text, sizes))) for text in draft.constexpr.values())
    except (ExpressionError, ArithmeticError, ValueError):
        return _MOST_IN_TILE + 1


def _is_run_in_time(workload: Workload, sizes: Mapping[str, int], has_loops: bool) -> bool:
    try:
        largest = max(math.prod(workload.extents(a, sizes)) for a in workload.args if a.is_pointer)
        grid = [int(evaluate(text, sizes)) for text in workload.launch.grid]
        block = [int(evaluate(text, sizes)) for text in workload.launch.block]
    except (ExpressionError, ArithmeticError, ValueError):
        return False
    rounds = max(sizes.values()) if has_loops else 1
    work = max(largest, math.prod(grid) * math.prod(block)) * rounds
    fits = all(blocks < most for blocks, most in zip(grid, _MOST_BLOCKS, strict=False))
    return largest <= _MOST_ELEMENTS and work <= _MOST_WORK and fits
