"""Rounding noise: every rounded float result of a launch moved by one unit in its last place, up or down at random.

What that does to the outputs is how well a program computes them, without an oracle (Parker, "Monte Carlo arithmetic",
1997). Results that are exact stay. Rounding in a named direction is left alone: it is how code takes the bits of
floats apart. A conversion to half precision is moved where arithmetic goes on with it, and not where it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.exactly import EXACTLY
from kernel_gate.emulated.formats import FORMATS, opened, pack
from kernel_gate.emulated.operands import names
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.rounding import fused, two_sum
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array, PtxType
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Wave

_UNITS = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
_NARROWED = {"f16": 1, "bf16": 1, "f16x2": 2, "bf16x2": 2}
"""Types that floats are narrowed to, and how many at once."""
_DIRECTED = ("rz", "rm", "rp", "rzi", "rni", "rmi", "rpi")
_MOVES_ON = ("mov", "prmt", "selp")
_ONLY_MOVES = ("st", *_MOVES_ON, "red", "atom")


@dataclass(slots=True)
class Noise:
    """The noise of one launch."""

    seed: Sequence[int]
    body: tuple[Instruction, ...] = ()
    _generator: np.random.Generator = field(init=False)
    _computed_with: frozenset[str] = field(init=False)
    """Registers that more is done with than to move or to store them."""

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)
        used = {n for i in self.body if i.parts[0] not in _ONLY_MOVES for n in names(i.operands[1:])}
        moves = [
            (set(names(i.operands[:1])), set(names(i.operands[1:])))
            for i in self.body
            if i.parts[0] in _MOVES_ON
        ]
        while more := {n for into, of in moves if into & used for n in of} - used:
            used |= more
        self._computed_with = frozenset(used)

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction that rounds."""
        kinds = self._kinds(site)
        if kinds is None:
            return None
        result, operands = kinds
        name = site.parts[0]
        is_pair = name == "cvt" and len(operands) == 2
        out, put = site.read(0, result), site.write(0, result)
        reads = [site.read(position, kind) for position, kind in enumerate(operands, 1)]

        def watched(wave: Wave) -> Iterator[None]:
            operand_lanes = [opened(read(wave), kind) for read, kind in zip(reads, operands, strict=True)]
            yield
            halves = opened(out(wave), result)
            moved = []
            for lane, value in enumerate(halves):
                # Two floats into one register: the first is the upper half.
                used = operand_lanes[::-1][lane : lane + 1] if is_pair else operand_lanes
                wide = [np.asarray(g[lane % len(g)], np.float64) for g in used]
                exact = _is_exact(name, np.asarray(value, np.float64), wide)
                moved.append(self._moved(wave.spread(value), wave.spread(exact), result))
            put(wave, _close(moved, result))

        return around(watched)

    def _kinds(self, site: Site) -> tuple[PtxType, list[PtxType]] | None:
        """Types of the result and of each operand of an instruction that rounds to at most 32 bits."""
        name = site.parts[0]
        if set(_DIRECTED) & set(site.parts) or not site.types:
            return None
        if name in EXACTLY and name != "cvt":
            kind = site.type
            small = kind.name in FORMATS and FORMATS[kind.name].kind.name in _UNITS
            mixed = site.types[0] is not kind
            return (kind, [kind] * (site.operand_count - 1)) if small and not mixed else None
        if name != "cvt" or len(site.types) != 2:
            return None
        target, source = site.types
        narrows = source.name == "f32" and site.operand_count == _NARROWED.get(target.name, 0) + 1
        goes_on = bool(self._computed_with & set(names(site.instruction.operands[:1])))
        return (target, [source] * (site.operand_count - 1)) if narrows and goes_on else None

    def _moved(self, values: Array, exact: Array, kind: PtxType) -> Array:
        wide = np.asarray(values, np.float64)
        signs = self._generator.integers(0, 2, wide.shape) * 2.0 - 1.0
        rounded = np.isfinite(wide) & (wide != 0) & ~exact
        return np.where(rounded, wide * (1.0 + signs * _UNITS[FORMATS[kind.name].kind.name]), wide)


def _is_exact(name: str, result: Array, operands: list[Array]) -> Array:
    """Which results are not rounded. In float64 as well the sum of a large number and a tiny one is the large one."""
    if name in ("add", "sub"):
        value, error = two_sum(operands[0], -operands[1] if name == "sub" else operands[1])
    elif name in ("fma", "mad"):
        value, error = fused(*operands)
    else:
        value, error = EXACTLY[name](*operands), np.zeros(())
    exact = (value == result) & (error == 0)
    if name == "ex2":
        exact &= operands[0] == np.rint(operands[0])
    elif name in ("sin", "cos", "tanh"):
        exact &= operands[0] == 0
    return np.asarray(exact)


def _close(values: list[Array], kind: PtxType) -> Array:
    form = FORMATS[kind.name]
    closed = [form.close_wide(value) for value in values]
    return closed[0] if form.lanes == 1 else pack(*closed)
