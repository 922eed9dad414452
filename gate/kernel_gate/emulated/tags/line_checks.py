"""Assertions about the instructions of a line: what it multiplies, and what it stores where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernel_gate.emulated.access import Located
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import matrices, memory
from kernel_gate.emulated.tags.assertions import Assertions
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys, over_lanes
from kernel_gate.emulated.tags.shadows import Shadows
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Wave
from kernel_gate.invariants.model import AT, LEFT, RIGHT, STORED, Assertion, Binding
from kernel_gate.program import WARP

FACTORS = ("mul", "fma", "mad")
_NOT_GLOBAL = frozenset(("shared", "local", "param"))
_PRODUCTS: Binding = "products"
_STORES: Binding = "stores"


def asserted_of(assertions: Sequence[Assertion], line: int | None, parts: Sequence[str]) -> list[Assertion]:
    """The assertions that look at an instruction of this line with this opcode."""
    head, binding = tuple(parts[:2]), None
    stores = parts[0] in ("st", "atom", "red") and _NOT_GLOBAL.isdisjoint(parts)
    if parts[0] in (*FACTORS, "mma") or head == ("wmma", "mma"):
        binding = _PRODUCTS
    elif stores or head == ("wmma", "store"):
        binding = _STORES
    if line is None or binding is None:
        return []
    return [a for a in assertions if a.binding == binding and a.code_lines[0] <= line <= a.code_lines[1]]


@dataclass(frozen=True, slots=True)
class LineChecks:
    """The checks of one launch at lines."""

    shadows: Shadows
    seen: Assertions

    def factors(self, site: Site, asserted: Sequence[Assertion], inner: Wrap | None) -> Wrap:
        """Around a multiplication: its factors, half by half where they are packed."""
        packed = bool(site.types) and site.type.kind in ("packed", "lanes")
        first, second = site.operand(1), site.operand(2)

        def watched(wave: Wave) -> Iterator[None]:
            self.shadows.enter(wave)
            tags = [self.shadows.get(wave, operand) for operand in (first, second)]
            if any(tag is not None for tag in tags):
                lanes = max(tag.shape[1] for tag in tags if tag is not None) if packed else 1
                full = [self.shadows.filled(wave, tag if packed else over_lanes(tag), lanes) for tag in tags]
                operands = {LEFT: full[0], RIGHT: full[1]}
                for assertion in asserted:
                    self.seen.check(wave, assertion, operands, {}, site.instruction)
            yield

        wrap = around(watched)
        return wrap if inner is None else lambda step: wrap(inner(step))

    def matrices(self, site: Site, asserted: Sequence[Assertion]) -> matrices.Look | None:
        """At a product of matrices: of every step of k the column of A and the row of B, a warp for a thread."""
        if not asserted:
            return None

        def look(wave: Wave, a: Keys, b: Keys) -> None:
            left, right = a.min(axis=2).transpose(0, 2, 1), b.min(axis=3).transpose(0, 2, 1)
            if not ((left[::2] != UNTAGGED).any() or (right[::2] != UNTAGGED).any()):
                return
            lanes, operands = wave.index.reshape(-1, WARP)[:, 0], {LEFT: left, RIGHT: right}
            for assertion in asserted:
                self.seen.check(wave, assertion, operands, {}, site.instruction, lanes, "step {} of k")

        return look

    def stores(self, site: Site, asserted: Sequence[Assertion]) -> memory.Look | None:
        """At a store to global memory: every element that is stored, and where it goes."""
        if not asserted:
            return None
        coding = self.shadows.coding

        def look(wave: Wave, at: Located, tags: Keys | None, nbytes: int) -> None:
            if at.segment is None:
                return
            tagged = coding.buffers.get(at.segment.name)
            count = 1 if tagged is None else max(nbytes // tagged.itemsize, 1)
            goes_to = np.full((coding.width, count, wave.active_count), UNTAGGED, np.int64)
            stored = goes_to.copy()
            if tagged is not None:
                start = wave.spread(at.index) * at.cells.dtype.itemsize - at.segment.offset
                elements = start // tagged.itemsize + np.arange(count)[:, None]
                goes_to = coding.tags(at.segment.name, elements, -1)
            if tags is not None and tags.shape[1] >= count:
                stored = tags.reshape(coding.width, count, tags.shape[1] // count, -1).min(axis=2)
            elif tags is not None:
                stored = np.repeat(tags, count // tags.shape[1], axis=1)
            operands = {STORED: stored, AT: goes_to}
            for assertion in asserted:
                self.seen.check(wave, assertion, operands, {}, site.instruction, part="element {}")

        return look
