"""Masks and positions of bits (PTX ISA 9.0, 9.7.1 `szext`, `bmsk`, `fns`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Wave

_WORD = 32


def _ones(count: Array) -> Array:
    """That many low bits set, of 0 to 32."""
    return (np.int64(1) << np.minimum(count, _WORD)) - 1


@opcode("szext")
def extend_sign_or_zero(site: Site) -> Step:
    """`szext d, a, b`: the low b bits of a, extended by their sign for signed types; b modulo 32, or at most 32."""
    kind, u32, wrap = site.type, TYPES["u32"], site.has("wrap")
    write, a, b = site.write(0, kind), site.read(1, u32), site.read(2, u32)

    def step(wave: Wave) -> None:
        count = np.asarray(b(wave)).astype(np.int64)
        count = count & (_WORD - 1) if wrap else np.minimum(count, _WORD)
        low = np.asarray(a(wave)).astype(np.int64) & _ones(count)
        if kind.kind == "int":
            top = np.where(count > 0, np.int64(1) << np.maximum(count - 1, 0), 0)
            low = np.where(low & top, low - (top << 1), low)
        write(wave, low.astype(kind.dtype)[()])

    return step


@opcode("bmsk")
def bit_mask(site: Site) -> Step:
    """`bmsk d, a, b`: b ones from bit a on; both modulo 32, or at most 32."""
    u32, wrap = TYPES["u32"], site.has("wrap")
    write, a, b = site.write(0, u32), site.read(1, u32), site.read(2, u32)

    def step(wave: Wave) -> None:
        start, count = (np.asarray(r(wave)).astype(np.int64) for r in (a, b))
        if wrap:
            start, count = start & (_WORD - 1), count & (_WORD - 1)
        else:
            start, count = np.minimum(start, _WORD), np.minimum(count, _WORD)
        write(wave, (_ones(count) << start).astype(np.uint32)[()])

    return step


@opcode("fns")
def find_nth_set(site: Site) -> Step:
    """`fns d, mask, base, offset`: the position of the n-th set bit from base on, backwards for negative offsets."""
    u32 = TYPES["u32"]
    write, mask = site.write(0, u32), site.read(1, u32)
    base, offset = site.read(2, u32), site.read(3, TYPES["s32"])

    def step(wave: Wave) -> None:
        shape = (wave.active_count, 1)
        words, start, wanted = (
            np.broadcast_to(np.asarray(wave.spread(r(wave))).astype(np.int64), shape[:1]).reshape(shape)
            for r in (mask, base, offset)
        )
        position = np.arange(_WORD)
        is_set = (words >> position) & 1
        upwards = np.where((is_set == 1) & (position >= start), 1, 0)
        downwards = np.where((is_set == 1) & (position <= start), 1, 0)
        from_below: Any = np.cumsum(upwards, axis=1) * upwards == wanted
        from_above: Any = np.cumsum(downwards[:, ::-1], axis=1)[:, ::-1] * downwards == -wanted
        hit = np.where(wanted > 0, from_below, (wanted < 0) & from_above)
        hit = np.where(wanted == 0, (is_set == 1) & (position == start), hit)
        positions = np.where(hit.any(axis=1), hit.argmax(axis=1), -1)
        write(wave, positions.astype(np.int32).view(np.uint32))

    return step
