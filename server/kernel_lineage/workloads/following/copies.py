"""Tensors whose copies are other memory: what torch works out, casts, and views that do not lie row by row."""

from __future__ import annotations

from kernel_lineage.workloads.following.calls import Calls
from kernel_lineage.workloads.following.memory_formats import asked_format
from kernel_lineage.workloads.following.torch_work import torch_work
from kernel_lineage.workloads.following.values import Tensor, Value


class Copies(Calls):
    """Follows calls for which it matters whose memory a tensor is."""

    def of_tensor(self, tensor: Tensor, name: str, args: list[Value], template: str) -> Value:
        """What a method of a tensor gives. Raises `NotFollowed`, also for torch's work on views but copies."""
        is_plain = tensor.strides is None and asked_format(args) is None
        work = torch_work(name, [tensor, *args], self.sizes) if is_plain else None
        return self.worked_out(work) if work is not None else super().of_tensor(tensor, name, args, template)
