"""What the names of two kernels say of whether they do the same."""

from __future__ import annotations

import re
from functools import lru_cache

_OPPOSITES = (
    ({"forward", "fwd"}, {"backward", "bwd", "grad"}),
    ({"permute"}, {"unpermute"}),
    ({"encode"}, {"decode"}),
    ({"pack"}, {"unpack"}),
    ({"quantize"}, {"dequantize"}),
    ({"load"}, {"store"}),
    ({"max"}, {"min"}),
)
_SAYS_LITTLE = frozenset({"kernel", "kernels", "cuda", "gpu", "triton", "impl", "launch", "global", "the"})
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def alike(one: str, other: str) -> bool | None:
    """Whether one name says no more than the other and a word besides; None when they name opposite tasks."""
    a, b = _words(one), _words(other)
    for left, right in _OPPOSITES:
        if (a & left and b & right) or (a & right and b & left):
            return None
    return bool(a and b) and (a <= b or b <= a)


@lru_cache(maxsize=8192)
def _words(name: str) -> frozenset[str]:
    return frozenset(w.lower() for w in _NAME_WORD.findall(name)) - _SAYS_LITTLE
