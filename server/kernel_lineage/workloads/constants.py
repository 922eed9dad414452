"""Constants of a file, and the block sizes that its launches come to."""

from __future__ import annotations

from kernel_lineage.kernels.cuda_constants import whole_numbers_in
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.skills.kernel_facts import constant


def block_threads(launch: Launch) -> int | None:
    """Threads in a block of a CUDA launch, if the file tells."""
    total = 1
    for extent in launch.block:
        value = constant(extent, launch.definitions)
        if value is None:
            return None
        total *= value
    return total if launch.block else None


def constants_of(kernel: Kernel) -> dict[str, str]:
    """Macros and constants of the kernel's file, by name; a name that is given two meanings is left out."""
    data = kernel.source.data if kernel.source else kernel.text.encode()
    return {name: constant.value for name, constant in whole_numbers_in(data).items()}
