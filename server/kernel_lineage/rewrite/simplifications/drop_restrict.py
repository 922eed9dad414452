"""`__restrict__` is taken off the parameters: the compiler may no longer reorder or cache across stores."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.matches import edits_of
from kernel_lineage.rewrite.simplifications.model import Simplification


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return edits_of(kernel, r"[ \t]*\b__restrict(?:__)?\b", lambda _match: "")


SIMPLIFICATION = Simplification(
    id="drop_restrict",
    title="__restrict__ taken off the parameters",
    weakens="restrict_read_only",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
