"""A Triton launch that leaves its options to the defaults, or fixes them."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.mechanisms.warps_and_stages import OPTIONS
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel


def _find(kernel: Kernel) -> Iterator[Anchor]:
    if "autotune" in kernel.attributes:
        return
    for launch in kernel.launches:
        options = {name: launch.options[name] for name in OPTIONS if name in launch.options}
        missing = [name for name in OPTIONS if name not in options]
        fixed = [f"{name} = {value}" for name, value in options.items() if value.isdigit()]
        if missing or fixed:
            phrases = [*(f"no {name}" for name in missing), *fixed]
            yield Anchor(
                launch.span,
                f"{kernel.name} is launched with {', '.join(phrases)}",
                {"kernel": kernel.name, **options},
            )


PATTERN = AnchorPattern(
    title="Triton launch options",
    names={
        "kernel": "the kernel that is launched",
        "num_warps": "its warps, as written",
        "num_stages": "its pipeline stages, as written",
    },
    find=of_kernel(_find, Language.TRITON),
)
