"""Marks of an annotated program: moves into registers whose names say what is moved (`invariants.marking`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kernel_gate.emulated.ptx.model import Instruction, Register

_NAME = re.compile(r"klineage_(operand|number|check)_(\d+(?:_\d+)*)(?!\w)")


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark."""

    kind: Literal["operand", "number", "check"]
    assertion: int
    position: int = 0
    """The operand's place."""
    word: int = 0
    """Which 4 bytes of the operand these are."""
    nbytes: int = 4
    """Bytes of the whole operand."""


def mark_of(instruction: Instruction) -> Mark | None:
    """What an instruction marks; None for the program's own."""
    target = instruction.operands[0] if instruction.operands else None
    if instruction.parts[0] != "mov" or not isinstance(target, Register):
        return None
    match = _NAME.match(target.name)
    if match is None:
        return None
    return Mark(match[1], *(int(number) for number in match[2].split("_")))  # type: ignore[arg-type]
