"""Shuffles whose lanes are known before they run: each thread's result is the operand of one other thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_gate.emulated.lanes import Index, source_lanes
from kernel_gate.emulated.layout import Layout
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.ptx.model import Instruction, Integer, Operand, Register
from kernel_gate.emulated.slicing.operands import effect_of

_MODES = ("up", "down", "bfly", "idx")


@dataclass(frozen=True, slots=True)
class Shuffle:
    """What a `shfl` reads, registers as numbers."""

    mode: str
    by: int
    clamp: int
    value: int
    """The operand that is exchanged."""
    own: tuple[int, ...]
    """What else a thread reads, of itself."""

    def sources(self, threads: Index) -> Index:
        """The thread whose operand each of these threads of a block receives."""
        lanes = threads % 32
        return threads - lanes + source_lanes(self.mode, lanes, self.by, self.clamp)[0]


def shuffles_of(kernel: DecodedKernel) -> Mapping[int, Shuffle]:
    """By the instruction's number: the shuffles by a constant. Compilers put it in a register that is written once."""
    body, layout = kernel.flat.body, kernel.layout
    exchanging = [n for n, i in enumerate(body) if i.parts[0] == "shfl"]
    constants = _constants(body, layout) if exchanging else {}
    shuffles = ((n, _read(body[n], layout, constants)) for n in exchanging)
    return {number: shuffle for number, shuffle in shuffles if shuffle is not None}


def _read(instruction: Instruction, layout: Layout, constants: Mapping[str, int]) -> Shuffle | None:
    mode = next((m for m in _MODES if m in instruction.parts), None)
    match instruction.operands:
        case [_, Register(value), by, clamp, *_] if mode is not None and value in layout.registers:
            lanes = [_number(operand, constants) for operand in (by, clamp)]
            exchanged, effect = layout.registers[value], effect_of(instruction, layout)
            own = tuple(r for r in effect.reads if r != exchanged or r in effect.guard)
            if lanes[0] is not None and lanes[1] is not None:
                return Shuffle(mode, lanes[0], lanes[1], exchanged, own)
    return None


def _constants(body: Sequence[Instruction], layout: Layout) -> Mapping[str, int]:
    """Registers that one instruction writes, which moves a number there."""
    written = Counter(register for i in body for register in effect_of(i, layout).writes)
    moved = (i.operands for i in body if i.parts[0] == "mov" and i.guard is None)
    return {
        name: value
        for operands in moved
        for name, value in _number_moved(operands)
        if written[layout.registers[name]] == 1
    }


def _number_moved(operands: Sequence[Operand]) -> Iterator[tuple[str, int]]:
    match operands:
        case [Register(name), Integer(value)]:
            yield name, value


def _number(operand: Operand, constants: Mapping[str, int]) -> int | None:
    match operand:
        case Integer(value):
            return value
        case Register(name):
            return constants.get(name)
    return None
