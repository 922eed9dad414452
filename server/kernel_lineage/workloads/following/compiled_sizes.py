"""Sizes that are compiled into a kernel: macros and constants that its device code names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kernel_gate.shapes import MOST_WATCHED
from kernel_lineage.workloads.model import Draft

_MOST_STEP = 32
"""Sizes that are compiled in are tried as multiples of the largest power of two in them, up to this one."""


def is_large(draft: Draft) -> bool:
    """Whether no sizes of its dims make a draft small: those that device code has compiled in are as the code says, as
    are the numbers that callers write.
    """
    ones = {n: min(draft.told.get(n, (1,))) for n in draft.dims}
    return draft.elements(ones) > MOST_WATCHED


def with_compiled_sizes(draft: Draft, sized: Draft, names: Collection[str]) -> Draft:
    """The draft `sized`, whose dims with these names are given to each build; `draft` where `sized` tells no more."""
    own = {name: name for name in sized.dims if name in names}
    if not own or len(sized.missing) > len(draft.missing) or is_large(sized):
        return draft
    # A rewrite may count on what divides a number that is compiled in.
    steps = {name: min(size & -size, _MOST_STEP) for name, size in sized.dims.items() if name in own}
    promises = tuple(f"{name} % {step} == 0" for name, step in steps.items() if step > 1)
    note = f"{', '.join(own)}: compiled into the kernel; each size is a build of its own"
    return replace(
        sized, constexpr=own, promises=(*sized.promises, *promises), assumed=(*sized.assumed, note)
    )
