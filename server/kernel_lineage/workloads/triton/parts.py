"""Parts of tensors: which ones `split` and the like give, and what slices and indices ask of the axes that they cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kernel_lineage.workloads.triton.guards import promised
from kernel_lineage.workloads.triton.values import Size, Tensor, Unknown, argument, text_of, value_at

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

SPLITS = frozenset({"split", "chunk", "tensor_split"})
_MOST = 64
"""Parts that are told apart."""
_SIZES = ("split_size", "split_size_or_sections", "chunks", "indices_or_sections")


def split_sizes(
    reader: Reader, name: str, tensor: Tensor, args: Sequence[object], named: Mapping[str, object]
) -> tuple[list[object], object]:
    """The extents of the parts that one of `SPLITS` gives, as far as sizes tell them, and the axis.

    All parts are equal where sizes can be so: that is asked of them.
    """
    by, axis = argument(args, named, 0, *_SIZES), argument(args, named, 1, "dim", default=0)
    shape = tensor.shape or ()
    if isinstance(by, (tuple, list)) or type(axis) is not int or not -len(shape) <= axis < len(shape):
        are_sizes = isinstance(by, (tuple, list)) and name == "split"
        return list(by) if isinstance(by, (tuple, list)) and are_sizes else [Unknown("a split")], axis
    extent, number = shape[axis], value_at(by, reader.sizes)
    if not isinstance(by, (int, Size)) or not isinstance(number, int) or number < 1:
        return [Unknown("the size of a split")], axis
    counts = name != "split"
    parts = number if counts else max(1, int(value_at(extent, reader.sizes) or 0) // number)
    size: int | Size = extent // by if counts else by
    promised(reader, f"{text_of(size)} * {parts} == {text_of(extent)}")
    total, one = value_at(extent, reader.sizes), value_at(size, reader.sizes)
    if parts > _MOST or not isinstance(total, int) or not isinstance(one, int):
        return [Unknown("the parts of a split")], axis
    if one * parts == total:
        return [size] * parts, axis
    if not isinstance(extent, int) or not isinstance(by, int) or name == "tensor_split":
        return [Unknown("a part that is smaller than the others")], axis
    step = -(-extent // by) if counts else by
    return [min(step, extent - start) for start in range(0, extent, step)], axis


def within(reader: Reader, tensor: Tensor, places: Sequence[object]) -> list[object]:
    """An index with ends of slices that lie within their axes, as Python cuts them; a promise where sizes tell it."""
    shape, cut, axis = tensor.shape or (), list(places), 0
    used = sum(part is not None and part is not ... for part in places)
    if any(isinstance(part, Tensor) for part in places) or used > len(shape):
        return cut
    for at, part in enumerate(places):
        if part is ...:
            axis += len(shape) - used
        elif part is not None:
            cut[at] = _cut(reader, shape[axis], part)
            axis += 1
    return cut


def _cut(reader: Reader, extent: int | Size, part: object) -> object:
    if isinstance(part, slice):
        stop = _end(reader, extent, part.stop, extent)
        start = _end(reader, stop, part.start, 0, extent)
        return slice(start, stop, part.step)
    if isinstance(part, (int, Size)) and not isinstance(part, bool):
        place = extent + part if isinstance(part, int) and part < 0 else part
        return (
            place if _keeps(reader, 0, place) and _keeps(reader, place + 1, extent) else Unknown("an index")
        )
    return part


def _end(reader: Reader, most: object, end: object, default: object, extent: object = None) -> object:
    """An end of a slice, no larger than `most`; those below 0 are counted from the end of `extent`."""
    if end is None or not isinstance(most, (int, Size)):
        return default if end is None else end
    if not isinstance(end, (int, Size)) or isinstance(end, bool):
        return end
    whole = extent if isinstance(extent, (int, Size)) else most
    end = whole + end if isinstance(end, int) and end < 0 else end
    if not _keeps(reader, 0, end):
        return Unknown("the end of a slice")
    return end if _keeps(reader, end, most) else most if _keeps(reader, most, end) else Unknown("a slice")


def _keeps(reader: Reader, least: int | Size, most: int | Size) -> bool:
    """Whether one number is at most the other, which is kept where dims decide it."""
    low, high = (value_at(number, reader.sizes) for number in (least, most))
    if low is None or high is None or low > high:
        return False
    if isinstance(least, Size) or isinstance(most, Size):
        promised(reader, f"{text_of(least)} <= {text_of(most)}")
    return True
