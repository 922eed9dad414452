"""Which registers an instruction writes and reads, and whether one lane's result comes from several lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernel_gate.emulated.layout import Layout
from kernel_gate.emulated.operands import bases, names, results
from kernel_gate.emulated.ptx.model import Instruction, Operand

_OF_A_WARP = frozenset(
    {"shfl", "vote", "match", "redux", "activemask", "elect", "mma", "wmma", "wgmma", "ldmatrix", "stmatrix"}
    | {"movmatrix"}
)
_STORES = frozenset({"st", "atom", "red", "cp", "stmatrix"})
_CARRY = frozenset({"addc", "subc", "madc"})


@dataclass(frozen=True, slots=True)
class Effect:
    """Registers are numbers; one past the last stands for the condition-code register."""

    writes: tuple[int, ...]
    reads: tuple[int, ...]
    guard: tuple[int, ...]
    """The guard's register, which is among `reads`; none or one."""
    of_a_warp: bool
    """A lane's result depends on the operands of the warp's other lanes."""
    reads_any_shared: bool
    """It reads shared memory that no operand of a thread names: through a matrix descriptor."""
    writes_any_shared: bool
    """It writes shared memory that no operand of a thread names: a bulk copy."""


def effect_of(instruction: Instruction, layout: Layout) -> Effect:
    """What an instruction does to registers."""
    parts, operands = instruction.parts, instruction.operands
    name, modifiers = parts[0], parts[1:]
    written = results(instruction)
    accumulates = name == "wgmma"
    sources = operands if not written or accumulates else operands[1:]
    guard = [] if instruction.guard is None else [*_numbers([instruction.guard], layout)]
    reads = [*_numbers(sources, layout), *guard]
    writes = [*_numbers(written, layout)]
    condition_code = len(layout.types)
    if "cc" in modifiers:
        writes.append(condition_code)
    if name in _CARRY:
        reads.append(condition_code)
    bulk = name == "cp" and "bulk" in modifiers
    return Effect(
        tuple(dict.fromkeys(writes)),
        tuple(dict.fromkeys(reads)),
        tuple(guard),
        name in _OF_A_WARP,
        name == "wgmma",
        bulk and any(part.startswith("shared") for part in modifiers),
    )


def stored_spaces(instruction: Instruction) -> tuple[str, ...]:
    """Spaces in which an instruction may store: those that it names, or for a generic address global and shared."""
    parts = instruction.parts
    if parts[0] not in _STORES and parts[:2] != ("wmma", "store"):
        return ()
    named = tuple(space for space in ("global", "shared", "local") if any(p.startswith(space) for p in parts))
    return named or ("global", "shared")


def _numbers(operands: Sequence[Operand], layout: Layout) -> list[int]:
    """Numbers of the registers that operands name or are based on."""
    return [layout.registers[name] for name in _named(operands) if name in layout.registers]


def _named(operands: Sequence[Operand]) -> Iterator[str]:
    for operand in operands:
        yield from (*names((operand,)), *bases((operand,)))
