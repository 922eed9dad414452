"""Tiles in shared memory as wgmma's 64-bit descriptors name them.

PTX ISA "Matrix Descriptor Format" and 9.7.15.5.1 "Register Fragments and Shared Memory Matrix
Layouts"; the canonical layouts in terms of units of 16 bytes are those that CUTLASS states for its descriptors
(cute/arch/mma_sm90_desc.hpp). Memory is cut into such units; a swizzle only moves units, by XOR of address bits 4 … 6
with bits 7 … 9.
Compiled Triton kernels confirm every swizzled layout, and a kernel of the tests the one along k without swizzle; the
one across k without swizzle has not been compared with a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index

UNIT = 16
"""Bytes that every layout keeps together."""
_ROWS = 8
_ADDRESS = 0x3FFF
_SPANS = {0: 0, 1: 128, 2: 64, 3: 32}
"""Swizzle field → bytes of a row of the swizzled pattern; 0: no swizzle."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One operand of each warpgroup; the fields that are arrays have one value for each."""

    start: Index
    """Byte in shared memory."""
    leading: Index
    stride: Index
    span: int
    """32, 64 or 128 bytes of swizzle, or 0."""
    base: Index
    """Matrix base offset."""


def decode(words: Array) -> Descriptor | None:
    """The fields of descriptors; None when warpgroups use different swizzles at one instruction."""
    bits = words.astype(np.uint64)
    swizzle = bits >> np.uint64(62)
    if (swizzle != swizzle[0]).any():
        return None

    def field(shift: int, mask: int) -> Index:
        return (bits >> np.uint64(shift) & np.uint64(mask)).astype(np.int64)

    return Descriptor(
        field(0, _ADDRESS) * UNIT,
        field(16, _ADDRESS) * UNIT,
        field(32, _ADDRESS) * UNIT,
        _SPANS[int(swizzle[0])],
        field(49, 7),
    )


def swizzled(address: Index, span: int) -> Index:
    """Where a unit at an address lies under a swizzle of `span` bytes (0: where it was)."""
    if not span:
        return address
    return address ^ ((address >> 7 & span // UNIT - 1) << 4)


def units(layout: Descriptor, extent: int, k: int, itemsize: int, along_k: bool) -> Index:
    """Bytes of the units of an operand: (warpgroups, extent, k units) when k is contiguous (`along_k`), else
    (warpgroups, extent units, k). `extent`: rows of A or columns of B.
    """
    per = UNIT // itemsize
    width = layout.span // UNIT
    leading, stride = layout.leading[:, None, None], layout.stride[:, None, None]
    if along_k:
        row, unit = np.ogrid[:extent, : k // per]
        if width:
            offset = row % _ROWS * layout.span + row // _ROWS * stride + unit * UNIT
        else:
            offset = row % _ROWS * UNIT + row // _ROWS * stride + unit * leading
    else:
        unit, row = np.ogrid[: extent // per, :k]
        if width:
            offset = (
                unit % width * UNIT
                + unit // width * leading
                + row % _ROWS * layout.span
                + row // _ROWS * stride
            )
        else:
            offset = unit * stride + row % _ROWS * UNIT + row // _ROWS * leading
    return swizzled(layout.start[:, None, None] + offset, layout.span)


def elements(data: Array, along_k: bool, cell: np.dtype[np.generic]) -> Array:
    """Units' bytes (warpgroups, …, …, 16) → (warpgroups, extent, k) cells."""
    cells = np.ascontiguousarray(data).view(cell)
    if along_k:
        return cells.reshape(*cells.shape[:2], -1)
    turned = cells.transpose(0, 1, 3, 2)
    return turned.reshape(len(turned), -1, turned.shape[3])
