"""Counts the terms of the sums of a launch: what orders of adding can differ in, whatever the order was.

Each float register and each word of memory carries a count. What is loaded is one term; a sum has those of both sides,
a product those of the side that is a sum, a maximum or a copy the larger of its sources, and a tensor core adds as
many terms as it multiplies pairs. Everything else begins anew. Counts go through memory from launch to launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.emulated.ptx.model import Address, Group, Operand, Register
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Wave

FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"})
"""The types that arithmetic of threads rounds to, with the pairs of them."""
_SUMS, _PRODUCTS, _FUSED = frozenset({"add", "sub"}), frozenset({"mul", "div"}), frozenset({"fma", "mad"})
_COPIES = frozenset({"mov", "cvt", "selp", "max", "min", "neg", "abs", "shfl", "prmt", "slct"})
_MATRICES = frozenset({"mma", "wgmma"})
_PAIRS = re.compile(r"m\d+n\d+k(\d+)")
_WORD = 4
_MOST = 1 << 30


@dataclass(slots=True)
class Terms:
    """The counts of the launches of one device."""

    most: int = 1
    """The terms of the largest sum so far."""
    memory: dict[tuple[str, int], Array] = field(default_factory=dict)
    """Space and segment → counts of its words."""
    registers: dict[str, Any] = field(default_factory=dict)
    """Counts of the threads of the wave that runs, or one for all."""
    _wave: Wave | None = None
    _touched: list[tuple[str, int, Array, int]] = field(default_factory=list)

    def touch(self, space: str, segment: int, first: Array, nbytes: int) -> None:
        """The instruction that runs reached `nbytes` at these bytes of a segment."""
        self._touched.append((space, segment, np.asarray(first, np.int64), nbytes))

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction through which sums go."""
        name = site.parts[0]
        memory = name in ("ld", "st", "atom", "red", "ldu")
        if not (memory or name in _COPIES or name in _MATRICES) and not FLOATS & set(site.parts):
            return None
        if name in ("setp", "set", "cp", "bar"):
            return None
        results = [] if name in ("st", "red") else list(_names(site.operand(0)))
        sources = [list(_names(site.operand(n))) for n in range(len(results) > 0, site.operand_count)]

        def watched(wave: Wave) -> Iterator[None]:
            self._enter(wave)
            self._touched.clear()
            before = [self._largest(names, wave) for names in sources]
            yield
            counts = self._memory(name, site, before, wave) if memory else self._counts(name, site, before)
            for register in results:
                self._write(register, counts, wave)

        return around(watched)

    def _enter(self, wave: Wave) -> None:
        if wave is not self._wave:
            self._wave = wave
            self.registers = {}
            self.memory = {key: held for key, held in self.memory.items() if key[0] != "shared"}

    def _counts(self, name: str, site: Site, before: list[Any]) -> Any:
        if name in _SUMS:
            total = before[0] + before[1]
        elif name in _FUSED:
            total = _product(before[0], before[1]) + before[2]
        elif name in _PRODUCTS:
            total = _product(before[0], before[1])
        elif name in _MATRICES:
            pairs = next((int(m[1]) for p in site.parts if (m := _PAIRS.fullmatch(p))), 1)
            total = before[-1] + pairs
        elif name in _COPIES:
            total = np.maximum.reduce(np.broadcast_arrays(*before)) if before else 1
            if name == "shfl":
                total = np.max(total)
        else:
            total = 1
        self.most = max(self.most, int(np.max(total, initial=1)))
        return np.minimum(total, _MOST)

    def _memory(self, name: str, site: Site, before: list[Any], wave: Wave) -> Any:
        terms: Any = 1
        alone = len(self._touched) == 1
        adds = name in ("atom", "red") and "add" in site.parts and bool(FLOATS & set(site.parts))
        count = before[-1] if alone and before else np.max(before[-1], initial=1) if before else 1
        for space, segment, first, nbytes in self._touched:
            held = self._held(space, segment, int(first.max(initial=0)) + nbytes)
            words = first // _WORD
            parts = range(max(nbytes // _WORD, 1))
            if name in ("ld", "ldu"):
                seen = np.maximum.reduce([held[words + part] for part in parts])
                terms = np.maximum(seen, 1) if alone else np.maximum(terms, seen.max())
            elif name == "st":
                for part in parts:
                    held[words + part] = np.max(count) if words.ndim == 0 else count
            elif adds:
                threads = wave.active_count if alone else words.size
                np.add.at(held, np.broadcast_to(words, threads), np.broadcast_to(count, threads))
                self.most = max(self.most, int(held[words].max(initial=1)))
        return terms

    def _held(self, space: str, segment: int, nbytes: int) -> Array:
        needed = -(-nbytes // _WORD) + 8
        held = self.memory.get((space, segment))
        if held is None or len(held) < needed:
            grown = np.zeros(max(needed, 0 if held is None else 2 * len(held)), np.int64)
            if held is not None:
                grown[: len(held)] = held
            held = self.memory[space, segment] = grown
        return held

    def _largest(self, names: list[str], wave: Wave) -> Any:
        """The largest count of the active threads; an operand that is no register adds nothing."""
        counts = [self.registers.get(name, 1) for name in names]
        active = wave.active
        chosen = [c if np.ndim(c) == 0 or active is None else c[active] for c in counts]
        return np.maximum.reduce(np.broadcast_arrays(*chosen)) if chosen else 0

    def _write(self, name: str, counts: Any, wave: Wave) -> None:
        if wave.active is None:
            self.registers[name] = counts
            return
        held = self.registers.get(name, 1)
        spread: Array = np.full(wave.threads, held) if np.ndim(held) == 0 else held
        spread = spread.copy()
        spread[wave.active] = counts
        self.registers[name] = spread


def _product(first: Any, second: Any) -> Any:
    """A sum that is scaled stays one; of two sums the product is a new term."""
    return np.where(np.minimum(first, second) > 1, 1, np.maximum(np.maximum(first, second), 1))


def _names(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Register):
        yield operand.name
    elif isinstance(operand, Group):
        for item in operand.items:
            yield from _names(item)
    elif isinstance(operand, Address):
        return
