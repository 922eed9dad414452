"""What a kernel takes, as its PTX declares it: a driver does not notice arguments that are missing or too small."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def misfit(declared: Sequence[int], given: Sequence[int]) -> str:
    """What is wrong with arguments of these sizes, in words; "" when they fit."""
    if len(declared) != len(given):
        return f"the kernel takes {len(declared)} arguments; {len(given)} were given"
    for number, (takes, has) in enumerate(zip(declared, given, strict=True)):
        if takes != has:
            return f"argument {number} has {has} bytes; the kernel takes {takes}"
    return ""
