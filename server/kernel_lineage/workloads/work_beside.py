"""What host code does beside a kernel that a verdict on its launch alone does not see."""

from __future__ import annotations

from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.runtime_beside import runtime_beside
from kernel_lineage.workloads.steps_beside import steps_beside
from kernel_lineage.workloads.torch_beside import torch_beside


def work_beside(
    kernel: str, before: SourceFile, after: SourceFile, since: str, *, keeps: bool = False
) -> tuple[str, ...]:
    """What PyTorch, the CUDA runtime and the order of launches do otherwise in functions that launch a kernel, before a
    change and after it. `since` is the kernel's name after the change; for `keeps` see `torch_beside`.
    """
    return (
        *torch_beside(kernel, before, after, since=since, keeps=keeps),
        *runtime_beside(kernel, before, after, since),
        *steps_beside(kernel, before, after, since),
    )
