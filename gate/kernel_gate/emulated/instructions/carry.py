"""Extended-precision integers (PTX ISA 9.0, 9.7.2): the condition-code register is one bit per thread."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.instructions.integer import high_product
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Wave


def _carry_in(wave: Wave) -> Array:
    return wave.carry[wave.index]


def _set_carry(wave: Wave, carry: Array) -> None:
    wave.carry[wave.index] = carry


@opcode("addc", "subc")
def with_carry(site: Site) -> Step:
    """`addc` and `subc`, with `.cc` setting the carry (borrow) as well."""
    return extended_sum(site)


def extended_sum(site: Site) -> Step:
    """`add.cc`, `addc`, `sub.cc`, `subc`."""
    kind = TYPES[f"u{8 * site.type.size}"]
    write, a, b = site.write(0, kind), site.read(1, kind), site.read(2, kind)
    subtract, use, keep = site.parts[0][:3] == "sub", site.parts[0][-1] == "c", site.has("cc")

    def step(wave: Wave) -> None:
        x, y = wave.spread(a(wave)), wave.spread(b(wave))
        carry = _carry_in(wave).astype(kind.dtype) if use else np.zeros((), kind.dtype)
        if subtract:
            first = x - y
            total = first - carry
            out = (x < y) | (first < carry)
        else:
            first = x + y
            total = first + carry
            out = (first < x) | (total < first)
        write(wave, total)
        if keep:
            _set_carry(wave, out)

    return step


@opcode("madc")
def multiply_with_carry(site: Site) -> Step:
    """`madc`, with `.cc` or without."""
    return extended_product(site)


def extended_product(site: Site) -> Step:
    """`mad.cc` and `madc`, low or high half."""
    signed = site.type
    kind = TYPES[f"u{8 * signed.size}"]
    write, c = site.write(0, kind), site.read(3, kind)
    a, b = site.read(1, signed), site.read(2, signed)
    use, keep, high = site.parts[0] == "madc", site.has("cc"), site.has("hi")

    def step(wave: Wave) -> None:
        x, y, z = (wave.spread(r(wave)) for r in (a, b, c))
        product = (
            high_product(x, y, signed).view(kind.dtype) if high else x.view(kind.dtype) * y.view(kind.dtype)
        )
        carry = _carry_in(wave).astype(kind.dtype) if use else np.zeros((), kind.dtype)
        first = product + z
        total = first + carry
        write(wave, total)
        if keep:
            _set_carry(wave, (first < product) | (total < first))

    return step
