"""A kernel behind which its host function launches another one, by as many threads in blocks of the same shape, or by
as many programs of Triton.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.kernels.units import of_kernel


def launched_behind(kernel: Kernel, launch: Launch) -> Launch | None:
    """The next launch in a launch's host function, where it is of another kernel and has the same grid and block."""
    source = kernel.source
    if source is None or not launch.launcher:
        return None
    behind = [
        other
        for other in source.launches
        if other.launcher_span == launch.launcher_span and other.span.start >= launch.span.end
    ]
    then = min(behind, key=lambda other: other.span.start, default=None)
    if then is None or then.kernel == kernel.name or source.kernel(then.kernel) is None:
        return None
    return then if _shape(then) == _shape(launch) else None


def _shape(launch: Launch) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("".join(e.split()) for e in extents) for extents in (launch.grid, launch.block))


def _find(kernel: Kernel) -> Iterator[Anchor]:
    for launch in kernel.launches:
        then = launched_behind(kernel, launch)
        if then is not None:
            what = "threads" if kernel.language is Language.CUDA else "programs"
            detail = f"{launch.launcher} launches {then.kernel} right behind {kernel.name}, by as many {what}"
            yield Anchor(kernel.name_span, detail, {"next": then.kernel})
            return


PATTERN = AnchorPattern(
    title="Launches in turn",
    names={"next": "the kernel that is launched behind it"},
    find=of_kernel(_find, Language.CUDA, Language.TRITON),
)
