"""Neighbouring threads access neighbouring elements."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import is_contiguous, is_strided
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.linear_forms import Linear, lane_stride
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax
from kernel_lineage.kernels.units import of_kernel


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        accesses = [a for unit in syntax.units for a in indexing(unit).accesses if a.space == "global"]
        moving = [a for a in accesses if lane_stride(a.index) != 0]
        # One strided array costs more than all the others together: the kernel is coalesced when none is.
        if moving and not any(is_strided(a) for a in moving):
            first: dict[str, None] = {}
            for access in moving:
                if is_contiguous(access) and access.root not in first:
                    first[access.root] = None
                    yield seen(access.node, f"neighbouring threads access neighbours of {access.root}")
        elif accesses and not moving:
            yield seen(accesses[0].node, "no access is seen to move with the thread", certain=False)
    python = triton_syntax(kernel)
    if python is not None:
        yield from _detect_triton(python.entry)


def is_contiguous_block(form: Linear) -> bool:
    """Whether a Triton address moves by single elements along one of its axes."""
    return any(form.get(axis) == 1 for axis in ("arange", "arange0", "arange1"))


def is_strided_block(form: Linear) -> bool:
    """Whether a Triton address moves by more than single elements: along its one axis, or by numbers along all.

    Of two symbolic strides (`stride_m`, `stride_k`) one is usually 1 at run time.
    """
    axes = [form[axis] for axis in ("arange", "arange0", "arange1") if axis in form]
    if len(axes) == 1:
        return axes[0] not in (1, "?")
    return bool(axes) and all(isinstance(c, int) and c != 1 for c in axes)


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    calls = [(c, unit.form(c.node.args[0])) for c in (*unit.loads(), *unit.stores())]
    # A column of row statistics beside whole tiles is no reason to call the tiles strided.
    tiles = any(is_contiguous_block(form) and "arange0" in form for _, form in calls)
    if not tiles and any(is_strided_block(form) for _, form in calls):
        return
    for call, form in calls:
        if is_contiguous_block(form):
            yield seen_in(unit, call.node, f"a block of neighbours of {pointer_of(form) or 'memory'}")


MECHANISM = Mechanism(
    title="Coalesced access",
    direction=Direction.MEMORY_ACCESS,
    summary="Orders indices so that a warp's 32 accesses fall into as few memory sectors as possible.",
    looks_for="Global indices that move by one element (or one vector) from thread to thread, with none that strides.",
    detect=of_kernel(_detect, *Language),
    conditions=(
        validity("contiguous(x)", "layout", "The order in memory must be the order of threads."),
        profit('profile.bound == "bandwidth"', "pipeline", "It saves memory transactions."),
    ),
)
