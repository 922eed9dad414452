"""More pairs, over kernels that no other set has; each file has grounds of one half only."""

from __future__ import annotations

from ..model import Ground, Pair, workload_of

Edits = tuple[tuple[str, str], ...]
AT = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
"""The thread's number, as most of the kernels begin."""


def ground(name: str, text: str, *workload: object) -> Ground:
    """A CUDA C++ baseline; `workload` as `workload_of` takes it after the name."""
    return Ground(name, text, workload_of(name, *workload))  # type: ignore[arg-type]


def each(of: Ground, *rows: tuple[str, str, Edits, Edits], untuned: bool = False) -> tuple[Pair, ...]:
    """Pairs of one ground: name, family, the wrong edits, the honest ones."""
    return tuple(Pair(name, family, of, wrong, honest, untuned) for name, family, wrong, honest in rows)
