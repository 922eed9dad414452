"""Opcodes that integers, floats and packed halves share: the type of the instruction picks the family."""

from __future__ import annotations

from collections.abc import Callable

from kernel_gate.emulated.instructions import carry, floating, integer, video
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site

_Family = Callable[[Site], Step]


_FAMILIES: dict[tuple[str, ...], tuple[_Family, _Family, _Family | None]] = {
    ("add", "sub"): (integer.add_sub, floating.two_operands, carry.extended_sum),
    ("mul",): (integer.multiply, floating.two_operands, None),
    ("mad", "fma"): (integer.multiply_add, floating.fused, carry.extended_product),
    ("div",): (integer.divide, floating.divide, None),
    ("min", "max"): (integer.minimum_maximum, floating.minimum_maximum, None),
    ("neg",): (integer.negate, floating.one_operand, None),
    ("abs",): (integer.absolute, floating.one_operand, None),
}
"""Opcodes → how they are computed on integers, on floats, and with the carry flag."""


def _by_type(site: Site, on_integers: _Family, on_floats: _Family, carrying: _Family | None) -> Step:
    if carrying is not None and site.has("cc"):
        return carrying(site)
    if site.type.kind == "lanes":
        return video.packed_integers(site)
    return (on_floats if site.type.kind in ("float", "packed") else on_integers)(site)


def _register(opcodes: tuple[str, ...], families: tuple[_Family, _Family, _Family | None]) -> None:
    @opcode(*opcodes)
    def build(site: Site) -> Step:
        return _by_type(site, *families)


for _opcodes, _families in _FAMILIES.items():
    _register(_opcodes, _families)
