"""Bits: logic, shifts, fields, permutations (PTX ISA 9.0, 9.7.1 and 9.7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.instructions.integer import binary, unary
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array, PtxType
from kernel_gate.emulated.wave import Wave

_LOGIC: dict[str, Any] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@opcode(*_LOGIC)
def logic(site: Site) -> Step:
    """`and`, `or`, `xor`, of predicates too."""
    return binary(site, site.type, _LOGIC[site.parts[0]])


@opcode("not")
def complement(site: Site) -> Step:
    """`not`, of predicates too."""
    return unary(site, site.type, np.invert)


@opcode("cnot")
def logical_not(site: Site) -> Step:
    """`cnot`: 1 where the operand is zero."""
    return unary(site, site.type, lambda a: np.equal(a, 0).astype(a.dtype))


@opcode("lop3")
def logic_of_three(site: Site) -> Step:
    """`lop3.b32`: any function of three bits, as a table of eight."""
    kind = site.type
    write, a, b, c, table = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3, 4)))

    def step(wave: Wave) -> None:
        x, y, z, choose = a(wave), b(wave), c(wave), int(table(wave))
        result: Any = np.zeros_like(x & y & z)
        for case in range(8):
            if choose >> case & 1:
                term = (x if case & 4 else ~x) & (y if case & 2 else ~y)
                result = result | (term & (z if case & 1 else ~z))
        write(wave, result)

    return step


@opcode("shl", "shr")
def shift(site: Site) -> Step:
    """`shl`, `shr`: shifts of the width or more clear all bits, or fill with the sign."""
    kind, left = site.type, site.parts[0] == "shl"
    write, a, b = site.write(0, kind), site.read(1, kind), site.read(2, TYPES["u32"])
    width = 8 * kind.size
    operate: Any = np.left_shift if left else np.right_shift
    signed = kind.kind == "int" and not left

    def step(wave: Wave) -> None:
        values, by = a(wave), b(wave)
        if by.ndim == 0 and by < width:
            write(wave, operate(values, kind.dtype.type(by)))
            return
        result = operate(values, np.minimum(by, width - 1).astype(kind.dtype))
        write(wave, result if signed else np.where(by >= width, kind.dtype.type(0), result))

    return step


@opcode("shf")
def funnel_shift(site: Site) -> Step:
    """`shf.l`, `shf.r`: a window of 32 bits over the 64 of b:a."""
    kind = TYPES["u32"]
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    left, wrap = site.has("l"), site.has("wrap")

    def step(wave: Wave) -> None:
        words = (np.asarray(b(wave)).astype(np.uint64) << np.uint64(32)) | a(wave)
        by = np.asarray(c(wave)).astype(np.uint64)
        by = by & np.uint64(31) if wrap else np.minimum(by, np.uint64(32))
        shifted = words >> (np.uint64(32) - by) if left else words >> by
        write(wave, shifted.astype(np.uint32))

    return step


@opcode("bfe")
def extract_field(site: Site) -> Step:
    """`bfe`: `c` bits of a from bit b on, extended by the sign for signed types."""
    kind, u32 = site.type, TYPES["u32"]
    write, a, b, c = site.write(0, kind), site.read(1, kind), site.read(2, u32), site.read(3, u32)
    bits = 8 * kind.size

    def step(wave: Wave) -> None:
        values = a(wave)
        start = np.asarray(b(wave)).astype(np.int64) & 0xFF
        length = np.asarray(c(wave)).astype(np.int64) & 0xFF
        wide = np.asarray(values).view(kind.raw).astype(np.uint64)
        field = np.where(start >= bits, np.uint64(0), wide >> np.minimum(start, 63).astype(np.uint64))
        field = field & _ones(length.astype(np.uint64))
        if kind.kind == "int":
            top = np.minimum(start + length - 1, bits - 1)
            negative = (wide >> np.clip(top, 0, 63).astype(np.uint64)) & np.uint64(1)
            # Beyond the value's own bits the field is filled with the sign as well.
            valid = np.clip(np.minimum(length, bits - start), 0, 63).astype(np.uint64)
            fill = ~((np.uint64(1) << valid) - np.uint64(1))
            field = np.where((negative == 1) & (length > 0), field | fill, field)
        write(wave, field.astype(kind.raw).view(kind.dtype))

    return step


@opcode("bfi")
def insert_field(site: Site) -> Step:
    """`bfi f, a, b, pos, len`: the low bits of a into b."""
    kind, u32 = site.type, TYPES["u32"]
    write, a, b = site.write(0, kind), site.read(1, kind), site.read(2, kind)
    position, length = site.read(3, u32), site.read(4, u32)
    bits = 8 * kind.size

    def step(wave: Wave) -> None:
        start = np.asarray(position(wave)).astype(np.uint64) & np.uint64(0xFF)
        count = np.minimum(np.asarray(length(wave)).astype(np.uint64) & np.uint64(0xFF), np.uint64(bits))
        mask = np.where(start >= bits, np.uint64(0), _ones(count) << np.minimum(start, 63))
        low, into = np.asarray(a(wave)).astype(np.uint64), np.asarray(b(wave)).astype(np.uint64)
        write(wave, ((into & ~mask) | ((low << np.minimum(start, 63)) & mask)).astype(kind.dtype))

    return step


def _ones(count: Array) -> Array:
    """So many bits, the lowest of 64."""
    return np.where(count >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(count, 63)) - np.uint64(1))


@opcode("bfind")
def find_leading_bit(site: Site) -> Step:
    """`bfind`: the position of the highest bit that is not the sign; all ones when there is none."""
    kind, u32 = site.type, TYPES["u32"]
    write, a = site.write(0, u32), site.read(1, kind)
    amount = site.has("shiftamt")

    def step(wave: Wave) -> None:
        values = np.asarray(a(wave))
        plain = np.where(values < 0, ~values, values) if kind.kind == "int" else values
        zeros = leading_zeros(plain.view(kind.raw), kind)
        position = np.uint32(8 * kind.size - 1) - zeros
        result = zeros if amount else position
        write(wave, np.where(plain == 0, np.uint32(0xFFFFFFFF), result).astype(np.uint32))

    return step


def leading_zeros(values: Array, kind: PtxType) -> Array:
    """How many zero bits stand before the highest one."""
    width, smeared = 8 * kind.size, values
    step = 1
    while step < width:
        smeared = smeared | (smeared >> kind.raw.type(step))
        step *= 2
    return (np.uint32(width) - np.bitwise_count(smeared)).astype(np.uint32)


def _reverse(values: Array) -> Array:
    """The bits in opposite order, by swapping ever smaller groups."""
    width = 8 * values.dtype.itemsize
    result, size, kind = np.asarray(values), width // 2, values.dtype.type
    mask = (1 << width) - 1
    while size:
        mask ^= (mask << size) & ((1 << width) - 1)
        result = ((result >> kind(size)) & kind(mask)) | ((result & kind(mask)) << kind(size))
        size //= 2
    return result


_COUNTS: dict[str, Callable[[Array, PtxType], Array]] = {
    "popc": lambda a, _kind: np.bitwise_count(a).astype(np.uint32),
    "clz": leading_zeros,
}


@opcode(*_COUNTS)
def count_bits(site: Site) -> Step:
    """`popc`, `clz`: 32-bit results of operands of either width."""
    kind, compute = site.type, _COUNTS[site.parts[0]]
    write, a = site.write(0, TYPES["u32"]), site.read(1, kind)
    return lambda wave: write(wave, compute(a(wave), kind))


@opcode("brev")
def reverse_bits(site: Site) -> Step:
    """`brev`."""
    return unary(site, site.type, _reverse)


_PERMUTATIONS: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}
"""The modes of `prmt`: the four bytes, the lowest first, for each value of the two selector bits."""


@opcode("prmt")
def permute_bytes(site: Site) -> Step:
    """`prmt.b32`: four bytes of the eight of b:a; bit 3 of a selector copies the byte's sign."""
    kind = TYPES["u32"]
    mode = site.first(*_PERMUTATIONS)
    if len(site.parts) > 2 and mode is None:
        raise site.unsupported()
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    fixed = None if mode is None else np.array(
        [sum(byte << (4 * k) for k, byte in enumerate(choice)) for choice in _PERMUTATIONS[mode]], np.uint64
    )  # fmt: skip

    def step(wave: Wave) -> None:
        words = (np.asarray(b(wave)).astype(np.uint64) << np.uint64(32)) | a(wave)
        selectors = np.asarray(c(wave)).astype(np.uint64)
        if fixed is not None:
            selectors = fixed[selectors & np.uint64(3)]
        result: Any = np.uint64(0)
        for k in range(4):
            selector = (selectors >> np.uint64(4 * k)) & np.uint64(15)
            byte = (words >> ((selector & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
            sign = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            byte = np.where(selector & np.uint64(8), sign, byte)
            result = result | (byte << np.uint64(8 * k))
        write(wave, np.asarray(result).astype(np.uint32)[()])

    return step
