"""`mma.sync`: D = A·B + C of one warp (PTX ISA). What a product is: `matrices.product`."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from kernel_gate.emulated.matrices import volta
from kernel_gate.emulated.matrices.elements import ELEMENTS, Element, cells_of
from kernel_gate.emulated.matrices.fragments import Fragment, accumulator, left, right
from kernel_gate.emulated.matrices.product import ACCUMULATORS, Accumulator, dot, dot_of_bits
from kernel_gate.emulated.matrices.registers import (
    need_whole_warps,
    read_words,
    readers,
    write_cells,
    writers,
)
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Wave

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def shape_of(site: Site) -> tuple[int, int, int]:
    """M, N and K."""
    match = next((m for part in site.parts if (m := _SHAPE.fullmatch(part))), None)
    if match is None:
        raise site.unsupported()
    return int(match[1]), int(match[2]), int(match[3])


def product_of(site: Site, a: Element) -> Callable[[Array, Array], Array]:
    """How A and B are multiplied: as numbers, or as bits."""
    if a.name != "b1":
        return dot
    if not site.has("popc") or not site.has("xor", "and"):
        raise site.unsupported()
    return dot_of_bits(np.bitwise_xor if site.has("xor") else np.bitwise_and)


@opcode("mma")
def multiply(site: Site) -> Step:
    """`mma.sync.aligned.SHAPE.row.col.D.A.B.C`; sparse and block-scaled forms are not supported."""
    names = [p for p in site.parts if p in ELEMENTS or p in ACCUMULATORS]
    if not site.has("sync") or site.has("sp", "sp::ordered_metadata", "block_scale") or len(names) != 4:
        raise site.unsupported()
    if any(part.startswith("kind::") for part in site.parts):
        raise site.unsupported()
    m, n, k = shape_of(site)
    a, b, d, c = ELEMENTS[names[1]], ELEMENTS[names[2]], ACCUMULATORS[names[0]], ACCUMULATORS[names[3]]
    if (m, n, k) == (8, 8, 4) and a.name == "f16":
        return volta.multiply(site, d, c)
    if a.bits != b.bits or site.parts[4:6] != ("row", "col"):
        raise site.unsupported()
    word = max(a.bits, 32)
    fragments = left(m, k, word // a.bits), right(k, n, word // b.bits)
    return warp_product(site, (a, b), (d, c), fragments, (m, n))


def warp_product(
    site: Site,
    types: tuple[Element, Element],
    results: tuple[Accumulator, Accumulator],
    fragments: tuple[Fragment, Fragment],
    extent: tuple[int, int],
) -> Step:
    """The step of `d, a, b, c` with these fragments of A and B; D and C are `extent`."""
    (a, b), (d, c), (of_a, of_b) = types, results, fragments
    writes = writers(site, 0)
    read_a, read_b, read_c = (readers(site, position) for position in (1, 2, 3))
    # Halves come two to a register.
    to, of_c = (accumulator(*extent, 2 if kind.name == "f16" else 1) for kind in (d, c))
    for fragment, registers in ((to, writes), (of_a, read_a), (of_b, read_b), (of_c, read_c)):
        if fragment.registers != len(registers):
            raise site.unsupported()
    combine, saturate = product_of(site, a), site.has("satfinite")

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        x = a.open(of_a.gather(cells_of(read_words(wave, read_a), a)))
        y = b.open(of_b.gather(cells_of(read_words(wave, read_b), b)))
        words = read_words(wave, read_c)
        z = c.wide(of_c.gather(words.view(c.dtype).reshape(*words.shape, -1)))
        write_cells(wave, writes, to.scatter(d.narrow(combine(x, y) + z, saturate)))

    return step
