"""Guards: the conditions that code itself tests, in a kernel and in the host functions that launch it."""

from __future__ import annotations

from collections.abc import Iterable

from kernel_lineage.kernels import cuda_guards, triton_guards
from kernel_lineage.kernels.budget import MOST_LAUNCHES
from kernel_lineage.kernels.source import Guard, Kernel, Language, Launch, SourceFile


def guards_of(kernel: Kernel) -> tuple[Guard, ...]:
    """The guards of a kernel, in order, those in its launchers in the same file behind its own.

    Of many launch sites the first ones count.
    Loop bounds are guards only where they say something of a size (`i < C / 4`).
    """
    if kernel.language is Language.CUDA:
        own = cuda_guards.in_kernel(kernel)
    else:
        own = triton_guards.in_kernel(kernel)
    around = (
        guard
        for launch in kernel.launches[:MOST_LAUNCHES]
        for guard in launcher_guards(kernel.source, launch)
    )
    return _distinct([*own, *around])


def launcher_guards(source: SourceFile | None, launch: Launch) -> tuple[Guard, ...]:
    """The guards on the way to a launch site of a file: around it, and before it where they leave the function."""
    if source is None:
        return ()
    if source.language is Language.CUDA:
        return _distinct(cuda_guards.around(source, launch))
    return _distinct(triton_guards.around(source, launch))


def _distinct(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    by_key: dict[tuple[str, str, str, int], Guard] = {}
    for guard in guards:  # a second mask of the same words guards another access
        by_key.setdefault((guard.expr, guard.kind, guard.where, guard.span.start), guard)
    return tuple(by_key.values())
