"""PyTorch's memory formats: tensors that lie row by row, and those whose channels lie last."""

from __future__ import annotations

from collections.abc import Iterable

from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.values import (
    MemoryFormat,
    NotFollowed,
    Number,
    Opaque,
    Record,
    Tensor,
    Value,
    combined,
    plain,
    product,
    strides_of_rows,
)

CONTIGUOUS, PRESERVE = MemoryFormat("Contiguous"), MemoryFormat("Preserve")
CHANNELS_LAST = {4: MemoryFormat("ChannelsLast"), 5: MemoryFormat("ChannelsLast3d")}
"""Extents of a tensor → the format in which its channels lie last."""
FORMATS = {one.name: one for one in (CONTIGUOUS, PRESERVE, *CHANNELS_LAST.values())}
FORMAT = "format"
"""The field of options that has a format."""


def asked_format(args: Iterable[Value]) -> MemoryFormat | None:
    """The format among some arguments, or in options among them; None where they have none. Raises `NotFollowed` for
    options with one that nothing tells.
    """
    for value in args:
        own = value.fields.get(FORMAT) if isinstance(value, Record) else value
        if isinstance(own, MemoryFormat):
            return own
        if isinstance(value, Record) and isinstance(own, Opaque):
            raise NotFollowed(own.why)
    return None


def suggested_format(tensor: Tensor, sizes: Sizes) -> MemoryFormat:
    """What `suggest_memory_format()` gives, by PyTorch's rule: channels last where strides grow from the channels to
    the columns, the rows and the images.
    """
    rank = tensor.rank or 0
    if tensor.strides is None or rank not in CHANNELS_LAST:
        return CONTIGUOUS
    least: int | float = 0
    for place in memory_order(rank)[::-1]:
        stride, extent = tensor.strides[place].value, sizes.extent(tensor, place).value
        if stride < least or (place == 0 and least == tensor.strides[1].value):
            return CONTIGUOUS
        least = stride * max(extent, 1)
    return CHANNELS_LAST[rank]


def lies_in(tensor: Tensor, asked: MemoryFormat | None, sizes: Sizes) -> Number:
    """Whether a tensor is contiguous in a format: one whose channels lie last lies row by row too where it has one
    channel, or one pixel, and the other way round.
    """
    if asked in (None, CONTIGUOUS):
        lies, other = tensor.strides is None, tensor.channels_last
    else:
        tensor.rank = tensor.rank or next(rank for rank, one in CHANNELS_LAST.items() if one == asked)
        if asked != CHANNELS_LAST.get(tensor.rank):
            return plain(False)
        lies, other = tensor.channels_last, tensor.strides is None
    if lies or not other:
        return plain(lies)
    channels, *pixels = (sizes.extent(tensor, place) for place in range(1, tensor.rank or 0))
    ones = [combined("==", number, plain(1)) for number in (channels, product(tuple(pixels)))]
    return combined("||", *ones)


def in_same_format(made: Tensor, args: list[Value], like: Tensor | None, sizes: Sizes) -> Tensor:
    """A tensor of its own memory in the format that its maker is asked for, else in that of the one that it is `like`.

    Raises `NotFollowed` where nothing tells it.
    """
    asked = asked_format(args)
    if asked in (None, PRESERVE):
        if like is None or like.strides is None:
            return made
        if not like.channels_last and like.strides[-1].text != "1":
            raise NotFollowed(f"a tensor like {like.as_view}")
        asked = CHANNELS_LAST[like.rank or 0] if like.channels_last else CONTIGUOUS
    if asked == CONTIGUOUS:
        return made
    if made.rank is None or asked != CHANNELS_LAST.get(made.rank):
        raise NotFollowed(f"`{asked.name if asked else ''}` of {made.rank} extents")
    order = memory_order(made.rank)
    sizes_there = dict(enumerate(sizes.extent(made, place) for place in order))
    memory = Tensor(made.buffer, sizes_there, made.rank, made.dtype)
    return permuted(memory, order_of_extents(made.rank), sizes)


def permuted(tensor: Tensor, order: tuple[int, ...], sizes: Sizes) -> Tensor:
    """The same memory with its extents in another order."""
    rank = len(order)
    moved = dict(enumerate(sizes.extent(tensor, old) for old in order))
    if order == tuple(range(rank)):
        return tensor
    if tensor.channels_last and order == memory_order(rank):
        return Tensor(tensor.buffer, moved, rank, tensor.dtype)
    old = tensor.strides or strides_of_rows([sizes.extent(tensor, at) for at in range(rank)])
    is_last = tensor.strides is None and rank in CHANNELS_LAST and order == order_of_extents(rank)
    strides = tuple(old[at] for at in order)
    return Tensor(tensor.buffer, moved, rank, tensor.dtype, strides, tensor.whole or tensor, is_last)


def with_channels_last(whole: Tensor, sizes: Sizes) -> Tensor:
    """The tensor whose memory is images of pixels of channels; PyTorch counts channels before pixels."""
    return permuted(whole, order_of_extents(whole.rank or 0), sizes)


def memory_order(rank: int) -> tuple[int, ...]:
    """The extents in the order in which they lie in memory, where channels lie last."""
    return (0, *range(2, rank), 1)


def order_of_extents(rank: int) -> tuple[int, ...]:
    """The axes of such memory in the order of the extents."""
    return (0, rank - 1, *range(1, rank - 1))
