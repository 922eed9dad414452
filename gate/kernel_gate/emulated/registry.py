"""Opcodes by name: each file of `instructions/` registers builders; all of them are collected, none is listed."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kernel_gate.emulated.site import Site
    from kernel_gate.emulated.wave import Wave

Step: TypeAlias = "Callable[[Wave], None]"
"""Executes one instruction for the active threads of a wave."""
Builder: TypeAlias = "Callable[[Site], Step]"
"""Decodes one instruction. Raises `Unsupported` for a form that it does not know."""

_BUILDERS: dict[str, Builder] = {}


class Unsupported(Exception):  # noqa: N818
    """An opcode, a modifier or an operand that the emulated device does not know."""


def opcode(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder under the first part of its opcodes: `add` for `add.s32`."""

    def register(builder: Builder) -> Builder:
        for name in names:
            if name in _BUILDERS:
                raise ValueError(f"opcode {name} has two builders")
            _BUILDERS[name] = builder
        return builder

    return register


@cache
def builders() -> dict[str, Builder]:
    """Every builder."""
    from kernel_gate.emulated import instructions

    for module in pkgutil.iter_modules(instructions.__path__):
        importlib.import_module(f"{instructions.__name__}.{module.name}")
    return _BUILDERS
