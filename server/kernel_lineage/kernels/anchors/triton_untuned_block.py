"""A Triton kernel whose block size is fixed at the launch."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel


def _find(kernel: Kernel) -> Iterator[Anchor]:
    if "autotune" in kernel.attributes or "heuristics" in kernel.attributes:
        return
    for launch in kernel.launches:
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
            text = launch.options.get(parameter.name, argument)
            size = launch.definitions.get(text, text)
            if parameter.constexpr and "BLOCK" in parameter.name.upper() and size.isdigit():
                detail = f"{parameter.name} is {size} for every size"
                yield Anchor(
                    launch.span, detail, {"kernel": kernel.name, "block": parameter.name, "size": size}
                )


PATTERN = AnchorPattern(
    title="Fixed block size",
    names={
        "kernel": "the kernel that is launched",
        "block": "the parameter that is its block size",
        "size": "the number that it is given",
    },
    find=of_kernel(_find, Language.TRITON),
)
