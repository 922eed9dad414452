"""Moves, packing and addresses of variables (PTX ISA 9.0, 9.7.9 `mov`, `cvta`)."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.addresses import (
    CENTRE,
    FUNCTION_WINDOW,
    LOCAL_WINDOW,
    PARAMETERS,
    SEGMENT_BITS,
    SHARED_WINDOW,
    window_base,
)
from kernel_gate.emulated.ptx.model import Group
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site, Write
from kernel_gate.emulated.types import TYPES, UNSIGNED, Array
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
    if site.type.name == "b128":
        return _pack_quad(site, [site.reader(item, TYPES["b64"]) for item in source.items])
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
    if site.type.name == "b128":
        return _unpack_quad(site.read(1, site.type), writes)
    whole = UNSIGNED[site.type.size]
    read = site.read(1, TYPES[f"b{8 * site.type.size}"])

    def step(wave: Wave) -> None:
        value = read(wave)
        for position, write in enumerate(writes):
            write(wave, (value >> whole.type(8 * size * position)).astype(part.dtype))

    return step


def _pack_quad(site: Site, reads: list[Read]) -> Step:
    """Two words of 64 bits as one of 128, which NumPy cannot shift."""
    write = site.write(0, site.type)
    if len(reads) != 2:
        raise site.unsupported()

    def step(wave: Wave) -> None:
        pair = np.stack([wave.spread(read(wave)) for read in reads], axis=-1)
        write(wave, np.ascontiguousarray(pair).view(UNSIGNED[16])[:, 0])

    return step


def _unpack_quad(read: Read, writes: list[Write]) -> Step:
    def step(wave: Wave) -> None:
        pair = np.ascontiguousarray(wave.spread(read(wave))).view(np.uint64).reshape(-1, 2)
        for position, write in enumerate(writes):
            write(wave, pair[:, position].copy())

    return step


@opcode("cvta")
def convert_address(site: Site) -> Step:
    """`cvta` between a state space and generic addresses; global and const addresses are generic already."""
    kind = TYPES["u64"]
    space = site.first("shared", "local", "global", "const", "param")
    if space is None:
        raise site.unsupported()
    write, a = site.write(0, kind), site.read(1, kind)
    base = np.uint64(window_base(_WINDOWS[space]) if space in _WINDOWS else 0)
    if space == "param":
        base = np.uint64(window_base(PARAMETERS) + CENTRE)
    if site.has("to"):
        return lambda wave: write(wave, a(wave) - base)
    return lambda wave: write(wave, a(wave) + base)


def _is_global(number: Array) -> Array:
    return (number > FUNCTION_WINDOW) & (number < LOCAL_WINDOW)


@opcode("isspacep")
def is_in_space(site: Site) -> Step:
    """`isspacep`: whether a generic address lies in a window."""
    space = site.first("shared", "local", "global", "const", "param")
    if space is None:
        raise site.unsupported()
    write, a = site.write(0, TYPES["pred"]), site.read(1, TYPES["u64"])
    shift = np.uint64(SEGMENT_BITS)
    window = PARAMETERS if space == "param" else _WINDOWS.get(space)
    if window is not None:
        return lambda wave: write(wave, (a(wave) >> shift) == window)
    return lambda wave: write(wave, _is_global(a(wave) >> shift))
