"""Numbers as C++ writes them, and those that the runtime gives for the device."""

from __future__ import annotations

import re

from kernel_lineage.workloads.following.values import Number, plain

_SUFFIX = re.compile(r"(?i)(?:ull|llu|ul|lu|ll|zu|uz|[ulzf])$")
DEVICE = {
    "maxThreadsPerMultiProcessor": 2048, "maxThreadsPerBlock": 1024, "warpSize": 32, "sharedMemPerBlock": 49152,
    "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472, "regsPerBlock": 65536, "major": 9,
    "minor": 0, "cooperativeLaunch": 1, "maxBlocksPerMultiProcessor": 32, "totalConstMem": 65536,
}  # fmt: skip
"""Properties of the device that a draft is for, besides how many multiprocessors it has."""
DEVICE_LISTS = {"maxGridSize": (2**31 - 1, 65535, 65535), "maxThreadsDim": (1024, 1024, 64)}


def number_of(literal: str) -> Number:
    """A literal of C++: decimal, hexadecimal, octal or binary, with separators, exponents and suffixes."""
    text = literal.replace("'", "")
    lower = text.lower()
    hexadecimal = lower.startswith("0x")
    if hexadecimal and ("p" in lower or "." in lower):
        return plain(float.fromhex(lower.rstrip("fl")))
    is_float = not hexadecimal and (any(c in lower for c in ".e") or lower.endswith("f"))
    if is_float:
        return plain(float(lower.rstrip("fl")))
    while (not hexadecimal and _SUFFIX.search(text)) or (hexadecimal and text[-1] in "uUlLzZ"):
        text = text[:-1]
    octal = len(text) > 1 and text[0] == "0" and text.isdigit()
    return plain(int(text, 8) if octal else int(text, 0))
