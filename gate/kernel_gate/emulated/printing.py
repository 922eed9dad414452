"""Device `printf`: a format and the bytes of its arguments → text (CUDA C++ programming guide, formatted output)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_SPECIFIER = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaApn%])")
_LONG = ("l", "ll", "j", "z", "t")


def formatted(text: str, data: bytes, string_at: Callable[[int], str]) -> str:
    """The text of one call. Arguments lie behind each other, aligned to their size of 4 or 8 bytes.

    Raises `ValueError` for `%n`, which devices do not have.
    """
    at = 0

    def take(layout: str) -> int | float:
        nonlocal at
        size = struct.calcsize(layout)
        at = -(-at // size) * size
        if at + size > len(data):
            raise ValueError(f"printf with fewer arguments than {text!r} asks for")
        value: int | float = struct.unpack_from(f"<{layout}", data, at)[0]
        at += size
        return value

    def written(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        if kind == "n":
            raise ValueError("printf with %n")
        width = str(take("i")) if width == "*" else width or ""
        precise = match[0].find(".") >= 0
        precision = str(take("i")) if precision == "*" else precision or ""
        head = f"%{flags}{width}" + (f".{precision}" if precise else "")
        if kind == "s":
            return (head + "s") % string_at(int(take("Q")))
        if kind == "p":
            return (f"%{flags}{width}s") % hex(int(take("Q")))
        if kind == "c":
            return (f"%{flags}{width}s") % chr(int(take("i")) & 0xFF)
        if kind in "aA":
            value = float(take("d")).hex()
            return (f"%{flags}{width}s") % (value.upper() if kind == "A" else value)
        if kind in "fFeEgG":
            return (head + kind) % take("d")
        return (head + ("d" if kind in "iu" else kind)) % _narrowed(take, length, kind in "di")

    return _SPECIFIER.sub(written, text)


def _narrowed(take: Callable[[str], int | float], length: str | None, signed: bool) -> int:
    """An integer of the length that the format names; shorter ones were widened to an int."""
    if length in _LONG:
        return int(take("q" if signed else "Q"))
    value = int(take("i" if signed else "I"))
    bits = {"hh": 8, "h": 16}.get(length or "", 32)
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
