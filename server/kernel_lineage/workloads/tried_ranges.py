"""What numbers without a range are taken to hold while a kernel is run, which shows whether it stays in its buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from kernel_lineage.workloads.model import UNRANGED, Draft, DraftArgument

_RANGE = 5
"""Values of an index of which nothing tells the range."""
_MOST_NUMBERS = 3


def below_own_dim(name: str) -> str:
    """How a draft says that a buffer's numbers have a dim of their own for a range."""
    return f"{name} is taken to hold numbers below {name}_values"


def with_ranges(draft: Draft) -> Draft:
    """The draft in which an index without a range gets a dim for it."""
    wanted = [m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)]
    if not wanted:
        return draft
    dims = {**draft.dims, **{f"{name}_values": _RANGE for name in wanted}}
    arguments = tuple(
        replace(a, values=f"integers(0, {a.name}_values)") if a.name in wanted else a for a in draft.arguments
    )
    notes = tuple(f"{below_own_dim(name)}: nothing tells their range" for name in wanted)
    missing = tuple(m for m in draft.missing if not m.startswith(UNRANGED))
    return replace(draft, dims=dims, arguments=arguments, assumed=(*draft.assumed, *notes), missing=missing)


def without_ranges(draft: Draft) -> Draft | None:
    """The draft in which numbers without a range are any of their type, as those are that index nothing, like masks."""
    wanted = [m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)]
    if not wanted:
        return None
    arguments = tuple(replace(a, values="integers") if a.name in wanted else a for a in draft.arguments)
    return _noted(draft, wanted, arguments, "any numbers: the kernel stays in its buffers with them")


def up_to_numbers(draft: Draft) -> Iterator[Draft]:
    """The drafts in which numbers without a range go up to a dim that the kernel gets, as lengths of rows do."""
    wanted = [m.removeprefix(UNRANGED) for m in draft.missing if m.startswith(UNRANGED)]
    passed = dict.fromkeys(a.value for a in draft.arguments if a.kind == "scalar" and a.value in draft.dims)
    for dim in islice(passed if wanted else (), _MOST_NUMBERS):
        values = f"integers(0, {dim} + 1)"
        arguments = tuple(replace(a, values=values) if a.name in wanted else a for a in draft.arguments)
        why = f"numbers up to {dim}, which the kernel gets: nothing tells their range"
        yield _noted(draft, wanted, arguments, why)


def _noted(draft: Draft, ranged: list[str], arguments: tuple[DraftArgument, ...], why: str) -> Draft:
    notes = tuple(f"{name} is taken to hold {why}" for name in ranged)
    missing = tuple(m for m in draft.missing if not m.startswith(UNRANGED))
    return replace(draft, arguments=arguments, assumed=(*draft.assumed, *notes), missing=missing)
