"""Which registers need tags: those that data of a tagged buffer can reach and that an assertion can be reached from.

Flow-insensitive, over the decoded body: address arithmetic that no datum enters, and sums that no assertion asks for,
cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kernel_gate.emulated.matrices.elements import ELEMENTS
from kernel_gate.emulated.operands import names
from kernel_gate.emulated.ptx.model import Address, Instruction, Symbol
from kernel_gate.emulated.tags.marks import mark_of
from kernel_gate.emulated.types import TYPES

GLOBAL, SHARED, LOCAL = "global", "shared", "local"
_EVERYWHERE = frozenset((GLOBAL, SHARED, LOCAL))
_NOWHERE: frozenset[str] = frozenset()
_Ends = tuple[tuple[str, ...], frozenset[str]]
"""Registers and spaces at one end of an instruction."""
_Reached = tuple[set[str], set[str]]
CARRIES_NONE = (
    *(
        "setp",
        "set",
        "testp",
        "isspacep",
        "vote",
        "match",
        "activemask",
        "elect",
        "bar",
        "barrier",
        "bra",
        "brx",
    ),
    *("ret", "exit", "membar", "fence", "prefetch", "prefetchu", "createpolicy", "mbarrier", "trap", "brkpt"),
    *("nanosleep", "griddepcontrol", "setmaxnreg", "discard", "applypriority", "mapa", "getctarank"),
)
"""Results that are conditions, lanes or addresses, and what has none: no datum is in them."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction does with data."""

    reads: tuple[str, ...] = ()
    """Registers whose values go somewhere; those of addresses are not among them."""
    writes: tuple[str, ...] = ()
    reads_memory: frozenset[str] = _NOWHERE
    writes_memory: frozenset[str] = _NOWHERE
    asked: tuple[str, ...] = ()
    """Those of `reads` that an assertion looks at."""
    asks: bool = False
    """Whether an assertion looks at it at all."""


@dataclass(slots=True)
class Flow:
    """How tags flow in one kernel with one set of assertions."""

    registers: frozenset[str]
    """Those that are followed."""
    spaces: frozenset[str]
    """Memory that holds what is followed."""
    granule: int
    """Bytes of a lane: the smallest datum that is moved."""
    effects: list[Effect] = field(default_factory=list)

    def touches(self, number: int) -> bool:
        """Whether an instruction moves what is followed, or writes over it."""
        effect = self.effects[number]
        followed = self.registers.intersection((*effect.reads, *effect.writes))
        return bool(followed or effect.asks or effect.writes_memory & self.spaces)


def flow_of(
    body: Sequence[Instruction],
    parameters: Collection[str],
    asked: Collection[int],
    itemsizes: Collection[int],
) -> Flow:
    """The flow of a body. `asked`: numbers of the instructions whose operands assertions look at."""
    effects = [_effect(ins, parameters, number in asked) for number, ins in enumerate(body)]
    forward, filled = _forwards(effects)
    backward, read = _backwards(effects, {name for effect in effects for name in effect.asked})
    flow = Flow(frozenset(forward & backward), frozenset(filled & read), 4, effects)
    sizes = [4, *itemsizes]
    for number, instruction in enumerate(body):
        if flow.touches(number):
            sizes += _sizes(instruction)
    flow.granule = min(sizes)
    return flow


def flow_towards(
    body: Sequence[Instruction], parameters: Collection[str], ends: Collection[int], granule: int
) -> Flow:
    """All that the data of these instructions depend on, in every memory; values of the launch included."""
    effects = [_effect(ins, parameters, False) for ins in body]
    wanted = {name for number in ends for name in effects[number].reads}
    return Flow(frozenset(_backwards(effects, wanted)[0]), _EVERYWHERE, granule, effects)


def _forwards(effects: Sequence[Effect]) -> _Reached:
    """Registers and spaces that data of global memory can reach."""
    return _closed(
        [((e.reads, e.reads_memory), (e.writes, e.writes_memory)) for e in effects], set(), {GLOBAL}
    )


def _backwards(effects: Sequence[Effect], wanted: set[str]) -> _Reached:
    """Registers and spaces from which these registers can be reached."""
    return _closed([((e.writes, e.writes_memory), (e.reads, e.reads_memory)) for e in effects], wanted, set())


def _closed(links: Sequence[tuple[_Ends, _Ends]], registers: set[str], spaces: set[str]) -> _Reached:
    """What links lead to from these registers and spaces, them included."""
    before = -1
    while before != (before := len(registers) + len(spaces)):
        for (own, memory), (others, other_memory) in links:
            if memory & spaces or registers.intersection(own):
                registers.update(others)
                spaces |= other_memory
    return registers, spaces


def _effect(instruction: Instruction, parameters: Collection[str], asks: bool) -> Effect:
    effect = _moves(instruction, parameters)
    mark = mark_of(instruction)
    if mark is not None:
        asked = effect.reads if mark.kind == "operand" else ()
        return replace(effect, reads=asked, asked=asked, asks=True)
    if not asks:
        return effect
    # Of a product the factors alone: sums that nothing else asks for need not be followed.
    asked = effect.reads if effect.writes_memory else tuple(names(instruction.operands[1:3]))
    return replace(effect, asked=asked, asks=True)


def _moves(instruction: Instruction, parameters: Collection[str]) -> Effect:
    opcode, operands = instruction.parts[0], instruction.operands
    written, rest = tuple(names(operands[:1])), tuple(names(operands[1:]))
    if opcode in CARRIES_NONE:
        return Effect(writes=() if opcode in ("bar", "barrier") else written)
    if opcode in ("ld", "ldu", "ldmatrix") or instruction.parts[:2] == ("wmma", "load"):
        return Effect(writes=written, reads_memory=_space(instruction, parameters))
    if opcode in ("st", "red", "stmatrix") or instruction.parts[:2] == ("wmma", "store"):
        return Effect(rest, writes_memory=_space(instruction, parameters))
    if opcode == "atom":
        space = _space(instruction, parameters)
        return Effect(rest, written, space, space)
    if opcode == "cp":
        return _copies(instruction)
    if opcode == "wgmma":
        return Effect((*written, *rest), written, frozenset((SHARED,))) if operands else Effect()
    return Effect(rest, written)


def _copies(instruction: Instruction) -> Effect:
    """`cp.async` and bulk copies name where they go to and then where they come from; waits and groups move nothing."""
    spaces = [s for part in instruction.parts if (s := part.split("::")[0]) in _EVERYWHERE]
    if len(instruction.operands) < 3 or "prefetch" in instruction.parts or not spaces:
        return Effect()
    return Effect(reads_memory=frozenset(spaces[1:2]), writes_memory=frozenset(spaces[:1]))


def _space(instruction: Instruction, parameters: Collection[str]) -> frozenset[str]:
    parts = {part.split("::")[0] for part in instruction.parts}
    if "param" in parts:
        base = next((o.base for o in instruction.operands if isinstance(o, Address)), None)
        own = isinstance(base, Symbol) and base.name not in parameters
        return frozenset((LOCAL,)) if own else _NOWHERE
    if "const" in parts:
        return _NOWHERE
    named = parts & _EVERYWHERE
    return frozenset(named) if named else _EVERYWHERE


def _sizes(instruction: Instruction) -> Iterator[int]:
    """Bytes of the data that an instruction tells apart."""
    for part in instruction.parts[1:]:
        kind = TYPES.get(part)
        if kind is not None and kind.kind != "pred":
            yield kind.size // 2 if kind.kind in ("packed", "lanes") else kind.size
        elif part in ELEMENTS and instruction.parts[0] in ("mma", "wmma", "wgmma"):
            yield max(ELEMENTS[part].bits // 8, 1)
