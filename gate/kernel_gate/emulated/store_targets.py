"""Which kernel parameters can reach the address of a store: only those buffers can be raced on.

A flow-insensitive analysis of the decoded body: a register depends on every parameter that any of its writers reads.
A 64-bit value loaded from memory may be any pointer, and then every buffer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernel_gate.emulated.operands import names, results
from kernel_gate.emulated.ptx.model import Address, Group, Instruction, Integer, Operand, Register, Symbol

ANY = "*"
"""Stands for a pointer of unknown origin."""
_STORES = ("st", "atom", "red", "cp")


def origins_of(body: Sequence[Instruction], parameters: Iterable[str]) -> dict[str, frozenset[str]]:
    """Register → names of the parameters and variables that its value may be computed from; `ANY` among them: all."""
    bases = set(parameters)
    origins: dict[str, frozenset[str]] = {}
    changed = True
    while changed:
        changed = False
        for instruction in body:
            sources = _sources(instruction, origins, bases)
            for name in names(results(instruction)):
                before = origins.get(name, frozenset())
                if not sources <= before:
                    origins[name] = before | sources
                    changed = True
    return origins


def store_targets(body: Sequence[Instruction], parameters: Iterable[str]) -> frozenset[str]:
    """Names of the parameters and variables that some store may be based on; `ANY` among them: all."""
    origins = origins_of(body, parameters)
    targets: set[str] = set()
    for instruction in body:
        if _stores(instruction) and not {"shared", "local", "param"} & set(instruction.parts):
            if "tensor" in instruction.parts or instruction.parts[0] == "tensormap":
                # Where a tensor lies is known to its map alone.
                targets.add(ANY)
                continue
            address = next((o for o in instruction.operands if isinstance(o, Address)), None)
            if address is not None:
                targets |= _of(address.base, origins)
    return frozenset(targets)


def _stores(instruction: Instruction) -> bool:
    if "prefetch" in instruction.parts or "mbarrier::complete_tx::bytes" in instruction.parts:
        return False
    return instruction.parts[0] in (*_STORES, "tensormap") or instruction.parts[:2] == ("wmma", "store")


def _of(operand: Operand, origins: dict[str, frozenset[str]]) -> frozenset[str]:
    match operand:
        case Register(name):
            return origins.get(name, frozenset())
        case Symbol(name):
            return frozenset((name,))
        case Group(items):
            return frozenset().union(*(_of(item, origins) for item in items))
        case _:
            return frozenset()


def _sources(
    instruction: Instruction, origins: dict[str, frozenset[str]], parameters: set[str]
) -> frozenset[str]:
    opcode = instruction.parts[0]
    if opcode in ("ld", "ldu"):
        base = instruction.operands[1]
        if isinstance(base, Address) and "param" in instruction.parts and not isinstance(base.base, Integer):
            if isinstance(base.base, Symbol) and base.base.name in parameters:
                return frozenset((base.base.name,))
            return frozenset((ANY,))
        return frozenset((ANY,)) if instruction.parts[-1][1:] == "64" else frozenset()
    if opcode == "atom":
        return frozenset()
    return frozenset().union(*(_of(operand, origins) for operand in instruction.operands[1:]))
