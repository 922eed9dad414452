"""What the code writes → the text of a condition, where the condition language can say it.

C++ and Python spell guards differently (`&&`, `x & 3`, `get_device_capability()[0]`); a condition has one spelling.
"""

from __future__ import annotations

import re

from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.tree import facts_in

_CAPABILITY = r"(?:[\w.]*\.)?get_device_capability\(\s*\w*\s*\)"
_REWRITES: tuple[tuple[str, str], ...] = (
    (r"&&", " and "),
    (r"\|\|", " or "),
    (r"!(?!=)", " not "),
    (r"\btrue\b", "True"),
    (r"\bfalse\b", "False"),
    (rf"{_CAPABILITY}\[0\]\s*(>=|<|==)\s*(\d+)", r"device.compute_capability \1 (\2, 0)"),
    (rf"{_CAPABILITY}\s*(>=|<|==|>|<=)", r"device.compute_capability \1"),
    (r"\b(\w+)\.is_contiguous\(\)", r"contiguous(\1)"),
    (r"\b(\w+)\.(?:stride|strides)\((-?\d+)\)", r"stride(\1, \2)"),
    (r"\b(\w+)\.dtype\s*(==|!=)\s*torch\.(\w+)", r"dtype(\1) \2 \3"),
    (r"\bblockDim\.([xyz])\b", r"launch.block.\1"),
    (r"\bgridDim\.([xyz])\b", r"launch.grid.\1"),
)
_MASK_OF_LOW_BITS = re.compile(r"\(?\s*(\w+)\s*&\s*(\d+)\s*\)?\s*==\s*0")
_DIVISION = re.compile(r"(?<!/)/(?!/)")


def spelled(guard: str, *, of_integers: bool = False) -> str | None:
    """The guard as a condition would be written, whatever its names stand for; None when it cannot be said at all.

    `of_integers`: `/` is C++'s division of integers.
    """
    text = _MASK_OF_LOW_BITS.sub(_low_bits_as_modulus, " ".join(guard.split()))
    for pattern, replacement in _REWRITES:
        text = re.sub(pattern, replacement, text)
    if of_integers:
        text = _DIVISION.sub("//", text)
    text = re.sub(r"\s+", " ", text).strip()
    try:
        tree = parse(text)
    except ConditionError:
        return None
    return text if any(facts_in(tree)) else None


def _low_bits_as_modulus(match: re.Match[str]) -> str:
    """`C & 3 == 0` is `C % 4 == 0` when the mask is one less than a power of two."""
    modulus = int(match[2]) + 1
    return f"{match[1]} % {modulus} == 0" if modulus & (modulus - 1) == 0 else match[0]
