"""Packed accessors of PyTorch, which kernels take by value: the memory of a tensor, its extents and its strides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.tensors import method_of_tensor
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.following.values import NotFollowed, Pointer, Record, Tensor, Value, plain
from kernel_lineage.workloads.model import Structure

_METHOD = re.compile(r"(?:generic_)?packed_accessor(32|64)?")
_ACCESSOR = "packed accessor of "
_MEMORY = "data"
_INDICES = {"32": "int32_t", "64": "int64_t"}
_FIRST = 8
"""Bytes of the pointer, which is before the extents."""


def is_accessor_method(name: str) -> bool:
    """Whether a method of a tensor makes a packed accessor."""
    return _METHOD.fullmatch(name) is not None


def packed_accessor(tensor: Tensor, name: str, template: Sequence[str], element: str, sizes: Sizes) -> Record:
    """What `x.packed_accessor32<T, N>()` gives; `element` is what its `T` stands for. Raises `NotFollowed`."""
    method = _METHOD.fullmatch(name)
    index = _INDICES.get((method[1] if method is not None else "") or "", "int64_t")
    index = template[3].strip() if len(template) > 3 else index
    if not template[1:2] or not template[1].strip().isdigit() or dtype_of(index) is None:
        raise NotFollowed(f"`{name}<{', '.join(template)}>`")
    memory = method_of_tensor(tensor, "data_ptr", [], element, sizes)
    axes = range(int(template[1]))
    if tensor.rank is None:
        tensor.rank = len(axes)
        sizes.ranks[tensor.buffer.name] = len(axes)
    extents = {f"size_{i}": sizes.extent(tensor, i) for i in reversed(axes)}
    strides = {f"stride_{i}": method_of_tensor(tensor, "stride", [plain(i)], "", sizes) for i in axes}
    ordered = {name: extents[name] for name in reversed(extents)}
    return Record(f"{_ACCESSOR}{index}", {_MEMORY: memory, **ordered, **strides})


def is_accessor(value: Value) -> bool:
    """Whether a value is a packed accessor."""
    return isinstance(value, Record) and value.type.startswith(_ACCESSOR)


def parts_of_accessor(accessor: Record) -> Iterator[tuple[str, str, Value, int]]:
    """Name ("" for the memory), type, value and byte of each of its parts."""
    index = accessor.type.removeprefix(_ACCESSOR)
    width = bytes_of(index) or 0
    for number, (name, value) in enumerate(accessor.fields.items()):
        if name == _MEMORY:
            yield "", value.dtype if isinstance(value, Pointer) else "", value, 0
        else:
            yield name, index, value, _FIRST + (number - 1) * width


def structure_of_accessor(accessor: Record) -> Structure:
    """How a packed accessor lies among a kernel's parameters."""
    width = bytes_of(accessor.type.removeprefix(_ACCESSOR)) or 0
    nbytes = _FIRST + (len(accessor.fields) - 1) * width
    return Structure(-(-nbytes // _FIRST) * _FIRST, _FIRST)
