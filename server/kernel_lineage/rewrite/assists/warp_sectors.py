"""Whether a warp's accesses to global memory come nearer when its threads take other elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import Access
from kernel_lineage.kernels.linear_forms import Coefficient
from kernel_lineage.rewrite.assists.model import Refusal

_BROADCAST, _NEIGHBOURS, _APART = 1, 4, 32
"""Sectors of 32 bytes that a warp's access of 4-byte elements touches."""


@dataclass(frozen=True, slots=True)
class Strides:
    """How many elements neighbouring threads are apart in an access, before a rewrite and after it; `?`: not known."""

    access: Access
    depth: int
    """Loops around the access."""
    before: Coefficient
    after: Coefficient


def nearer(strides: Iterable[Strides], what: str) -> str:
    """The pointers whose accesses come nearer, where a warp touches fewer sectors in all, the innermost loop first.

    What is not known before counts as if it could not be better, and what is not known after as if it could not be
    worse. `what`: the threads that would have to lie apart, and those that would have to lie side by side, for a
    refusal.
    """
    depths: dict[int, list[int]] = {}
    roots: dict[str, None] = {}
    untold: Access | None = None
    for one in strides:
        if not (is_told(one.before) and is_told(one.after)):
            untold = untold or one.access
            if not (is_told(one.before) or is_told(one.after)):
                continue
        now = _sectors(one.access, one.before) if is_told(one.before) else _BROADCAST
        then = _sectors(one.access, one.after) if is_told(one.after) else _APART
        costs = depths.setdefault(one.depth, [0, 0])
        costs[0] += now
        costs[1] += then
        if now == _APART and then < now:
            roots[one.access.root] = None
    if not roots and untold is not None:
        raise Refusal(_untold(untold))
    if not roots:
        raise Refusal(f"no access moves by whole rows along {what}")
    for depth in sorted(depths, reverse=True):
        now, then = depths[depth]
        if then != now:
            if then < now:
                return ", ".join(roots)
            break
    if untold is not None:
        raise Refusal(_untold(untold))
    raise Refusal(
        f"what {', '.join(roots)} would gain, other accesses would lose; "
        "a tile in shared memory serves both orders"
    )


def _untold(access: Access) -> str:
    return f"it cannot be told which elements neighbouring threads touch in `{text_of(access.node)}`"


def is_told(stride: Coefficient) -> bool:
    """Whether a stride is known."""
    return not (isinstance(stride, str) and stride.startswith(("?", "/")))


def _sectors(access: Access, stride: Coefficient) -> int:
    """Sectors of a warp's access when neighbouring threads are a stride apart."""
    if stride == 0:
        return _BROADCAST
    return _NEIGHBOURS if stride == 1 or (access.cast and stride in (2, 4, 8)) else _APART
