"""Numbers that Python gives to parameters by their names, as defaults and as keyword arguments."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.workloads.files_below import files_below

_MOST_FILES, _MOST_BYTES = 2000, 1 << 20
_PASSED = re.compile(
    rb"(?<![\w.])([A-Za-z_]\w*)\s*(?::[^=,()\n]{1,60})?=\s*(-?[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*[,)]",
    re.ASCII,
)
"""`: float = 1e-5,` behind a name: a variable that is set so may be anything, and most often a size."""
_LARGEST_WHOLE = 64
"""Whole numbers above it are sizes, which are varied, and no settings."""


def told_numbers(names: Collection[str], root: Path) -> dict[str, float]:
    """Name → the number that Python files below `root` give it most often; names of which none is told are left out."""
    if not names:
        return {}
    wanted = {n.encode(): n for n in names}
    counts: dict[str, Counter[float]] = {}
    for data in _python(root):
        for name, number in _PASSED.findall(data):
            if name in wanted and math.isfinite(value := float(number)):
                counts.setdefault(wanted[name], Counter())[value] += 1
    return {name: seen.most_common(1)[0][0] for name, seen in counts.items()}


def is_setting(number: float) -> bool:
    """Whether a whole number is one that stays, such as the edge of a tile, and not a size."""
    return number == int(number) and 0 <= number <= _LARGEST_WHOLE


def _python(root: Path) -> Iterator[bytes]:
    for path in files_below(root, (".py",), most=_MOST_FILES):
        try:
            yield read_file(path, within=root, most=_MOST_BYTES)
        except OSError:
            continue
