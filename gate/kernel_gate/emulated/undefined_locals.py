"""Values read from local memory that nothing has written, followed to where they are used.

Compilers read local memory ahead of the condition under which the value counts, and select afterwards, so the read
itself is no fault. What it gave is followed through registers of its thread; a store outside local memory, an address,
a guard or a branch that it reaches is. Not followed: copies within local memory, and what goes through another lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Place
from kernel_gate.emulated.access import Located
from kernel_gate.emulated.layout import Layout
from kernel_gate.emulated.operands import bases, items
from kernel_gate.emulated.program import Block, DecodedKernel
from kernel_gate.emulated.ptx.model import Instruction, Operand, Register
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.slicing.operands import effect_of
from kernel_gate.emulated.terminators import Branch
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.watching import Wrap, around
from kernel_gate.emulated.wave import Index, Wave

_STORES = ("st", "red", "atom")
Origins = npt.NDArray[np.int32]
"""For each thread the number of the read that a value comes from; 0: it is defined."""


@dataclass(slots=True)
class UndefinedLocals:
    """The registers of a wave that hold such values."""

    layout: Layout
    reads: list[tuple[Instruction, int]] = field(default_factory=list)
    """Instruction and byte in the thread's frame of each read; numbers count from 1."""
    undefined: dict[int, Origins] = field(default_factory=dict)
    _fresh: list[tuple[int, Index, int]] = field(default_factory=list)
    """The load that is under way: element of its vector, threads, number of the read."""

    def reset(self) -> None:
        """Forget an earlier launch."""
        self.reads.clear()
        self.undefined.clear()
        self._fresh.clear()

    def enter(self) -> None:
        """A new wave starts."""
        self.undefined.clear()

    def note(self, wave: Wave, instruction: Instruction, at: Located, element_bytes: int, count: int) -> None:
        """The active threads load `count` elements of local memory."""
        assert at.written is not None
        for part in range(count):
            # A word of which a part is written may be a structure with a hole.
            nothing = wave.spread(at.written[at.index + part] == 0)
            if nothing.any():
                first = int(np.argmax(nothing))
                offset = (int(wave.spread(at.index)[first]) + part) * element_bytes % wave.local.shape[1]
                self.reads.append((instruction, offset))
                self._fresh.append((part, wave.index[nothing], len(self.reads)))

    def watch(self, site: Site) -> Wrap:
        """What to put around every instruction."""
        effect, parts = effect_of(site.instruction, self.layout), site.parts
        loaded = _registers(site.instruction.operands[0], self.layout) if site.instruction.operands else []
        outside = parts[0] in _STORES and not {"local", "param"} & {p.split("::")[0] for p in parts}
        addresses = [self.layout.registers[n] for n in bases(site.instruction.operands)]
        used = effect.reads if outside else (*addresses, *effect.guard)
        origins_of = self._origins(site)

        def watched(wave: Wave) -> Iterator[None]:
            origins = None
            if self.undefined:
                self.use(wave, used, site.instruction)
                origins = None if effect.of_a_warp else origins_of(wave)
            yield
            if self.undefined:
                for register in effect.writes:
                    self._assign(wave, register, origins)
            for part, threads, number in self._fresh:
                target = loaded[part] if part < len(loaded) else None
                if target is not None:
                    self.undefined.setdefault(target, np.zeros(wave.threads, np.int32))[threads] = number
            self._fresh.clear()

        return around(watched)

    def with_branches(self, kernel: DecodedKernel) -> DecodedKernel:
        """The kernel, whose conditional branches are looked at too."""
        return replace(kernel, blocks=[self._with_branch(block) for block in kernel.blocks])

    def use(self, wave: Wave, registers: tuple[int, ...], instruction: Instruction) -> None:
        """Report undefined values of the active threads in registers that an instruction uses up."""
        origins = self._of(wave, registers)
        if origins is None or not origins.any():
            return
        position = int(np.argmax(origins != 0))
        read, offset = self.reads[int(origins[position]) - 1]
        block, thread = wave.place(int(wave.index[position]))
        side = Place("where the value is used", instruction.line, block, thread)
        message = (
            f"uninitialised read of local memory at byte {offset}, which nothing has written; it is used"
        )
        message += f" on line {instruction.line}" if instruction.line else f" by `{instruction.opcode}`"
        wave.launch.findings.add(wave.fault("uninitialised", message, read, position, related=(side,)))

    def _of(self, wave: Wave, registers: tuple[int, ...]) -> Origins | None:
        """Where the active threads' values of some registers come from; None: all are defined."""
        origins: Origins | None = None
        for register in registers:
            marks = self.undefined.get(register)
            if marks is not None:
                mine = marks if wave.active is None else marks[wave.active]
                origins = mine if origins is None else np.maximum(origins, mine)
        return origins

    def _assign(self, wave: Wave, register: int, origins: Origins | None) -> None:
        """A register was written by the active threads."""
        marks = self.undefined.get(register)
        if marks is None and (origins is None or not origins.any()):
            return
        if marks is None:
            marks = self.undefined[register] = np.zeros(wave.threads, np.int32)
        marks[wave.index] = 0 if origins is None else origins
        if not marks.any():
            del self.undefined[register]

    def _origins(self, site: Site) -> Callable[[Wave], Origins | None]:
        """Where a result comes from: its operands, of which a selection or a logical operation may drop one."""
        effect = effect_of(site.instruction, self.layout)
        if site.parts[0] == "selp":
            condition = site.read(3, TYPES["pred"])
            sides = [tuple(_numbers(site.operand(position), self.layout)) for position in (1, 2, 3)]
            return lambda wave: self._selected(wave, sides, condition)
        if site.parts in (("and", "pred"), ("or", "pred")):
            reads = [site.read(position, TYPES["pred"]) for position in (1, 2)]
            sides = [tuple(_numbers(site.operand(position), self.layout)) for position in (1, 2)]
            return lambda wave: self._joined(wave, sides, reads, decides=site.parts[0] == "or")
        if site.parts[0] in ("ld", "ldu"):
            return lambda _wave: None
        return lambda wave: self._of(wave, effect.reads)

    def _selected(self, wave: Wave, sides: list[tuple[int, ...]], condition: Read) -> Origins:
        holds = wave.spread(condition(wave))
        left, right, chosen = (self._each(wave, side) for side in sides)
        return np.where(chosen != 0, chosen, np.where(holds, left, right))

    def _joined(self, wave: Wave, sides: list[tuple[int, ...]], reads: list[Read], decides: bool) -> Origins:
        """What `and` and `or` give: an operand that is defined and decides the result makes it defined."""
        origins = [self._each(wave, side) for side in sides]
        decided = [
            (origin == 0) & (wave.spread(read(wave)) == decides)
            for origin, read in zip(origins, reads, strict=True)
        ]
        return np.where(decided[0] | decided[1], 0, np.maximum(*origins))

    def _each(self, wave: Wave, registers: tuple[int, ...]) -> Origins:
        origins = self._of(wave, registers)
        return np.zeros(wave.active_count, np.int32) if origins is None else origins

    def _with_branch(self, block: Block) -> Block:
        end = block.end
        if not isinstance(end, Branch) or end.guard is None or end.instruction.guard is None:
            return block
        read, instruction = end.guard, end.instruction
        registers = tuple(_numbers(end.instruction.guard, self.layout))

        def guard(wave: Wave) -> Array:
            if self.undefined:
                self.use(wave, registers, instruction)
            return read(wave)

        return Block(block.steps, block.count, replace(end, guard=guard))


def reads_local_memory(kernel: DecodedKernel) -> bool:
    """Whether a kernel has local variables that an instruction may load."""
    body = kernel.flat.body
    spaces = ("global", "shared", "const", "param")
    loads = (i for i in body if i.parts[0] == "ld" and not {p.split("::")[0] for p in i.parts} & set(spaces))
    return kernel.layout.frame_bytes > 0 and any(loads)


def _registers(operand: Operand, layout: Layout) -> list[int | None]:
    """The registers of a load, by the elements of its vector."""
    return [layout.registers.get(i.name) if isinstance(i, Register) else None for i in items(operand)]


def _numbers(operand: Operand, layout: Layout) -> list[int]:
    return [number for number in _registers(operand, layout) if number is not None]
