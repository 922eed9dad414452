"""Tensors whose copies are other memory: what torch works out, casts, and views with their extents in another order."""

from __future__ import annotations

from kernel_lineage.workloads.following.calls import Calls
from kernel_lineage.workloads.following.torch_work import TorchWork, torch_work
from kernel_lineage.workloads.following.values import Buffer, NotFollowed, Tensor, Value

_OF_ANY_ORDER = frozenset({"size", "sizes", "numel", "dim", "ndimension", "scalar_type", "dtype", "options"})
"""Methods that do not depend on how far apart elements lie."""


class Copies(Calls):
    """Follows calls for which it matters whose memory a tensor is."""

    def of_tensor(self, tensor: Tensor, name: str, args: list[Value], template: str) -> Value:
        """What a method of a tensor gives. Raises `NotFollowed`, also for a view in another order that is used."""
        if tensor.permuted is not None and name not in _OF_ANY_ORDER:
            if name != "contiguous":
                raise NotFollowed(f"`{name}()` of {tensor.in_another_order}")
            source, order = tensor.permuted
            made = Tensor(Buffer(""), dict(tensor.sizes), tensor.rank, tensor.dtype)
            return self.worked_out(TorchWork("contiguous", "{0}", (source,), made, order=order))
        work = torch_work(name, [tensor, *args], self.sizes)
        return self.worked_out(work) if work is not None else super().of_tensor(tensor, name, args, template)
