"""A kernel decoded: basic blocks of steps, each block with the way it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.devices.base import Fault
from kernel_gate.emulated.address_registers import address_registers
from kernel_gate.emulated.faults import LaunchFault
from kernel_gate.emulated.guessed import guesses
from kernel_gate.emulated.inline import FlatKernel, flatten
from kernel_gate.emulated.layout import Layout, Place, lay_out
from kernel_gate.emulated.matrices.elements import ELEMENTS
from kernel_gate.emulated.meeting import meeting_order
from kernel_gate.emulated.operands import names
from kernel_gate.emulated.ptx.model import (
    ORDERED,
    Address,
    Group,
    Instruction,
    Module,
    Operand,
    PtxError,
    Register,
    Symbol,
)
from kernel_gate.emulated.registry import Step, Unsupported, builders
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.special_registers import GRID_BARRIER
from kernel_gate.emulated.store_targets import store_targets
from kernel_gate.emulated.terminators import Barrier, Branch, ClusterWait, Terminator, barrier, indexed_branch
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.warpgroup import guard_accumulators
from kernel_gate.emulated.wave import Index, Wave

_ENDS = ("bra", "ret", "exit", "bar", "barrier", "brx")


@dataclass(slots=True)
class Block:
    """Instructions that run one after the other."""

    steps: list[Step]
    count: int
    """Instructions in it, its end included."""
    end: Terminator | None
    """None: falls through to the next block."""


@dataclass(slots=True)
class DecodedKernel:
    """What runs."""

    flat: FlatKernel
    layout: Layout
    blocks: list[Block]
    unsupported: Counter[str]
    """Opcodes that stop the launch when a thread reaches them."""
    shared_granule: int
    """Bytes of the smallest access to shared memory: how finely races are told apart."""
    global_granule: int
    orders_parts: bool
    """Whether an mbarrier, or a barrier that counts its threads, may order some threads of a block alone."""
    loads_in_order: bool
    """Whether it has volatile or relaxed loads."""
    store_targets: frozenset[str]
    """Parameters and variables that stores can be based on (`store_targets.store_targets`)."""
    address_registers: frozenset[str]
    """Registers whose sums and products become addresses (`address_registers.address_registers`)."""
    order: Index | None
    """The place of each block among those that run first; None for its number (`meeting.meeting_order`)."""
    guesses: frozenset[int]
    """Numbers of the loads that guess what a compare-and-swap will meet (`guessed.guesses`)."""
    meets_grid: bool
    """Whether all blocks of a grid may wait for each other, so that they have to run together."""
    spares: list[tuple[Any, Any, DecodedKernel]] = field(default_factory=list, compare=False)
    """Watchers of overflow and the kernel with them around its steps, from launches that have ended."""


def decode(module: Module, entry: str, variables: Mapping[str, Place] | None = None) -> DecodedKernel:
    """Decode the kernel called `entry` of a module whose variables lie at these places.

    Raises `PtxError` when the module has none or it is malformed.
    """
    function = module.functions.get(entry)
    if function is None or not function.entry:
        names = ", ".join(f.name for f in module.functions.values() if f.entry) or "none"
        raise PtxError(f"the PTX has no kernel `{entry}`; it has: {names}")
    flat = flatten(module, function)
    layout = lay_out(flat, module.variables.values())
    layout.globals.update(variables or {})
    return _Decoder(flat, layout).decode()


class _Decoder:
    def __init__(self, flat: FlatKernel, layout: Layout) -> None:
        self.flat, self.layout = flat, layout
        self.unsupported: Counter[str] = Counter()
        self.read = frozenset(_read_registers(flat.body))
        self.accumulators = _accumulators(flat.body)
        starts = {0, *flat.labels.values()}
        starts |= {i + 1 for i, ins in enumerate(flat.body) if _ends_block(ins)}
        starts |= {i for i, ins in enumerate(flat.body) if _waits_for_cluster(ins)}
        self.starts = sorted(s for s in starts if s < len(flat.body))
        self.block_at = {start: number for number, start in enumerate(self.starts)}

    def decode(self) -> DecodedKernel:
        blocks = []
        for start, stop in zip(self.starts, [*self.starts[1:], len(self.flat.body)], strict=True):
            body = list(enumerate(self.flat.body[start:stop], start))
            last = body.pop() if _ends_block(body[-1][1]) else None
            steps = [self._step(n, ins) for n, ins in body]
            end = None
            if last is not None:
                try:
                    end = self._end(*last)
                except Unsupported as error:
                    steps.append(self._unknown(str(error), last[1]))
            blocks.append(Block(steps, stop - start, end))
        return DecodedKernel(
            self.flat,
            self.layout,
            blocks,
            self.unsupported,
            self._granule("shared"),
            self._granule("global"),
            any(ins.parts[0] == "mbarrier" for ins in self.flat.body)
            or any(isinstance(b.end, Barrier) and b.end.expected is not None for b in blocks),
            any(ins.parts[0] == "ld" and not set(ORDERED).isdisjoint(ins.parts) for ins in self.flat.body),
            store_targets(self.flat.body, self.layout.parameters),
            address_registers(self.flat.body),
            meeting_order(blocks),
            guesses(self.flat.body),
            any(name in GRID_BARRIER for ins in self.flat.body for name in names(ins.operands[1:])),
        )

    def _site(self, number: int, instruction: Instruction) -> Site:
        return Site.of(instruction, number, self.layout, self.read)

    def _guard(self, site: Site) -> Read | None:
        guard = site.instruction.guard
        return None if guard is None else site.reader(guard, TYPES["pred"])

    def _step(self, number: int, instruction: Instruction) -> Step:
        site = self._site(number, instruction)
        try:
            builder = builders().get(site.parts[0])
            if builder is None:
                raise site.unsupported()
            step, guard = builder(site), self._guard(site)
        except Unsupported as error:
            return self._unknown(str(error), instruction)
        except (KeyError, IndexError, ValueError):
            # A type, a modifier or a number of operands that none of the builder's tables has.
            return self._unknown(instruction.opcode, instruction)
        step = self._watched(step, instruction)
        return step if guard is None else guarded(step, guard)

    def _watched(self, step: Step, instruction: Instruction) -> Step:
        """Look out for accumulators of wgmma that are used while a product may still be writing them.

        Moves are let through: compilers place them where they end in no instruction.
        """
        if not self.accumulators or instruction.parts[0] in ("wgmma", "mov"):
            return step
        used = self.accumulators & set(_registers(Group(instruction.operands)))
        if not used:
            return step
        return guard_accumulators(step, frozenset(self.layout.registers[n] for n in used), instruction)

    def _unknown(self, opcode: str, instruction: Instruction) -> Step:
        """A step that stops the launch when a thread reaches it."""
        self.unsupported[opcode] += 1
        step = _unsupported_step(opcode, instruction)
        guard = instruction.guard
        if guard is None or guard.name not in self.layout.registers:
            return step
        return guarded(step, self._site(0, instruction).reader(guard, TYPES["pred"]))

    def _end(self, number: int, instruction: Instruction) -> Terminator:
        site = self._site(number, instruction)
        guard = self._guard(site)
        if site.parts[0] in ("ret", "exit"):
            return Branch(instruction, guard, None)
        if _waits_for_cluster(instruction):
            return ClusterWait(instruction, guard)
        if site.parts[0] == "bra":
            return Branch(instruction, guard, self._block(_label(site, 0)))
        if site.parts[0] == "brx":
            table = _label(site, 1)
            if table not in self.flat.branch_targets:
                raise PtxError(f"line {instruction.ptx_line} of the PTX: no branch targets `{table}`")
            return indexed_branch(site, guard, [self._block(n) for n in self.flat.branch_targets[table]])
        return barrier(site, guard)

    def _block(self, label: str) -> int | None:
        """The block that a label starts; None when it stands at the end of the kernel."""
        if label not in self.flat.labels:
            raise PtxError(f"the PTX jumps to `{label}`, which it does not define")
        return self.block_at.get(self.flat.labels[label])

    def _granule(self, space: str) -> int:
        """Bytes of the smallest access that can reach a space, at most a word."""
        others = {"global", "shared", "param", "local", "const"} - {space}
        sizes = [
            size
            for ins in self.flat.body
            if (size := _accessed(ins)) and not others & {part.split("::")[0] for part in ins.parts}
        ]
        return min([4, *sizes])


def _accessed(instruction: Instruction) -> int:
    """Bytes of one element of a memory instruction; 0 of any other, or of one that moves whole words."""
    parts = instruction.parts
    if parts[0] in ("ld", "st", "atom", "red") and parts[-1] in TYPES:
        return TYPES[parts[-1]].size
    if parts[:2] in (("wmma", "load"), ("wmma", "store")):
        return next((ELEMENTS[p].bits // 8 for p in parts if p in ELEMENTS), 0)
    return 0


def _label(site: Site, position: int) -> str:
    target = site.operand(position)
    if not isinstance(target, Symbol):
        raise PtxError(f"line {site.instruction.ptx_line} of the PTX: a label expected")
    return target.name


def _ends_block(instruction: Instruction) -> bool:
    parts = instruction.parts
    if parts[1:2] == ("cluster",):
        return _waits_for_cluster(instruction)
    return parts[0] in _ENDS and parts[1:2] != ("warp",)


def _waits_for_cluster(instruction: Instruction) -> bool:
    return instruction.parts[:3] == ("barrier", "cluster", "wait")


def guarded(step: Step, guard: Read) -> Step:
    """A predicated instruction: runs for the threads whose predicate holds."""

    def guarded(wave: Wave) -> None:
        chosen = guard(wave)
        if chosen.ndim == 0:
            if chosen:
                step(wave)
            return
        if chosen.all():
            step(wave)
            return
        outer = wave.active
        wave.active = np.flatnonzero(chosen) if outer is None else outer[chosen]
        if len(wave.active):
            step(wave)
        wave.active = outer

    return guarded


def _unsupported_step(opcode: str, instruction: Instruction) -> Step:
    place = f"line {instruction.line}" if instruction.line else f"line {instruction.ptx_line} of the PTX"
    fault = Fault("unsupported", f"unsupported: {opcode} at {place}", instruction.line)

    def step(_wave: Wave) -> None:
        raise LaunchFault(fault)

    return step


def _read_registers(body: list[Instruction]) -> Iterator[str]:
    """Names of registers in a position where they are read; a first operand counts only where nothing is written."""
    for instruction in body:
        if instruction.guard is not None:
            yield instruction.guard.name
        no_result = instruction.parts[0] in (
            "st",
            "red",
            "bra",
            "brx",
            "bar",
            "barrier",
            "call",
            "cp",
            "stackrestore",
        )
        for position, operand in enumerate(instruction.operands):
            if position > 0 or no_result or isinstance(operand, Address):
                yield from _registers(operand)


def _accumulators(body: list[Instruction]) -> frozenset[str]:
    """Names of the registers that products of warpgroups are written to."""
    products = (ins for ins in body if ins.parts[:2] == ("wgmma", "mma_async"))
    return frozenset(name for ins in products for name in _registers(ins.operands[0]))


def _registers(operand: Operand) -> Iterator[str]:
    match operand:
        case Register(name):
            yield name
        case Address(Register(name)):
            yield name
        case Group(items):
            for item in items:
                yield from _registers(item)
