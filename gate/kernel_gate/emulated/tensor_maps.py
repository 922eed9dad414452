"""Tensor maps: what TMA copies know of a tensor in global memory (PTX ISA).

A map is 128 opaque bytes. A GPU's layout is not public; this is the emulated device's own, so that maps are made by
`tensormap.replace`, as Triton does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MAP_BYTES = 128
RANK_MOST = 5
LAYOUT = np.dtype(
    {
        "names": [
            "global_address", "rank", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode",
            "swizzle_atomicity", "global_dim", "global_stride", "box_dim", "element_stride",
        ],
        "formats": ["u8", "u1", "u1", "u1", "u1", "u1", "u1", ("u4", 5), ("u8", 4), ("u4", 5), ("u4", 5)],
        "offsets": [0, 8, 9, 10, 11, 12, 13, 16, 40, 72, 92],
        "itemsize": MAP_BYTES,
    }
)  # fmt: skip
"""`rank` is the number of dimensions less one, `global_stride` in bytes from dimension 1 on, as `tensormap.replace`."""

_SIZES = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
"""Bytes of an element by `elemtype`: u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16 tf32 tf32.ftz."""
ELEMTYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32")
_SPANS = (0, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A decoded map; extents and strides from the fastest dimension on."""

    address: int
    itemsize: int
    kind: str
    """PTX type of an element."""
    extent: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes; the first is the element's size."""
    box: tuple[int, ...]
    span: int
    """Bytes of the swizzle; 0: none."""
    fill_nan: bool


class BadMap(ValueError):  # noqa: N818
    """A map that no copy can use; the message says why."""


def decode(data: npt.NDArray[np.uint8]) -> TensorMap:
    """A map from its bytes. Raises `BadMap` for what a device refuses or this one does not know."""
    fields = data[:MAP_BYTES].view(LAYOUT)[0]
    rank = int(fields["rank"]) + 1
    if rank > RANK_MOST or not fields["global_address"]:
        raise BadMap("these 128 bytes are no tensor map: it has no address")
    if int(fields["elemtype"]) >= len(_SIZES):
        raise BadMap(f"unsupported: a tensor map with element type {int(fields['elemtype'])}")
    if fields["interleave_layout"] or fields["swizzle_atomicity"] or fields["swizzle_mode"] >= len(_SPANS):
        raise BadMap(
            "unsupported: a tensor map with an interleaved layout or another swizzle than 32, 64, 128 bytes"
        )
    if (fields["element_stride"][:rank] != 1).any():
        raise BadMap("unsupported: a tensor map whose element strides are not all 1")
    itemsize = _SIZES[int(fields["elemtype"])]
    strides = (itemsize, *(int(s) for s in fields["global_stride"][: rank - 1]))
    box = tuple(int(b) for b in fields["box_dim"][:rank])
    span = _SPANS[int(fields["swizzle_mode"])]
    if any(s % 16 for s in strides[1:]) or int(fields["global_address"]) % 16:
        raise BadMap("a tensor map's address and strides must be multiples of 16 bytes")
    if not all(1 <= b <= 256 for b in box) or box[0] * itemsize % 16:
        raise BadMap(f"a tensor map's box {box}: extents are 1 … 256, rows a multiple of 16 bytes")
    if span and box[0] * itemsize > span:
        raise BadMap(
            f"a tensor map's box has rows of {box[0] * itemsize} bytes, more than its swizzle of {span}"
        )
    return TensorMap(
        int(fields["global_address"]), itemsize, ELEMTYPES[int(fields["elemtype"])],
        tuple(int(d) for d in fields["global_dim"][:rank]), strides, box, span, bool(fields["fill_mode"]),
    )  # fmt: skip
