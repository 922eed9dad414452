"""`cp.async.bulk.tensor`: boxes of tensors between global and shared memory (PTX ISA).

Tile mode with the swizzles of 32, 64 and 128 bytes; `im2col`, `tile::gather4` and multicast are not supported. What
of a box lies outside the tensor is filled with zeros (or NaN) and never stored; a tensor map that names more than its
buffer has is an access out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated import pieces
from kernel_gate.emulated.access import Access, access
from kernel_gate.emulated.addresses import PARAMETERS, SEGMENT_BITS
from kernel_gate.emulated.bulk_reductions import combination
from kernel_gate.emulated.instructions.bulk_copy import Arriving, Completion
from kernel_gate.emulated.matrices.descriptor import swizzled
from kernel_gate.emulated.ptx.model import Group
from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.tensor_maps import MAP_BYTES, BadMap, TensorMap, decode
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Index, Wave

_ALIGNMENT = 128
"""Bytes to which a box in shared memory is aligned."""


def build(site: Site) -> Step:
    """Any `cp.async.bulk.tensor`."""
    if any(p.startswith(("im2col", "tile::")) or p == "multicast::cluster" for p in site.parts):
        raise site.unsupported()
    if site.has("prefetch"):
        return lambda _wave: None
    return _out(site) if site.has("bulk_group") else _in(site)


@dataclass(frozen=True, slots=True)
class _Boxes:
    """The boxes of the active threads that use one map, in pieces."""

    tensor_map: TensorMap
    owner: Index
    """Position among the active threads."""
    offset: Index
    """From the start of the box in shared memory, before any swizzle."""
    address: Array
    low: Index
    """Elements of the piece from `low` to below `high` lie in the tensor."""
    high: Index

    def runs(self) -> Iterator[tuple[int, int, Index]]:
        """First byte and length of the part that lies in the tensor, and the pieces that share it."""
        keys = self.low * (pieces.PIECE + 1) + self.high
        for key in np.unique(keys).tolist():
            low, high = divmod(key, pieces.PIECE + 1)
            if high > low:
                size = self.tensor_map.itemsize
                yield low * size, (high - low) * size, np.flatnonzero(keys == key)


def _boxes(tensor: TensorMap, members: Index, coordinates: Index) -> _Boxes:
    """`coordinates`: (threads, rank), of the first element of each box."""
    per = pieces.PIECE // tensor.itemsize
    inner, outer = tensor.box[0] // per, int(np.prod(tensor.box[1:], dtype=np.int64))
    number = np.arange(outer)
    inside = np.ones((len(members), outer), np.bool_)
    address = np.full((len(members), outer), tensor.address, np.int64)
    below = 1
    for axis in range(1, len(tensor.box)):
        at = coordinates[:, axis, None] + number // below % tensor.box[axis]
        inside &= (at >= 0) & (at < tensor.extent[axis])
        address += at * tensor.strides[axis]
        below *= tensor.box[axis]
    first = coordinates[:, 0, None, None] + np.arange(inner) * per
    low = np.broadcast_to(np.clip(-first, 0, per), (len(members), outer, inner)) * inside[:, :, None]
    high = np.broadcast_to(np.clip(tensor.extent[0] - first, 0, per), low.shape) * inside[:, :, None]
    places = address[:, :, None] + first * tensor.itemsize
    offset = np.broadcast_to(np.arange(outer * inner) * pieces.PIECE, (len(members), outer * inner))
    owner = np.repeat(members, outer * inner)
    return _Boxes(tensor, owner, offset.ravel(), places.ravel().view(np.uint64), low.ravel(), high.ravel())


@dataclass(frozen=True, slots=True)
class _Tensor:
    """The operand `[map, {coordinates}]`."""

    site: Site
    address: Read
    coordinates: list[Read]

    @classmethod
    def of(cls, site: Site, position: int) -> _Tensor:
        """The tensor at an operand."""
        operand = site.operand(position)
        rank = next((int(p[0]) for p in site.parts if p in ("1d", "2d", "3d", "4d", "5d")), 0)
        coordinates = operand.items[1] if isinstance(operand, Group) and len(operand.items) == 2 else None
        if not isinstance(coordinates, Group) or len(coordinates.items) != rank:
            raise site.unsupported()
        base = access(site, position, "read", TYPES["b8"], MAP_BYTES, "generic")
        return cls(site, base.address, [site.reader(c, TYPES["s32"]) for c in coordinates.items])

    def boxes(self, wave: Wave) -> Iterator[_Boxes]:
        """What the active threads name, map by map."""
        addresses = wave.spread(self.address(wave)).astype(np.uint64)
        at = np.stack([wave.spread(c(wave)).astype(np.int64) for c in self.coordinates], axis=1)
        distinct, which = np.unique(addresses, return_inverse=True)
        data = np.stack(
            [self._bytes(wave, int(a), int(np.argmax(which == n))) for n, a in enumerate(distinct)]
        )
        maps, same = np.unique(data, axis=0, return_inverse=True)
        number = same.reshape(-1)[which]
        for index, one in enumerate(maps):
            members = np.flatnonzero(number == index)
            try:
                tensor = decode(one)
            except BadMap as error:
                kind = "unsupported" if str(error).startswith("unsupported") else "trap"
                raise wave.stop(kind, str(error), self.site.instruction, int(members[0])) from error
            if len(tensor.box) != len(self.coordinates):
                message = f"a tensor map of {len(tensor.box)} dimensions, copied with {len(self.coordinates)}"
                raise wave.stop("trap", message, self.site.instruction, int(members[0]))
            yield _boxes(tensor, members, at[members])

    def _bytes(self, wave: Wave, address: int, position: int) -> npt.NDArray[np.uint8]:
        # A map among the parameters may be named by its place there.
        number = address >> SEGMENT_BITS
        segment = wave.launch.find(number or PARAMETERS)
        data = np.zeros(0, np.uint8) if segment is None else segment.contents
        start = address - segment.base if segment is not None and number else address
        image = data[start : start + MAP_BYTES]
        if len(image) < MAP_BYTES or start < 0 or address % 64:
            message = "no tensor map at this address: 128 bytes of parameters or global memory, aligned to 64"
            raise wave.stop("out_of_bounds", message, self.site.instruction, position)
        return image.copy()


def _places(wave: Wave, boxes: _Boxes, shared: Access, start: Array, site: Site) -> Index:
    """Where the pieces lie in the wave's shared memory."""
    addresses = start[boxes.owner] + boxes.offset.astype(start.dtype)
    offsets = pieces.locate(wave, shared, wave.index[boxes.owner], addresses)
    first = offsets[boxes.offset == 0]
    if (first % _ALIGNMENT).any():
        position = int(np.argmax(first % _ALIGNMENT != 0))
        message = f"misaligned: a box at byte {int(first[position])} of shared memory; boxes start at multiples of 128"
        raise wave.stop(
            "misaligned", message, site.instruction, int(boxes.owner[boxes.offset == 0][position])
        )
    return swizzled(offsets, boxes.tensor_map.span)


def _in(site: Site) -> Step:
    if not site.has("mbarrier::complete_tx::bytes"):
        raise site.unsupported()
    tensor, report = _Tensor.of(site, 1), Completion(site, 2)
    to = access(site, 0, "write", TYPES["b64"], 2, "shared")
    source = access(site, 1, "read", TYPES["b64"], 2, "global")

    def step(wave: Wave) -> None:
        start, outer = wave.spread(to.address(wave)), wave.index
        for boxes in tensor.boxes(wave):
            places = _places(wave, boxes, to, start, site)
            rows = np.full((len(places), pieces.PIECE), 0xFF if boxes.tensor_map.fill_nan else 0, np.uint8)
            threads = outer[boxes.owner]
            for first, nbytes, here in boxes.runs():
                where = pieces.partial(source, nbytes)
                addresses = boxes.address[here] + np.uint64(first)
                rows[here, first : first + nbytes] = pieces.read(wave, where, threads[here], addresses)
            members = np.unique(boxes.owner)
            before, wave.active = wave.active, outer[members]
            arriving = Arriving(np.searchsorted(members, boxes.owner), threads, places, rows)
            nbytes = int(np.prod(boxes.tensor_map.box)) * boxes.tensor_map.itemsize
            report.issue(wave, arriving, np.full(len(members), nbytes))
            wave.active = before

    return step


def _out(site: Site) -> Step:
    reduces = site.has("reduce") or site.parts[1] == "reduce"
    tensor = _Tensor.of(site, 0)
    source = access(site, 1, "read", TYPES["b64"], 2, "shared")
    to = access(site, 0, "atomic" if reduces else "write", TYPES["b64"], 2, "global")

    def step(wave: Wave) -> None:
        start, outer = wave.spread(source.address(wave)), wave.index
        for boxes in tensor.boxes(wave):
            places = _places(wave, boxes, source, start, site)
            threads = outer[boxes.owner]
            combine: Callable[[Array, Array], Array] | None = None
            if reduces:
                combine = combination(site, boxes.tensor_map.kind)
            for first, nbytes, here in boxes.runs():
                rows = _shared_rows(wave, threads[here], places[here], site)
                where = pieces.partial(to, nbytes)
                addresses = boxes.address[here] + np.uint64(first)
                part = np.ascontiguousarray(rows[:, first : first + nbytes])
                pieces.write(wave, where, threads[here], addresses, part, combine)
            wave.outgoing.issue(wave, threads, places, site.instruction)

    return step


def _shared_rows(wave: Wave, threads: Index, places: Index, site: Site) -> npt.NDArray[np.uint8]:
    shared = wave.shared
    if wave.launch.checks.uninitialised:
        shared.check_written(wave, threads, places, pieces.PIECE, site.instruction)
    if shared.races is not None:
        shared.races.read_by(wave, threads, places, pieces.PIECE, site.instruction)
    return shared.data.reshape(-1, pieces.PIECE)[places // pieces.PIECE]
