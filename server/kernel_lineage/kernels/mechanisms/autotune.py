"""Block sizes and launch options picked by measuring."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen_on
from kernel_lineage.kernels.mechanisms.tuning import argument, how_many, tuning_call
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_forms import elements
from kernel_lineage.kernels.units import of_kernel


def _detect(kernel: Kernel) -> Iterator[Site]:
    call = tuning_call(kernel)
    if call is None:
        return
    listed = argument(call, 0, "configs")
    keys = argument(call, 1, "key")
    pruned = argument(call, 2, "prune_configs_by")
    yield seen_on(
        kernel,
        "launch options are chosen by measuring",
        configs=how_many(kernel, listed) or "some",
        keys=len(elements(keys)) or None,
        pruned="yes" if pruned is not None else None,
    )


MECHANISM = Mechanism(
    title="Autotuning",
    direction=Direction.LAUNCH,
    summary="Measures a list of configurations once per key and keeps the fastest, so that each size gets its own.",
    looks_for="`@triton.autotune` on the kernel.",
    detect=of_kernel(_detect, Language.TRITON),
    conditions=(
        validity(
            "noalias(x, y)", "storage", "Tuning runs the kernel many times; in place, each run adds up."
        ),
        profit("N >= 65536", "shape", "The measuring must be paid back."),
    ),
)
