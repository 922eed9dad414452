"""Which registers the operands of an instruction name: those that it writes, those that it reads, and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernel_gate.emulated.ptx.model import Address, Group, Instruction, Operand, Register

_NO_RESULT = frozenset(
    {"st", "stmatrix", "red", "cp", "bra", "brx", "call", "ret", "exit", "bar", "barrier", "fence", "membar"}
    | {"prefetch", "prefetchu", "stackrestore"}
)


def items(operand: Operand) -> tuple[Operand, ...]:
    """The registers of `{a, b}`, or the one that stands alone."""
    return operand.items if isinstance(operand, Group) else (operand,)


def names(operands: Sequence[Operand]) -> Iterator[str]:
    """Names of register operands, those in groups among them, those that addresses are based on not."""
    for operand in operands:
        if isinstance(operand, Register):
            yield operand.name
        elif isinstance(operand, Group):
            yield from names(operand.items)


def bases(operands: Sequence[Operand]) -> Iterator[str]:
    """Names of the registers that memory operands are based on."""
    for operand in operands:
        if isinstance(operand, Address) and isinstance(operand.base, Register):
            yield operand.base.name
        elif isinstance(operand, Group):
            yield from bases(operand.items)


def results(instruction: Instruction) -> tuple[Operand, ...]:
    """The operand that an instruction writes to, if it has one."""
    operands = instruction.operands
    if instruction.parts[0] in _NO_RESULT or (operands and isinstance(operands[0], Address)):
        return ()
    return operands[:1]
