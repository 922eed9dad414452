"""Which registers carry integers that become addresses: backwards from every memory operand, through arithmetic.

Only instructions that keep a sum or a product what it is count: masks, remainders of unsigned numbers, shifts to the
right of unsigned numbers and cuts to fewer bits give a new number, as hashes mean them to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernel_gate.emulated.operands import bases, names
from kernel_gate.emulated.ptx.model import Address, Group, Instruction
from kernel_gate.reaching import reachable

_BITWISE = ("and", "xor", "not", "lop3", "popc", "clz", "brev", "bfe", "bfi", "prmt", "shf", "szext")
_UNSIGNED = ("div", "rem", "shr", "mul", "mad", "min", "max")


def address_registers(body: Sequence[Instruction]) -> frozenset[str]:
    """Names of the registers that addresses are computed from, without those that are used as bits as well."""
    writers: dict[str, list[Instruction]] = {}
    for instruction in body:
        if keeps_numbers(instruction):
            for name in names(instruction.operands[:1]):
                writers.setdefault(name, []).append(instruction)
    reached = set(
        reachable(
            (name for instruction in body for name in bases(instruction.operands)),
            lambda name: (n for writer in writers.get(name, ()) for n in names(writer.operands[1:])),
        )
    )
    return frozenset(reached - {n for instruction in body for n in _used_as_bits(instruction, reached)})


def keeps_numbers(instruction: Instruction) -> bool:
    """Whether the result is what its operands stand for: computed with them as whole numbers, not as bits."""
    name, *modifiers = instruction.parts
    if any(isinstance(operand, Group | Address) for operand in instruction.operands) or not modifiers:
        return False
    signedness, bits = modifiers[-1][0], modifiers[-1][1:]
    if name in ("add", "sub", "mul", "mad"):
        return signedness in "su" and bits in ("32", "64") and not {"hi", "cc", "sat"} & set(modifiers)
    if name in ("div", "rem", "min", "max", "shr", "neg"):
        return modifiers == ["s32"]
    if name == "cvt":
        return modifiers in (["s64", "s32"], ["u64", "u32"])
    if name in ("mov", "selp", "shl", "or"):
        return signedness in "sub" and bits in ("32", "64")
    return name == "cvta"


def _used_as_bits(instruction: Instruction, reached: set[str]) -> Iterator[str]:
    """Registers that a mask, or arithmetic of unsigned numbers that makes no address, takes modulo 2³²."""
    name, *modifiers = instruction.parts
    unsigned = name in _UNSIGNED and modifiers[-1].startswith("u")
    if unsigned and keeps_numbers(instruction):
        unsigned = not reached.intersection(names(instruction.operands[:1]))
    if unsigned or name in _BITWISE:
        yield from names(instruction.operands[1:])
