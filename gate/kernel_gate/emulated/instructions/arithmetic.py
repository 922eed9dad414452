"""Opcodes that integers, floats and packed halves share: the type of the instruction picks the family."""

from __future__ import annotations

from collections.abc import Callable

from kernel_gate.emulated.instructions import carry, floating, integer, video
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site

_Family = Callable[[Site], Step]


def _by_type(site: Site, on_integers: _Family, on_floats: _Family) -> Step:
    if site.type.kind == "lanes":
        return video.packed_integers(site)
    return (on_floats if site.type.kind in ("float", "packed") else on_integers)(site)


@opcode("add", "sub")
def add_sub(site: Site) -> Step:
    """`add`, `sub`."""
    if site.has("cc"):
        return carry.extended_sum(site)
    return _by_type(site, integer.add_sub, floating.two_operands)


@opcode("mul")
def multiply(site: Site) -> Step:
    """`mul`."""
    return _by_type(site, integer.multiply, floating.two_operands)


@opcode("mad", "fma")
def multiply_add(site: Site) -> Step:
    """`mad`, `fma`."""
    if site.has("cc"):
        return carry.extended_product(site)
    return _by_type(site, integer.multiply_add, floating.fused)


@opcode("div")
def divide(site: Site) -> Step:
    """`div`."""
    return _by_type(site, integer.divide, floating.divide)


@opcode("min", "max")
def minimum_maximum(site: Site) -> Step:
    """`min`, `max`."""
    return _by_type(site, integer.minimum_maximum, floating.minimum_maximum)


@opcode("neg")
def negate(site: Site) -> Step:
    """`neg`."""
    return _by_type(site, integer.negate, floating.one_operand)


@opcode("abs")
def absolute(site: Site) -> Step:
    """`abs`."""
    return _by_type(site, integer.absolute, floating.one_operand)
