"""What a launch decides by, in numbers: how far each comparison of floats is from equality, and each rounding from a
half or a whole number, with the input element that the thread read last.

Only the first wave of a launch is looked at, and the first visits of each thread to an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.operands import bases
from kernel_gate.emulated.ptx.model import Address, Register
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Index, Wave

VISITS = 3
"""Visits of a thread to an instruction that are kept."""
_NONE = -1
_FRACTION_BITS = {"f16": 11, "bf16": 8}
"""With the leading one."""
_WHOLE = ("rzi", "rmi", "rpi")


@dataclass(frozen=True, slots=True)
class Watched:
    """An input whose elements are told."""

    name: str
    address: int
    nbytes: int
    itemsize: int


@dataclass(slots=True)
class Decided:
    """One instruction's operands."""

    distance: Array
    """[visits, threads] how far the operands are from where the decision changes; NaN: not visited."""
    scale: Array
    """[visits, threads] the magnitude of the operands."""
    elements: dict[str, Index]
    """[visits, threads] by input: the element that the thread read last; -1: none."""
    visits: Index
    """[threads]"""


@dataclass(slots=True)
class Decisions:
    """Those of one launch."""

    inputs: tuple[Watched, ...]
    decided: dict[int, Decided] = field(default_factory=dict)
    """By the instruction's number."""
    _last: dict[str, Index] = field(default_factory=dict)
    _blocks: Index | None = None

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction that decides, or that reads an element."""
        if site.parts[0] in ("ld", "ldu") and "global" in site.parts:
            return self._load(site)
        measure = _measure(site)
        return None if measure is None else self._decision(site, measure)

    def _is_first(self, wave: Wave) -> bool:
        if self._blocks is None:
            self._blocks = wave.blocks
            self._last = {w.name: np.full(wave.threads, _NONE, np.int64) for w in self.inputs}
        return self._blocks is wave.blocks

    def _load(self, site: Site) -> Wrap | None:
        operand = site.instruction.operands[1]
        if not isinstance(operand, Address) or not [*bases((operand,))]:
            return None
        assert isinstance(operand.base, Register)
        read, offset = site.reader(operand.base, TYPES["u64"]), operand.offset

        def watched(wave: Wave) -> Iterator[None]:
            if self._is_first(wave):
                addresses = wave.spread(np.asarray(read(wave))).astype(np.int64) + offset
                for one in self.inputs:
                    place = addresses - one.address
                    inside = (place >= 0) & (place < one.nbytes)
                    if inside.any():
                        self._last[one.name][wave.index[inside]] = place[inside] // one.itemsize
            yield

        return around(watched)

    def _decision(self, site: Site, measure: Callable[[Wave], tuple[Array, Array]]) -> Wrap:
        def watched(wave: Wave) -> Iterator[None]:
            if self._is_first(wave):
                self._keep(wave, site, *measure(wave))
            yield

        return around(watched)

    def _keep(self, wave: Wave, site: Site, distance: Array, scale: Array) -> None:
        shape = (VISITS, wave.threads)
        decided = self.decided.get(site.number)
        if decided is None:
            elements = {name: np.full(shape, _NONE, np.int64) for name in self._last}
            decided = Decided(
                np.full(shape, np.nan), np.full(shape, np.nan), elements, np.zeros(wave.threads, np.int64)
            )
            self.decided[site.number] = decided
        threads = wave.index
        visit = decided.visits[threads]
        decided.visits[threads] += 1
        fresh = visit < VISITS
        place = visit[fresh], threads[fresh]
        decided.distance[place] = wave.spread(distance)[fresh]
        decided.scale[place] = wave.spread(scale)[fresh]
        for name, last in self._last.items():
            decided.elements[name][place] = last[threads[fresh]]


def _measure(site: Site) -> Callable[[Wave], tuple[Array, Array]] | None:
    """How far an instruction's operands are from its decision, and their magnitude; None: it decides nothing."""
    name = site.parts[0]
    if name in ("setp", "set") and site.types and site.types[-1].name in ("f32", "f64"):
        first, second = (site.read(position, site.types[-1]) for position in (1, 2))

        def compared(wave: Wave) -> tuple[Array, Array]:
            a, b = (np.asarray(read(wave), np.float64) for read in (first, second))
            return a - b, np.maximum(np.abs(a), np.abs(b))

        return compared
    if (
        name != "cvt"
        or len(site.types) != 2
        or site.types[1].name not in ("f32", "f64")
        or site.operand_count != 2
    ):
        return None
    target, source = site.types
    read = site.read(1, source)
    if site.has(*_WHOLE):
        return lambda wave: _from(np.asarray(read(wave), np.float64), np.rint)
    if site.has("rni"):
        return lambda wave: _from(np.asarray(read(wave), np.float64), lambda v: np.floor(v) + 0.5)
    bits = _FRACTION_BITS.get(target.name)
    return (
        None
        if bits is None
        else lambda wave: _from(np.asarray(read(wave), np.float64), lambda v: _half(v, bits))
    )


def _from(values: Array, nearest: Callable[[Array], Array]) -> tuple[Array, Array]:
    return values - nearest(values), np.abs(values)


def _half(values: Array, bits: int) -> Array:
    """The middle of the two numbers of so many bits around each value."""
    _, exponent = np.frexp(values)
    step = np.ldexp(1.0, exponent - bits)
    middle: Array = (np.floor(values / step) + 0.5) * step
    return middle
