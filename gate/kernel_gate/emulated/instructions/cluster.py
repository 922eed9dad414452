"""Addresses in the shared memory of a cluster (PTX ISA, `mapa`, `getctarank`)."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.addresses import RANK_SHIFT
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Wave

_RANKS = 31 << RANK_SHIFT


@opcode("mapa")
def map_address(site: Site) -> Step:
    """`mapa d, a, rank`: the address of `a` in the shared memory of the block with that rank."""
    kind = site.type
    write, a, rank = site.write(0, kind), site.read(1, kind), site.read(2, TYPES["u32"])
    keep = kind.dtype.type(~_RANKS % (1 << 8 * kind.size))

    def step(wave: Wave) -> None:
        named = (rank(wave).astype(kind.dtype) + kind.dtype.type(1)) << kind.dtype.type(RANK_SHIFT)
        write(wave, a(wave) & keep | named)

    return step


@opcode("getctarank")
def rank_of_address(site: Site) -> Step:
    """`getctarank d, a`: the rank of the block in whose shared memory an address lies."""
    write, a = site.write(0, TYPES["u32"]), site.read(1, site.type)

    def step(wave: Wave) -> None:
        named = wave.spread(a(wave)).astype(np.int64) >> RANK_SHIFT & 31
        own = wave.block_of[wave.index] % wave.launch.cluster_size
        write(wave, np.where(named > 0, named - 1, own).astype(np.uint32))

    return step
