"""Where the variables of a kernel lie, and the width of its registers: decided once, when it is decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kernel_gate.emulated.addresses import SHARED_BITS, SHARED_CENTRE, function_address
from kernel_gate.emulated.inline import FlatKernel
from kernel_gate.emulated.ptx.model import Variable
from kernel_gate.emulated.types import TYPES, PtxType

POISON = 0xFF
"""Fresh shared and local memory: a NaN as float, -1 as integer."""


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable of shared memory."""

    name: str
    address: int
    """What programs see: a 32-bit address far from its neighbours'; its lower 18 bits are `physical`."""
    physical: int
    """Offset in the block's shared memory, which decides banks and swizzles."""
    nbytes: int
    """Bytes; 0 for an external array, whose size is the launch's."""
    external: bool


class Place(NamedTuple):
    """Where a variable of a module lies."""

    base: int
    """The address of its first byte."""
    number: int
    """That of its segment."""


@dataclass(slots=True)
class Layout:
    """Registers by number, variables by address."""

    registers: dict[str, int] = field(default_factory=dict)
    types: list[PtxType] = field(default_factory=list)
    unset: list[Any] = field(default_factory=list)
    """What each register holds before its first write, as fresh memory does; predicates are false."""
    parameters: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Kernel parameter → (offset, bytes)."""
    parameter_bytes: int = 0
    local: dict[str, int] = field(default_factory=dict)
    """Local variable or parameter slot of a call → offset in the thread's frame."""
    frame_bytes: int = 0
    shared: dict[str, SharedVariable] = field(default_factory=dict)
    static_shared_bytes: int = 0
    globals: dict[str, Place] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    """Device function whose address is taken → what its pointers hold."""


def _unset(raw: np.dtype[Any]) -> Any:
    return np.False_ if raw == np.bool_ else np.full(raw.itemsize, POISON, np.uint8).view(raw)[0]


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align


def lay_out(kernel: FlatKernel, module_variables: Iterable[Variable]) -> Layout:
    """Place everything but the module's global variables, which the loaded image owns."""
    layout = Layout()
    layout.functions = {name: function_address(number) for name, number in kernel.functions.items()}
    for name, kind in kernel.registers.items():
        layout.registers[name] = len(layout.types)
        layout.types.append(TYPES[kind])
        layout.unset.append(_unset(TYPES[kind].raw))
    for parameter in kernel.parameters:
        offset = _aligned(layout.parameter_bytes, parameter.align)
        layout.parameters[parameter.name] = (offset, parameter.nbytes)
        layout.parameter_bytes = offset + parameter.nbytes
    for variable in kernel.variables:
        if variable.space in ("local", "param"):
            offset = _aligned(layout.frame_bytes, max(variable.align, 8))
            layout.local[variable.name] = offset
            layout.frame_bytes = offset + variable.nbytes
    layout.frame_bytes = _aligned(layout.frame_bytes, 16)
    shared = [v for v in (*kernel.variables, *module_variables) if v.space == "shared"]
    physical, number = 0, 1
    for variable in sorted(shared, key=lambda v: v.external):
        # All external arrays are the same memory: the launch's dynamic part, after everything static.
        physical = _aligned(physical, max(16, variable.align) if variable.external else variable.align)
        address = (number << SHARED_BITS) + SHARED_CENTRE + physical
        layout.shared[variable.name] = SharedVariable(
            variable.name, address, physical, variable.nbytes, variable.external
        )
        if not variable.external:
            physical += variable.nbytes
            number += 1
    layout.static_shared_bytes = physical
    return layout
