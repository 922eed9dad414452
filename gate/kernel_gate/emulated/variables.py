"""A module's global and constant variables in memory."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.addresses import AddressSpace, Segment, function_address
from kernel_gate.emulated.inline import taken_functions
from kernel_gate.emulated.ptx.model import Module


def place_variables(module: Module, space: AddressSpace | None = None) -> dict[str, Segment]:
    """Allocate and initialise them, pointers to each other included; in a space of their own by default."""
    space = space or AddressSpace()
    placed: dict[str, Segment] = {}
    for variable in module.variables.values():
        if variable.space in ("global", "const"):
            segment = space.allocate(variable.nbytes, variable.name, 1, variable.space == "const")
            data = np.zeros(variable.nbytes, np.uint8)
            if variable.data is not None:
                data[: len(variable.data)] = np.frombuffer(variable.data, np.uint8)
            segment.fill(data)
            placed[variable.name] = segment
    functions = {name: function_address(number) for number, name in enumerate(taken_functions(module))}
    for variable in module.variables.values():
        if variable.name not in placed:
            continue
        for offset, symbol in variable.addresses:
            known = placed[symbol.name].base if symbol.name in placed else functions.get(symbol.name)
            if known is not None:
                address = np.uint64(known + symbol.offset)
                placed[variable.name].data[offset : offset + 8] = np.frombuffer(address.tobytes(), np.uint8)
    return placed
