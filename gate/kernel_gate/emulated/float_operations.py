"""How many floating-point operations a PTX instruction does: a fused multiply-add is two.

Comparisons, selections, minima, conversions and moves are none, as in published operation counts. Of what is
predicated, and of bulk copies that add, nothing is counted: the count is a lower bound.
"""

from __future__ import annotations

import re
from functools import cache

_BY_NAME = {
    "add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2, "mad": 2,
    "rcp": 1, "sqrt": 1, "rsqrt": 1, "ex2": 1, "lg2": 1, "sin": 1, "cos": 1, "tanh": 1,
}  # fmt: skip
_TYPES = {"f64": 1, "f32": 1, "f16": 1, "bf16": 1, "f16x2": 2, "bf16x2": 2, "f32x2": 2}
_TENSOR_TYPES = _TYPES.keys() | {"tf32", "e4m3", "e5m2"}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WARPS_OF_A_GROUP = 4


@cache
def per_thread(opcode: str) -> int:
    """Operations of each thread; none for what a warp does together."""
    parts = opcode.split(".")
    return _BY_NAME.get(parts[0], 0) * next((_TYPES[p] for p in reversed(parts) if p in _TYPES), 0)


@cache
def per_warp(opcode: str) -> int:
    """Operations of the matrix instructions, for each warp that issues one."""
    parts = opcode.split(".")
    shape = _SHAPE.search(opcode)
    multiplies = parts[0] == "mma" or parts[:2] in (["wmma", "mma"], ["wgmma", "mma_async"])
    if shape is None or not multiplies or not _TENSOR_TYPES & set(parts):
        return 0
    whole = 2 * int(shape[1]) * int(shape[2]) * int(shape[3])
    sparse = 2 if "sp" in {part.partition("::")[0] for part in parts} else 1
    return whole // sparse // (_WARPS_OF_A_GROUP if parts[0] == "wgmma" else 1)
