"""A coordinate and the datum that it came from in one number, so that joining tags is one minimum.

A tag holds for every coordinate two keys. The first is `value · 2^shift + origin` of a datum with the least value that
went into it, the second the negative of that of a datum with the greatest. `UNTAGGED` in both: no datum went into it.
The join of two tags is the minimum of their keys. An origin says which element it was and which instruction loaded it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import DeviceError
from kernel_gate.invariants.bound import Tagged

Keys: TypeAlias = npt.NDArray[np.int64]
"""(2 · coordinates, lanes, threads): a register's tags, a lane being `granule` bytes of it."""
Index: TypeAlias = npt.NDArray[np.int64]
UNTAGGED = np.iinfo(np.int64).max
_BITS = 62


@dataclass(slots=True)
class Coding:
    """How the keys of one launch are made and read."""

    coordinates: tuple[str, ...]
    buffers: Mapping[str, Tagged]
    sites: Sequence[int]
    """Numbers of the instructions that load, in the flat body."""
    shift: int = field(init=False)
    first: dict[str, int] = field(init=False)
    """The number of each buffer's element 0 among all elements."""
    _site: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.first, total = {}, 0
        for name, tagged in self.buffers.items():
            self.first[name] = total
            total += tagged.elements
        self._site = {number: position for position, number in enumerate(self.sites)}
        self.shift = max(total * max(len(self.sites), 1) - 1, 1).bit_length()

    @property
    def width(self) -> int:
        """Keys of one tag."""
        return 2 * len(self.coordinates)

    def tags(self, name: str, elements: Index, site: int) -> Keys:
        """(width, …): the tags of elements of a buffer, as an instruction loads them."""
        tagged = self.buffers[name]
        origin = (elements + self.first[name]) * max(len(self.sites), 1) + self._site.get(site, 0)
        keys = np.full((self.width, *elements.shape), UNTAGGED, np.int64)
        for position, coordinate in enumerate(self.coordinates):
            value = tagged.coordinate(coordinate, elements)
            if value is not None:
                self._require_small(value, coordinate)
                keys[2 * position] = (value << self.shift) + origin
                keys[2 * position + 1] = -keys[2 * position]
        return keys

    def _require_small(self, values: Index, coordinate: str) -> None:
        most = 1 << (_BITS - self.shift)
        if values.size and (int(values.max()) >= most or int(values.min()) < -most):
            raise DeviceError(
                f"coordinate {coordinate} goes beyond ±{most}, what is left of 64 bits beside {len(self.sites)} loads "
                "of so many elements; tag fewer arguments, or use smaller dims"
            )

    def ends(self, keys: Keys, coordinate: str) -> tuple[Keys, Keys]:
        """(…) each: the keys of the least and of the greatest value; `UNTAGGED` in the first where there is none."""
        at = 2 * self.coordinates.index(coordinate)
        low = keys[at]
        return low, np.where(low == UNTAGGED, UNTAGGED, -keys[at + 1])

    def value(self, key: Keys) -> Keys:
        """What a key of `ends` says of the coordinate."""
        return key >> self.shift

    def origin(self, key: int) -> tuple[Tagged, int, int]:
        """The buffer, its flat element, and the number of the instruction that loaded it."""
        number, site = divmod(key & ((1 << self.shift) - 1), len(self.sites))
        name = max((n for n, first in self.first.items() if first <= number), key=lambda n: self.first[n])
        return self.buffers[name], number - self.first[name], self.sites[site]


def joined(tags: Sequence[Keys | None]) -> Keys | None:
    """What went into any of them; None where nothing did."""
    keys: Keys | None = None
    for tag in tags:
        if tag is not None:
            keys = tag if keys is None else np.minimum(keys, tag)
    return keys


def over_lanes(tag: Keys | None) -> Keys | None:
    """One lane with what went into any lane."""
    return tag if tag is None or tag.shape[1] == 1 else tag.min(axis=1, keepdims=True)


def in_lanes(tag: Keys | None, lanes: int) -> Keys | None:
    """One lane's tags in each of so many."""
    return tag if tag is None or tag.shape[1] == lanes else np.repeat(tag, lanes, axis=1)
