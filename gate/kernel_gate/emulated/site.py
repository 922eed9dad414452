"""One instruction as its builder sees it: types, operands to read, registers to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from kernel_gate.emulated import special_registers
from kernel_gate.emulated.layout import Layout
from kernel_gate.emulated.ptx.model import FloatBits, Group, Instruction, Integer, Operand, Register, Symbol
from kernel_gate.emulated.registry import Unsupported
from kernel_gate.emulated.types import TYPES, UNSIGNED, Array, PtxType
from kernel_gate.emulated.wave import Wave

Read: TypeAlias = Callable[[Wave], Array]
Write: TypeAlias = Callable[[Wave, Array], None]


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction being decoded."""

    instruction: Instruction
    number: int
    """Its index in the flat body."""
    layout: Layout
    parts: tuple[str, ...]
    types: tuple[PtxType, ...]
    """The types that the opcode names, in its order."""
    read_registers: frozenset[str]
    """Every register that some instruction of the kernel reads."""

    @classmethod
    def of(
        cls, instruction: Instruction, number: int, layout: Layout, read_registers: frozenset[str]
    ) -> Site:
        """The site of one instruction."""
        parts = instruction.parts
        types = tuple(TYPES[p] for p in parts[1:] if p in TYPES)
        return cls(instruction, number, layout, parts, types, read_registers)

    @property
    def type(self) -> PtxType:
        """The last type of the opcode: that of the operands."""
        if not self.types:
            raise self.unsupported()
        return self.types[-1]

    def has(self, *modifiers: str) -> bool:
        """Whether the opcode carries any of these modifiers."""
        return any(m in self.parts for m in modifiers)

    def first(self, *modifiers: str) -> str | None:
        """The first of these modifiers that the opcode carries."""
        return next((p for p in self.parts if p in modifiers), None)

    def unsupported(self) -> Unsupported:
        """What to raise for a form that is not known."""
        return Unsupported(self.instruction.opcode)

    def operand(self, position: int) -> Operand:
        """An operand. Raises `Unsupported` when the instruction has fewer."""
        if position >= len(self.instruction.operands):
            raise self.unsupported()
        return self.instruction.operands[position]

    @property
    def operand_count(self) -> int:
        """How many operands it has."""
        return len(self.instruction.operands)

    def read(self, position: int, kind: PtxType) -> Read:
        """How to read an operand as values of a type."""
        return self.reader(self.operand(position), kind)

    def write(self, position: int, kind: PtxType) -> Write:
        """How to write an operand of a type."""
        return self.writer(self.operand(position), kind)

    def pair(self, position: int) -> tuple[Operand, Operand | None]:
        """`d|p` as its two destinations; the second is None when only one stands there."""
        operand = self.operand(position)
        if isinstance(operand, Group) and len(operand.items) == 2:
            return operand.items[0], operand.items[1]
        return operand, None

    def is_read(self, operand: Operand) -> bool:
        """Whether anything reads this destination."""
        return isinstance(operand, Register) and operand.name in self.read_registers

    def register_type(self, operand: Operand) -> PtxType | None:
        """The declared type of a register operand."""
        if isinstance(operand, Register) and operand.name in self.layout.registers:
            return self.layout.types[self.layout.registers[operand.name]]
        return None

    def reader(self, operand: Operand, kind: PtxType) -> Read:
        """How to read any operand as values of a type; wider registers are cut, as the ISA allows."""
        match operand:
            case Register(part=part) if part:
                raise self.unsupported()
            case Register(name) if name in self.layout.registers:
                return self._register_reader(operand, kind)
            case Register(name):
                return self._special_reader(name, kind)
            case Integer(value):
                return _constant(value, kind)
            case FloatBits(bits, size):
                if kind.dtype == np.float64 and size == 4:
                    return _constant(float(np.uint32(bits).view(np.float32)), kind)
                return _constant_bits(bits, kind)
            case Symbol(name, offset):
                return self._symbol_reader(name, offset, kind)
            case _:
                raise self.unsupported()

    def _register_reader(self, operand: Register, kind: PtxType) -> Read:
        number = self.layout.registers[operand.name]
        declared, dtype = self.layout.types[number], kind.dtype
        if declared.kind == "pred" or kind.kind == "pred":
            if declared.kind != kind.kind:
                raise self.unsupported()
            return _predicate_reader(number, operand.negated)
        if declared.size < kind.size:
            raise self.unsupported()
        if declared.size > kind.size:
            return _narrowing_reader(number, declared.raw, kind.raw, dtype)

        def read(wave: Wave) -> Array:
            value = wave.read(number)
            return value if value.dtype is dtype else value.view(dtype)

        return read

    def _special_reader(self, name: str, kind: PtxType) -> Read:
        special = special_registers.reader(name)
        if special is None:
            raise Unsupported(f"{self.instruction.opcode} of {name}")

        def read(wave: Wave) -> Array:
            value = special(wave)
            if value.dtype != kind.dtype:
                value = value.astype(kind.raw).view(kind.dtype)
            active = wave.active
            return value if active is None or value.ndim == 0 else value[active]

        return read

    def _symbol_reader(self, name: str, offset: int, kind: PtxType) -> Read:
        layout = self.layout
        if name == "WARP_SZ":
            return _constant(32, kind)
        if name in layout.shared:
            return _constant(layout.shared[name].address + offset, kind)
        if name in layout.local:
            return _constant(layout.local[name] + offset, kind)
        if name in layout.globals:
            return _constant(layout.globals[name].base + offset, kind)
        if name in layout.functions:
            return _constant(layout.functions[name], kind)
        if name in layout.parameters:
            return _constant(layout.parameters[name][0] + offset, kind)
        raise Unsupported(f"{self.instruction.opcode} of {name}")

    def writer(self, operand: Operand, kind: PtxType) -> Write:
        """How to write a register; a wider one is extended by the type's sign."""
        if not isinstance(operand, Register) or operand.part:
            raise self.unsupported()
        if operand.name == "_":
            return _discard
        if operand.name not in self.layout.registers:
            raise self.unsupported()
        number = self.layout.registers[operand.name]
        declared = self.layout.types[number]
        if (declared.kind == "pred") != (kind.kind == "pred") or declared.size < kind.size:
            raise self.unsupported()
        if declared.size == kind.size:
            return lambda wave, value: wave.write(number, value)
        wide = np.dtype(f"i{declared.size}") if kind.kind == "int" else declared.raw
        narrow = kind.dtype if kind.kind == "int" else kind.raw
        return lambda wave, value: wave.write(number, value.view(narrow).astype(wide))


def _discard(wave: Wave, value: Array) -> None:
    """The sink `_`."""


def _predicate_reader(number: int, negated: bool) -> Read:
    def read(wave: Wave) -> Array:
        value = wave.read(number)
        return ~value if negated else value

    return read


def _narrowing_reader(number: int, raw: np.dtype[Any], narrow: np.dtype[Any], dtype: np.dtype[Any]) -> Read:
    return lambda wave: wave.read(number).view(raw).astype(narrow).view(dtype)


def _constant(value: float, kind: PtxType) -> Read:
    if kind.kind == "pred":
        flag: Any = np.bool_(bool(value))
        return lambda _wave: flag
    if kind.dtype.kind == "f":
        number: Any = kind.dtype.type(value)
        return lambda _wave: number
    return _constant_bits(int(value), kind)


def _constant_bits(bits: int, kind: PtxType) -> Read:
    raw = UNSIGNED[kind.size]
    value: Any = raw.type(bits & ((1 << (8 * kind.size)) - 1)).view(kind.dtype)
    return lambda _wave: value
