"""Tensor descriptors that the host makes: the buffer that each describes, and its block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_gate.dtypes import DTYPES
from kernel_lineage.workloads.model import DraftArgument
from kernel_lineage.workloads.triton.arguments import as_tensor, is_expression
from kernel_lineage.workloads.triton.objects import TENSOR_DESCRIPTOR, Instance
from kernel_lineage.workloads.triton.values import Size, Stride, Tensor, product, text_of, value_at
from kernel_lineage.workloads.triton.ways import Reading

_BYTES = 16
"""What each stride but the last is a multiple of: the host refuses others."""
Blocks = dict[str, tuple[str, ...]]
"""Parameter → the block of its descriptor, as expressions over what is known when the kernel is compiled."""


def taken_apart(arguments: Mapping[str, object], reading: Reading) -> tuple[dict[str, object], Blocks]:
    """The arguments of a launch with tensors for descriptors; one that a workload cannot give stays as it is."""
    apart, blocks = dict(arguments), Blocks()
    for name, value in arguments.items():
        if isinstance(value, Instance) and value.of == TENSOR_DESCRIPTOR:
            tensor, block = _described(value, reading), value.attributes.get("block_shape")
            extents = list(block) if isinstance(block, (list, tuple)) else []
            if tensor is not None and extents and all(map(is_expression, extents)):
                apart[name] = tensor
                blocks[name] = tuple(map(text_of, extents))
    return apart, blocks


def aligned(argument: DraftArgument) -> str:
    """What the host asks of the shape of a descriptor's buffer, as a promise; "" for nothing."""
    if not argument.shape or len(argument.shape) < 2 or argument.dtype is None:
        return ""
    step = _BYTES // DTYPES[argument.dtype].itemsize
    last = argument.shape[-1]
    last = last if last.isidentifier() else f"({last})"
    return f"{last} % {step} == 0" if step > 1 and not last.isdigit() else ""


def _described(descriptor: Instance, reading: Reading) -> Tensor | None:
    """The tensor as the descriptor has it; None where it is not row-major or not known."""
    tensor = as_tensor(descriptor.attributes.get("base"), reading)
    shape, strides = (descriptor.attributes.get(part) for part in ("shape", "strides"))
    if tensor is None or tensor.strides is not None:
        return None
    if isinstance(shape, (list, tuple)):
        extents = tuple(reading.reader.example_of(e) for e in shape if isinstance(e, (int, Size)))
        if len(extents) < len(shape):
            return None
        if tensor.shape != extents:
            tensor = replace(tensor, shape=extents)
    if isinstance(strides, (list, tuple)) and not _are_row_major(strides, tensor, reading):
        return None
    return tensor


def _are_row_major(strides: Sequence[object], tensor: Tensor, reading: Reading) -> bool:
    if all(isinstance(s, Stride) and s.tensor == tensor.name for s in strides):
        return [s.axis % len(strides) for s in strides if isinstance(s, Stride)] == [*range(len(strides))]
    shape, sizes = tensor.shape, reading.reader.sizes
    if shape is None or len(shape) != len(strides):
        return False
    want = [value_at(product(shape[axis + 1 :]), sizes) for axis in range(len(shape))]
    return None not in want and [value_at(s, sizes) for s in strides] == want
