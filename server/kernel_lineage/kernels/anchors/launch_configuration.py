"""A kernel whose block size the file tells, or whose bounds the compiler is not told."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.kernels.units import of_kernel


def constant_block(launch: Launch) -> str:
    """The block size as a product of numbers (`256`, `16 * 16`), "" when the launcher is given it."""
    parts: list[str] = []
    for part in launch.block:
        written = launch.definitions.get(part, part).strip()
        if not written.isdigit() and not (written.isupper() and written.isidentifier()):
            return ""
        if written != "1" or not parts:
            parts.append(written)
    return " * ".join(parts)


def _find(kernel: Kernel) -> Iterator[Anchor]:
    bounded = "launch_bounds" in kernel.attributes
    for launch in kernel.launches:
        block = constant_block(launch)
        if block or not bounded:
            size = block or " * ".join(launch.block)
            note = "" if bounded else ", without launch bounds"
            detail = f"{kernel.name} is launched with {size or 'an unknown number of'} threads{note}"
            names = {"block": size, "grid": ", ".join(launch.grid)}
            yield Anchor(kernel.name_span, detail, {name: text for name, text in names.items() if text})
            return


PATTERN = AnchorPattern(
    title="Launch configuration",
    names={
        "block": "the threads of a block, as written at the launch",
        "grid": "the blocks, as written there",
    },
    find=of_kernel(_find, Language.CUDA),
)
