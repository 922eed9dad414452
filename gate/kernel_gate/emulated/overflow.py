"""Overflow in addresses: sums and products of 32 bits that wrapped, and became part of an address that is accessed.

Beside a register whose 32 bits are not the number that they stand for, a shadow keeps that number (exactly, in 64 bits)
and the instruction that first wrapped. Sums, differences and products of shadows are computed on the numbers, so that
a wrap that is taken back, as in `(i - 1u) + 1`, ends with a shadow that agrees, and is none. Where 32 bits become 64,
signed ones must be the number; unsigned ones the number or, below zero, its bits: what C++ defines. An address that
is made from a number that differs is marked, and the first access with a mark is the fault; what is computed and
not accessed, as in front of a guard, is nobody's.

Hashes wrap on purpose: what masks, cuts or unsigned divisions give is a new number, and a register that they read is
not looked at. Sums of 64 bits are not looked at either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.emulated.address_registers import keeps_numbers
from kernel_gate.emulated.operands import bases, names
from kernel_gate.emulated.ptx.model import Register
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Index, Wave
from kernel_gate.emulated.whole_numbers import CAN_WRAP, NUMBERS, beyond_unsigned, expression_of, fits

_NONE = -1


@dataclass(slots=True)
class _Shadow:
    """What one register would hold without overflow, for every thread of the wave."""

    number: Index
    origin: Index
    """Number of the instruction that wrapped; -1: the register is right."""


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """An instruction that wrapped."""

    site: Site
    operands: Index
    """(operands, threads): what it last wrapped with."""
    result: Index
    """What it should have given."""


@dataclass(slots=True)
class AddressOverflow:
    """The shadows of one launch."""

    registers: frozenset[str]
    """Those that become addresses (`address_registers`)."""
    shadows: dict[str, _Shadow] = field(default_factory=dict)
    wrapped: dict[int, _Wrapped] = field(default_factory=dict)
    blocks: Index | None = None
    """Blocks of the wave whose shadows these are."""

    def watch(self, site: Site) -> Wrap | None:
        """What to put around an instruction that computes an address or accesses one."""
        based = [name for name in dict.fromkeys(bases(site.instruction.operands)) if name in self.registers]
        written = [name for name in names(site.instruction.operands[:1]) if name in self.registers]
        if based:
            return self._access(site, based, written)
        if not written:
            return None
        wide = site.register_type(Register(written[0]))
        if not keeps_numbers(site.instruction) or wide is None:
            return self._forget(written)
        return self._marks(site, written[0]) if wide.size == 8 else self._arithmetic(site, written[0])

    def reset(self) -> None:
        """Forget an earlier launch."""
        self.blocks = None
        self.shadows.clear()
        self.wrapped.clear()

    def _enter(self, wave: Wave) -> None:
        if self.blocks is not wave.blocks:
            self.blocks = wave.blocks
            self.shadows.clear()
            self.wrapped.clear()

    def _forget(self, written: list[str]) -> Wrap:
        """New numbers: nothing of what stood in the registers is left."""

        def watched(wave: Wave) -> Iterator[None]:
            yield
            if self.shadows:
                self._enter(wave)
                for name in written:
                    self._clear(wave, name)

        return around(watched)

    def _clear(self, wave: Wave, name: str) -> None:
        if name not in self.shadows:
            return
        if wave.active is None:
            del self.shadows[name]
            return
        origin = self.shadows[name].origin
        origin[wave.active] = _NONE
        if not (origin != _NONE).any():
            del self.shadows[name]

    def _access(self, site: Site, based: list[str], written: list[str]) -> Wrap:
        def watched(wave: Wave) -> Iterator[None]:
            if not self.shadows:
                yield
                return
            self._enter(wave)
            for name in based:
                self._require_right(wave, site, name)
            yield
            for name in written:
                self._clear(wave, name)

        return around(watched)

    def _require_right(self, wave: Wave, site: Site, name: str) -> None:
        shadow = self.shadows.get(name)
        if shadow is None:
            return
        origin = shadow.origin[wave.index]
        kind = site.register_type(Register(name))
        if kind is not None and kind.size == 4:
            origin = np.where(beyond_unsigned(shadow.number[wave.index]), origin, _NONE)
        if not (origin != _NONE).any():
            return
        position = int(np.argmax(origin != _NONE))
        thread, wrapped = int(wave.index[position]), self.wrapped[int(origin[position])]
        expression = expression_of(wrapped.site, [int(v) for v in wrapped.operands[:, thread]])
        line = site.instruction.line
        message = (
            f"overflow in an address: {expression} = {int(wrapped.result[thread])} wraps in 32 bits"
            f"{'' if line is None else f', and line {line} accesses memory by it'}"
        )
        raise wave.stop("overflow", message, wrapped.site.instruction, position)

    def _arithmetic(self, site: Site, name: str) -> Wrap:
        """A result of 32 bits: what it stands for, from what its operands stand for."""
        compute = NUMBERS[site.parts[0]]
        kind = TYPES["s32"]
        operands = (
            site.instruction.operands[1:3] if site.parts[0] == "selp" else site.instruction.operands[1:]
        )
        reads = [site.reader(operand, kind) for operand in operands]
        sources = [operand.name if isinstance(operand, Register) else None for operand in operands]
        choose = site.read(3, TYPES["pred"]) if site.parts[0] == "selp" else None
        makes = site.parts[0] in CAN_WRAP
        out = site.read(0, kind)

        def watched(wave: Wave) -> Iterator[None]:
            has_shadow = bool(self.shadows) and any(source in self.shadows for source in sources)
            values = [read(wave) for read in reads] if has_shadow or makes else []
            if not has_shadow and (not makes or fits(site, values)):
                yield
                if self.shadows:
                    self._enter(wave)
                    self._clear(wave, name)
                return
            self._enter(wave)
            chosen = () if choose is None else (choose(wave),)
            held = [self._number(wave, source, v) for source, v in zip(sources, values, strict=True)]
            yield
            result = wave.spread(np.asarray(compute(*(number for number, _ in held), *chosen)))
            self._keep(wave, site, name, result, out(wave), held)

        return around(watched)

    def _number(self, wave: Wave, name: str | None, value: Array) -> tuple[Any, Any]:
        """What a register stands for, and where it wrapped."""
        shadow = None if name is None else self.shadows.get(name)
        number = np.asarray(value).astype(np.int64)
        if shadow is None:
            return number, _NONE
        origin = shadow.origin[wave.index]
        return np.where(origin != _NONE, shadow.number[wave.index], number), origin

    def _keep(
        self, wave: Wave, site: Site, name: str, result: Index, register: Array, held: list[tuple[Any, Any]]
    ) -> None:
        """Shadow the result where it is not the register's; `held`: numbers and origins of the operands."""
        wrong = result != wave.spread(np.asarray(register).astype(np.int64))
        before: Any = np.full(len(result), _NONE)
        for _, origin in held:
            before = np.where(before == _NONE, origin, before)
        fresh = wrong & (before == _NONE)
        if site.parts[0] not in CAN_WRAP:
            wrong, fresh = wrong & ~fresh, np.zeros_like(fresh)
        if fresh.any():
            wrapped = self.wrapped.get(site.number)
            if wrapped is None:
                shape = (len(held), wave.threads)
                wrapped = _Wrapped(site, np.zeros(shape, np.int64), np.zeros(wave.threads, np.int64))
                self.wrapped[site.number] = wrapped
            threads = wave.index[fresh]
            wrapped.result[threads] = result[fresh]
            for row, (number, _) in zip(wrapped.operands, held, strict=True):
                row[threads] = wave.spread(number)[fresh]
        if not wrong.any():
            self._clear(wave, name)
            return
        self._store(wave, name, result, np.where(wrong, np.where(fresh, site.number, before), _NONE))

    def _store(self, wave: Wave, name: str, number: Array, origin: Array) -> None:
        shadow = self.shadows.get(name)
        if shadow is None:
            shadow = _Shadow(np.zeros(wave.threads, np.int64), np.full(wave.threads, _NONE, np.int64))
            self.shadows[name] = shadow
        shadow.number[wave.index] = number
        shadow.origin[wave.index] = origin

    def _marks(self, site: Site, name: str) -> Wrap:
        """A result of 64 bits: marked where an operand is, or where one of 32 bits is not its number."""
        sources = list(names(site.instruction.operands[1 : 2 if site.parts[0] == "shl" else None]))
        kinds = {source: site.register_type(Register(source)) for source in sources}
        narrow = {source for source, kind in kinds.items() if kind is not None and kind.size == 4}
        unsigned = narrow if site.parts[-1].startswith("u") else set()

        def watched(wave: Wave) -> Iterator[None]:
            if not self.shadows:
                yield
                return
            self._enter(wave)
            marked: Any = np.full(wave.active_count, _NONE)
            for source in sources:
                if shadow := self.shadows.get(source):
                    origin = shadow.origin[wave.index]
                    if source in unsigned:
                        origin = np.where(beyond_unsigned(shadow.number[wave.index]), origin, _NONE)
                    marked = np.where(marked == _NONE, origin, marked)
            yield
            if (marked != _NONE).any():
                self._store(wave, name, np.zeros((), np.int64), marked)
            else:
                self._clear(wave, name)

        return around(watched)
