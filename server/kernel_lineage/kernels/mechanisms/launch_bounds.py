"""A promise about the block size that lets the compiler spend registers."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.kernels.mechanisms.definitions import written_number
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen_on
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel


def _detect(kernel: Kernel) -> Iterator[Site]:
    written = kernel.attributes.get("launch_bounds")
    if written is not None:
        threads, *blocks = at_commas(written) or ("",)
        yield seen_on(
            kernel,
            f"__launch_bounds__({written})",
            threads=written_number(kernel, threads) or "set",
            blocks=(written_number(kernel, blocks[0]) or "set") if blocks else None,
        )
    if "maxnreg" in kernel.attributes:
        yield seen_on(
            kernel, f"__maxnreg__({kernel.attributes['maxnreg']})", registers=kernel.attributes["maxnreg"]
        )


MECHANISM = Mechanism(
    title="Launch bounds",
    direction=Direction.LAUNCH,
    summary="Tells the compiler the largest block, so that it can trade registers per thread against blocks per SM.",
    looks_for="`__launch_bounds__` on the kernel.",
    detect=of_kernel(_detect, Language.CUDA),
    conditions=(
        validity(
            "launch.block.x * launch.block.y * launch.block.z <= 1024",
            "hardware",
            "A block larger than the bound, or than 1,024 threads, does not launch.",
        ),
        profit("kernel.spills == 0", "pipeline", "Too tight a bound spills registers."),
    ),
)
