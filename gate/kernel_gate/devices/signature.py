"""What a kernel takes, as its PTX declares it: a driver does not notice arguments that are missing or too small."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

_ENTRY = r"\.entry\s+{}\s*\((.*?)\)"
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+(?:\.ptr[^,]*?\s)?([\w$]+)(?:\[(\d+)\])?"
)


def parameter_bytes(ptx: str, entry: str) -> list[int] | None:
    """Bytes of each parameter of a kernel, in order; None when the PTX has no such kernel."""
    head = re.search(_ENTRY.format(re.escape(entry)), ptx, re.DOTALL)
    if head is None:
        return None
    return [int(bits) // 8 * int(count or 1) for bits, _, count in _PARAMETER.findall(head[1])]


def misfit(declared: Sequence[int], sizes: Sequence[int]) -> str:
    """What is wrong with arguments of these sizes, in words; "" when they fit."""
    if len(declared) != len(sizes):
        return f"the kernel takes {len(declared)} arguments; {len(sizes)} were given"
    for number, (takes, has) in enumerate(zip(declared, sizes, strict=True)):
        if takes != has:
            return f"argument {number} has {has} bytes; the kernel takes {takes}"
    return ""


def with_structures(declared: Sequence[int], values: Sequence[np.generic]) -> list[list[np.generic]] | None:
    """Each parameter's words, where the fields of structures that are passed by value are given one by one.

    A structure has its fields where C++ puts them: each at a multiple of its own size, and the whole a multiple of the
    largest. None where the values do not fit the parameters so, or fit in more than one way.
    """
    groupings = list(_groups(list(declared), list(values)))
    return groupings[0] if len(groupings) == 1 else None


def _groups(declared: list[int], values: list[np.generic]) -> Iterator[list[list[np.generic]]]:
    if not declared:
        if not values:
            yield []
        return
    data = bytearray()
    largest = 1
    for count, value in enumerate(values, start=1):
        largest = max(largest, value.nbytes)
        data += bytes(-len(data) % value.nbytes) + value.tobytes()
        if len(data) > declared[0]:
            return
        if len(data) + -len(data) % largest == declared[0]:
            words = [value] if count == 1 else _words(data, declared[0], largest)
            yield from ([words, *rest] for rest in _groups(declared[1:], values[count:]))


def _words(data: bytearray, nbytes: int, size: int) -> list[np.generic]:
    return list(np.frombuffer(bytes(data).ljust(nbytes, b"\0"), np.dtype(f"u{size}")))
