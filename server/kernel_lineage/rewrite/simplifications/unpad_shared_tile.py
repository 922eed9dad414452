"""The padding of a shared tile's rows is taken off: `tile[32][32 + 1]` is `tile[32][32]`."""

from __future__ import annotations

import re

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, pattern_replaced
from kernel_lineage.rewrite.simplifications.model import Simplification

_TILE = r"\b__shared__\s+[^;=\[\]]*(?:\[[^\[\]]*\])+\[(?P<row>[^\[\]]*)\]\s*;"
_ADDED = re.compile(r"(.+?)\s*\+\s*(?:\d+|[A-Z_]*PAD[A-Z_]*)\s*")


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return functions_rewritten(kernel, lambda text: pattern_replaced(text, _TILE, _unpadded, "row"))


def _unpadded(match: re.Match[str]) -> str | None:
    row = match["row"].strip()
    added = _ADDED.fullmatch(row)
    if added is not None:
        return added[1]
    number = int(row) if row.isdigit() else 0
    # 33, 65, 129: one more than a power of two, and no other reason for it.
    return str(number - 1) if number > 8 and (number - 1) & (number - 2) == 0 else None


SIMPLIFICATION = Simplification(
    title="padding taken off the rows of a shared tile",
    weakens="bank_conflict_padding",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
