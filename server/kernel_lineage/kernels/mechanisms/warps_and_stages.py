"""The number of warps and of pipeline stages given for a Triton kernel."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import parameters, seen_on
from kernel_lineage.kernels.mechanisms.tuning import tried
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel

OPTIONS = ("num_warps", "num_stages")
_ALL_OPTIONS = (*OPTIONS, "num_ctas", "maxnreg")


def _detect(kernel: Kernel) -> Iterator[Site]:
    for option in _ALL_OPTIONS:
        values = tried(kernel, option)
        if values:
            yield seen_on(kernel, f"{option} is tuned", option=option, values=" ".join(values))
    for launch in kernel.launches:
        for option in _ALL_OPTIONS:
            if option in launch.options:
                value = launch.options[option]
                note = f"{option} is {value}"
                yield Site(
                    launch.span,
                    note,
                    "",
                    parameters(option=option, values=value if value.isdigit() else "set"),
                )


MECHANISM = Mechanism(
    title="Warps and stages",
    direction=Direction.LAUNCH,
    summary="Says how many warps share a program's block and how many rounds of a loop are in flight.",
    looks_for="`num_warps` and `num_stages` at the launch or in the configurations of `@triton.autotune`.",
    detect=of_kernel(_detect, Language.TRITON),
    conditions=(
        profit("kernel.spills == 0", "pipeline", "Too few warps for a block spill registers."),
        validity(
            "kernel.shared_bytes <= device.shared_bytes_per_block", "hardware", "Each stage takes room."
        ),
    ),
)
