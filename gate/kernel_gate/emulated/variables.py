"""A module's global and constant variables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

import numpy as np

from kernel_gate.emulated.addresses import AddressSpace, Segment, function_address
from kernel_gate.emulated.inline import taken_functions
from kernel_gate.emulated.layout import Place
from kernel_gate.emulated.ptx.model import Address, Group, Module, Operand, Symbol
from kernel_gate.reaching import reachable


def place_variables(
    module: Module, space: AddressSpace | None = None, page_of: Callable[[str], int] | None = None
) -> dict[str, Segment]:
    """Allocate and initialise those that code can reach, pointers to each other included.

    They lie in a space of their own by default, each at any page or at that of its name. A header of a library may
    declare a thousand that no code reads.
    """
    space = space or AddressSpace()
    placed: dict[str, Segment] = {}
    reached = _reached(module)
    for variable in module.variables.values():
        if variable.space in ("global", "const") and variable.name in reached:
            page = page_of(variable.name) if page_of is not None else None
            segment = space.allocate(variable.nbytes, variable.name, 0, variable.space == "const", page=page)
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
            base = placed[symbol.name].base if symbol.name in placed else functions.get(symbol.name)
            if base is not None:
                address = np.uint64(base + symbol.offset)
                placed[variable.name].data[offset : offset + 8] = np.frombuffer(address.tobytes(), np.uint8)
    return placed


def places_of(variables: Mapping[str, Segment]) -> dict[str, Place]:
    """Where variables lie, which is all that decoded code knows of them."""
    return {name: Place(segment.base, segment.number) for name, segment in variables.items()}


def _reached(module: Module) -> Set[str]:
    """Names that instructions hold, and those that the initialisers of such variables hold."""
    instructions = (i for function in module.functions.values() for i in function.body)

    def initialised_with(name: str) -> list[str]:
        variable = module.variables.get(name)
        return [symbol.name for _, symbol in variable.addresses] if variable is not None else []

    return reachable((n for i in instructions for o in i.operands for n in _symbols(o)), initialised_with)


def _symbols(operand: Operand) -> Iterator[str]:
    match operand:
        case Symbol(name):
            yield name
        case Address(base):
            yield from _symbols(base)
        case Group(items):
            for item in items:
                yield from _symbols(item)
