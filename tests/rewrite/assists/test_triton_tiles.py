"""Which sizes of a Triton kernel's tiles are its launch's to choose, and why others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from example_files import Part, parts
from kernel_lineage.kernels.reading import read
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.triton_lanes import narrow
from kernel_lineage.rewrite.assists.triton_tiles import Tiles, tiles_of

TILES = Path(__file__).parent / "tiles"


def tiles_in(part: Part) -> Tiles | Refusal:
    kernel = read(part.code.encode(), part.language).kernels[-1]

    def both() -> Tiles:
        tiles = tiles_of(kernel)
        narrow(kernel, tiles)
        return tiles

    return attempt(both)


@pytest.mark.parametrize("part", tuple(parts(TILES / "free.triton")), ids=lambda p: p.title)
def test_a_size_that_only_tells_how_far_a_tile_goes_is_free(part: Part) -> None:
    tiles = tiles_in(part)
    assert isinstance(tiles, Tiles), tiles
    assert sorted(tiles.sizes) == part.title.partition(": ")[2].split(), tiles.fixed


@pytest.mark.parametrize("part", tuple(parts(TILES / "fixed.triton")), ids=lambda p: p.title)
def test_a_size_that_tells_more_is_not(part: Part) -> None:
    tiles = tiles_in(part)
    why = tiles.reason if isinstance(tiles, Refusal) else tiles.fixed.get("B", "")
    assert part.title.partition(": ")[2] in why
