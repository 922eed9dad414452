"""Stores that a flag can overtake: no fence stands between them and the flag by which another block was told of them.

A volatile or relaxed load of what another block has stored is no race by itself. Where the reader has seen something
that the writer published after that store, it counts on the order of the two; without a fence there is none, and what
it reads can be what was there before (PTX memory model: message passing).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]
PlaceKey = tuple[int, int]
"""Number of a segment, and granule within it."""
_MOST_CELLS = 1 << 22
"""Cells of all the tables here; a launch of more blocks and flags is not looked at."""


@dataclass(slots=True)
class Overtaken:
    """The stores of each block after which it published something, and who has seen that."""

    blocks: int
    """How many the grid has."""
    published: dict[PlaceKey, Index] = field(default_factory=dict)
    """By place and block: its accesses with smaller events came before what it wrote there."""
    stored: dict[int, Index] = field(default_factory=dict)
    """By segment: the last volatile or relaxed store to each granule, as a key of `GlobalRaces`."""
    seen: Index = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """By block of the wave and block of the grid: what the first has seen of `published`."""

    @property
    def watches(self) -> bool:
        """Whether the tables stay small."""
        return bool(len(self.seen)) and (len(self.seen) + len(self.published)) * self.blocks <= _MOST_CELLS

    def enter(self, blocks: int) -> None:
        """A new wave of so many blocks starts."""
        fits = blocks * self.blocks <= _MOST_CELLS
        self.seen = np.zeros((blocks, self.blocks) if fits else (0, 0), np.int64)

    def publish(self, places: Iterable[tuple[int, PlaceKey]], numbers: Index, event: int) -> None:
        """Blocks of the wave, whose numbers in the grid these are, write to the places."""
        for block, place in places:
            marks = self.published.get(place)
            if marks is None:
                marks = self.published[place] = np.zeros(self.blocks, np.int64)
            marks[numbers[block]] = event

    def see(self, places: Iterable[tuple[int, PlaceKey]]) -> None:
        """Blocks of the wave read the places."""
        for block, place in places:
            marks = self.published.get(place)
            if marks is not None:
                np.maximum(self.seen[block], marks, out=self.seen[block])

    def counts_on(self, blocks: Index, others: Index, events: Index) -> npt.NDArray[np.bool_]:
        """Whether each block of the wave has seen what another block of the grid published after an event."""
        result: npt.NDArray[np.bool_] = events < self.seen[blocks, others]
        return result
