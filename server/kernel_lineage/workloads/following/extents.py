"""The extents of the buffers that a launch is given."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_lineage.code.types import DTYPES
from kernel_lineage.workloads.following.gathered import Gathered
from kernel_lineage.workloads.following.types import bytes_of
from kernel_lineage.workloads.following.values import (
    Buffer,
    Number,
    Pointer,
    Value,
    combined,
    divided,
    made,
    plain,
    times,
)
from kernel_lineage.workloads.following.ways import names_in_order

_BYTES = {dtype: size for name, dtype in DTYPES.items() if (size := bytes_of(name)) is not None}


def shape_of(
    value: Value, buffer: Buffer | None, dtype: str | None, facts: Gathered
) -> tuple[str, ...] | None:
    """The extents of a buffer, from its tensor or from the bytes that are allocated."""
    sizes = facts.sizes
    offset = value.offset if isinstance(value, Pointer) else None
    if buffer is None:
        return None
    if offset is not None and not (offset.is_constant and offset.value == 0):
        return _rest(buffer, offset, value.dtype if isinstance(value, Pointer) else "", dtype, facts)
    extents = buffer.tensor.shape if buffer.tensor is not None else None
    if extents is not None:
        numbers = [n for n in extents if not (n.is_constant and n.value == 1)]
    elif buffer.size is not None:
        element = _BYTES.get(dtype or "", 0) or bytes_of(buffer.dtype) or 4
        count = divided(buffer.size, plain(element))
        if not count.factors:
            numbers = [count]
        else:
            rest = [plain(count.constant)] if count.constant != 1 else []
            numbers = [*(Number(1, (f,)) for f in count.factors), *rest]
    else:
        return None
    if any(n.is_constant and n.value == 0 for n in numbers):
        return None
    for number in numbers:
        for factor in number.factors:
            if "-" in factor:
                try:
                    extent = made(evaluate_int(factor, sizes.dims), factor)
                except ExpressionError:  # longer than a workload takes
                    return None
                sizes.require(combined(">", extent, plain(0)))
    if _is_for_largest(buffer, numbers, facts):
        return None
    return tuple(map(facts.expression, numbers)) or ("1",)


def asked_of(buffer: Buffer | None, facts: Gathered) -> tuple[str, ...]:
    """The extents that host code asks a tensor for, "" for each that it does not; none where its rank is not known."""
    tensor = buffer.tensor if buffer is not None else None
    places = range(tensor.rank or 0) if tensor is not None else ()
    return tuple(facts.expression(tensor.sizes[at]) if tensor and at in tensor.sizes else "" for at in places)


def _is_for_largest(buffer: Buffer, extents: Sequence[Number], facts: Gathered) -> bool:
    """Whether a buffer is allocated once, for the largest of the sizes that the caller goes through."""
    names = {name for number in extents for name in names_in_order(number.text)}
    return not facts.lists <= buffer.within and not names & set(facts.sizes.chosen)


def _rest(
    buffer: Buffer, offset: Number, kind: str, dtype: str | None, facts: Gathered
) -> tuple[str, ...] | None:
    """The extent from an element of a buffer, `offset` elements of type `kind` after its first, to its end."""
    element, step = _BYTES.get(dtype or ""), bytes_of(kind or buffer.dtype)
    if element is None or step is None or step % element or buffer.size is None:
        return None
    left = combined("-", divided(buffer.size, plain(element)), times(offset, plain(step // element)))
    if left.value <= 0 or _is_for_largest(buffer, [left], facts):
        return None
    facts.sizes.require(combined(">", left, plain(0)))
    return (facts.expression(left),)
