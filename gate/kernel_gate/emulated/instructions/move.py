"""Moves, packing and addresses of variables (PTX ISA 9.0, 9.7.9 `mov`, `cvta`)."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.addresses import LOCAL_WINDOW, SHARED_WINDOW, window_base
from kernel_gate.emulated.ptx.model import Group
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, UNSIGNED
from kernel_gate.emulated.wave import Wave

_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


@opcode("mov")
def move(site: Site) -> Step:
    """`mov`, with packing `{a, b}` into one register and unpacking out of one."""
    if isinstance(site.operand(1), Group):
        return _pack(site)
    if isinstance(site.operand(0), Group):
        return _unpack(site)
    kind = site.type
    write, a = site.write(0, kind), site.read(1, kind)

    def step(wave: Wave) -> None:
        value = a(wave)
        # Two registers must not share an array: registers are written in place where threads diverge.
        write(wave, value.copy() if value.ndim and wave.active is None else value)

    return step


def _pack(site: Site) -> Step:
    source = site.operand(1)
    assert isinstance(source, Group)
    whole = UNSIGNED[site.type.size]
    size = site.type.size // len(source.items)
    part = TYPES[f"b{8 * size}"]
    reads = [site.reader(item, part) for item in source.items]
    write = site.write(0, TYPES[f"b{8 * site.type.size}"])

    def step(wave: Wave) -> None:
        value = reads[0](wave).astype(whole)
        for position, read in enumerate(reads[1:], 1):
            value = value | (read(wave).astype(whole) << whole.type(8 * size * position))
        write(wave, value)

    return step


def _unpack(site: Site) -> Step:
    target = site.operand(0)
    assert isinstance(target, Group)
    size = site.type.size // len(target.items)
    part = TYPES[f"b{8 * size}"]
    writes = [site.writer(item, part) for item in target.items]
    whole = UNSIGNED[site.type.size]
    read = site.read(1, TYPES[f"b{8 * site.type.size}"])

    def step(wave: Wave) -> None:
        value = read(wave)
        for position, write in enumerate(writes):
            write(wave, (value >> whole.type(8 * size * position)).astype(part.dtype))

    return step


@opcode("cvta")
def convert_address(site: Site) -> Step:
    """`cvta` between a state space and generic addresses; global and const addresses are generic already."""
    kind = TYPES["u64"]
    space = site.first("shared", "local", "global", "const", "param")
    if space is None or space == "param":
        raise site.unsupported()
    write, a = site.write(0, kind), site.read(1, kind)
    base = np.uint64(window_base(_WINDOWS[space]) if space in _WINDOWS else 0)
    if site.has("to"):
        return lambda wave: write(wave, a(wave) - base)
    return lambda wave: write(wave, a(wave) + base)


@opcode("isspacep")
def is_in_space(site: Site) -> Step:
    """`isspacep`: whether a generic address lies in a window."""
    space = site.first("shared", "local", "global", "const")
    if space is None:
        raise site.unsupported()
    write, a = site.write(0, TYPES["pred"]), site.read(1, TYPES["u64"])
    shift = np.uint64(40)
    if space in _WINDOWS:
        return lambda wave: write(wave, (a(wave) >> shift) == _WINDOWS[space])
    return lambda wave: write(wave, (a(wave) >> shift) > LOCAL_WINDOW)
