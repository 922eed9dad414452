"""How many blocks two programs launch along each axis: few, several, and a number that is no power of two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_gate.built import Built
from kernel_gate.emulated.guards import Sides
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import LaunchStep
from kernel_gate.shapes import elements, first_extent, named_shapes, nearest, typical_shape
from kernel_gate.stages.scalar_sides import Side
from kernel_gate.workload import Workload

Dims = Mapping[str, int]
Signature = tuple[tuple[tuple[int, int], Sides], ...]
"""What is decided, by kernel and number in it, with its sides: a program may have a kernel for each kind of shape."""
_ATOMIC = re.compile(r"\b(?:atom|red)\.")
_LEAST = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MANY = 1 << 15
"""Extents of one dim at which grids are compared: the first that a launch takes, and one of many blocks."""
_RAGGED = 2
"""The side of an axis with blocks whose number is no power of two."""
_MOST_RAGGED = 2
_LONGEST = 1 << 14
"""The extent up to which a launch's next block is looked for."""


def signature_of(decided: Iterable[tuple[int, Sequence[Sides]]]) -> Signature:
    """What is decided, with the sides of each, kernel by kernel."""
    return tuple(((kernel, n), sides) for kernel, some in decided for n, sides in enumerate(some))


def sides_taken(signature: Signature | None) -> set[Side]:
    """The sides that hold."""
    return {(place, side) for place, sides in signature or () for side, holds in enumerate(sides) if holds}


@dataclass(slots=True)
class Grids:
    """How many blocks both programs launch."""

    baseline: Built
    candidate: Built
    workload: Workload
    growing: dict[tuple[int, str], int] = field(init=False)
    """Axes of all grids in a row, each with a dim that brings it blocks, and the least extent that can be launched."""
    _extents: dict[tuple[int, ...], list[int]] = field(default_factory=dict)
    _of_baseline: int = 0
    """Axes of the baseline's grids, which are the first ones."""

    def __post_init__(self) -> None:
        usual = typical_shape(named_shapes(self.workload))
        self.growing = {}
        for name in self.workload.dims:
            axes_by_extent = ((extent, self._axes({**usual, name: extent})) for extent in _LEAST)
            least, few = next(((extent, axes) for extent, axes in axes_by_extent if axes), (0, []))
            many = self._axes({**usual, name: _MANY})
            self.growing |= {
                (at, name): least for at, (n, more) in enumerate(zip(few, many, strict=False)) if more > n
            }

    def of(self, dims: Dims) -> Signature | None:
        """Whether an axis has the blocks that the least extent of a dim brings, whether it has more, and whether it has
        several whose number is no power of two, to which a second pass over them may fill it up.
        """
        axes = self._axes(dims)
        without = [self._axes({**dims, name: least}) for (_, name), least in self.growing.items()]
        if not axes or not all(without):
            return None
        pairs = [(axes[at], fewer[at]) for (at, _), fewer in zip(self.growing, without, strict=True)]
        return signature_of(
            [(0, [(n == fewer, n > fewer, n > fewer and _is_ragged(n)) for n, fewer in pairs])]
        )

    def ragged(self, shapes: Iterable[Dims]) -> list[Dims]:
        """The smallest of some shapes for each axis along which it has blocks whose number is no power of two."""
        chosen: dict[Side, Dims] = {}
        for dims in sorted(shapes, key=lambda d: elements(self.workload, d)):
            for place, side in sides_taken(self.of(dims)) if self.growing else ():
                if side == _RAGGED:
                    chosen.setdefault((place, side), dims)
        return [*{tuple(dims.items()): dims for dims in chosen.values()}.values()][:_MOST_RAGGED]

    def steps(self) -> list[dict[str, int]]:
        """Shapes on both sides of where an extent first brings the candidate a block more, and not the baseline.

        The last extent before it fills what is launched to the brim: rows that the launch forgets are missing there.
        """
        usual = typical_shape(named_shapes(self.workload))
        firsts: tuple[set[tuple[str, int]], ...] = (set(), set())
        for (at, name), least in self.growing.items():
            if (extent := self._step(usual, at, name, least)) is not None:
                firsts[at >= self._of_baseline].add((name, extent))
        sides = [(name, extent - one) for name, extent in sorted(firsts[1] - firsts[0]) for one in (1, 0)]
        return [dims for name, extent in sides for dims in nearest(self.workload, usual, name, extent, -1)]

    def _step(self, usual: Dims, at: int, name: str, least: int) -> int | None:
        """The first extent of a dim that brings an axis more blocks than the least one; None: there is none near."""

        def blocks(extent: int) -> int:
            axes = self._axes({**usual, name: extent})
            return axes[at] if at < len(axes) else 0

        few = blocks(least)
        return first_extent(lambda extent: blocks(extent) > few, least, _LONGEST)

    def _axes(self, dims: Dims) -> list[int]:
        """Blocks along every axis of every launch; none where the launch cannot be computed."""
        key = tuple(dims.values())
        if key not in self._extents:
            try:
                bound = [
                    bind(self.workload, built.program, dims) for built in (self.baseline, self.candidate)
                ]
            except LaunchError:
                bound = []
            else:
                self._of_baseline = 3 * len(bound[0].launches)
            self._extents[key] = [n for program in bound for launch in program.launches for n in launch.grid]
        return self._extents[key]


def joins_blocks(built: Built) -> bool:
    """Whether blocks make one result together: by atomics, or in a later launch."""
    launches = [step for step in built.program.steps if isinstance(step, LaunchStep)]
    return len(launches) > 1 or any(_ATOMIC.search(image.ptx) for image in built.images.values())


def _is_ragged(blocks: int) -> bool:
    """Whether a number of blocks is no power of two."""
    return blocks & (blocks - 1) != 0
