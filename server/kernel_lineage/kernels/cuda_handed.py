"""Which memory a device function's pointers point to, by what its callers hand to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tree_sitter import Node

from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax

_BUSY = "handed spaces are being read"


def handed_spaces(unit: Unit, space_of: Callable[[Unit, Node], str]) -> Mapping[str, str]:
    """Pointer parameter → `global`, `shared` or `local`; `unknown` where callers differ, or none of the file is seen.

    `space_of` gives the memory space of an argument in the unit that makes the call.
    """
    spaces = dict.fromkeys(unit.pointer_parameters, "unknown")
    syntax = cuda_syntax(unit.kernel)
    if syntax is None or _BUSY in unit.derived:
        return spaces
    unit.derived[_BUSY] = True
    try:
        places = {name: number for number, name in enumerate(unit.parameters)}
        for name in spaces:
            candidates = {
                space_of(caller, arguments[places[name]])
                for caller, arguments in _calls(syntax.units, unit)
                if name in places and places[name] < len(arguments)
            }
            if len(candidates) == 1:
                spaces[name] = candidates.pop()
    finally:
        del unit.derived[_BUSY]
    return spaces


def _calls(units: tuple[Unit, ...], called: Unit) -> Iterator[tuple[Unit, tuple[Node, ...]]]:
    for unit in units:
        for call in unit.calls_by_name.get(called.name, ()):
            if not call.receiver:
                yield unit, call.arguments
