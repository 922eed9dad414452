"""Axes that a tensor has beyond those that its host code asks of: the kernel walks along more of them.

`k.shape[0]` and `k.stride(0)` say of one axis. A kernel that adds `j * stride + c` to the address walks along a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernel_lineage.workloads.equal_dims import is_named_for_want
from kernel_lineage.workloads.triton.roles import Touch
from kernel_lineage.workloads.triton.values import Stride, Tensor, text_of

Axes = dict[str, tuple[str, ...]]
"""Tensor → its axes by the names that the code has for them, "" for one that it has none for."""


def further_axes(
    touches: Iterable[Touch], arguments: Mapping[str, object], *, unshaped: bool = False
) -> Axes:
    """The tensors that have one more axis than they were taken to have; `arguments` are what a launch gives to each
    parameter. With `unshaped`, those too of which the host code asks nothing but a stride.
    """
    axes: Axes = {}
    for touch in touches:
        tensor = arguments.get(touch.pointer)
        if not touch.own or not isinstance(tensor, Tensor) or not (tensor.shape or unshaped):
            continue
        steps = {
            name: value.axis
            for name, value in arguments.items()
            if isinstance(value, Stride) and value.tensor == tensor.name
        }
        rank = len(tensor.shape) if tensor.shape else max(steps.values(), default=-1) + 1
        beside = (str(c) for c in touch.form.values())
        is_beside = any("?" not in c and steps.keys().isdisjoint(c.split("*")) for c in beside)
        if rank and is_beside and max((axis % rank for axis in steps.values()), default=-1) == rank - 1:
            names = map(text_of, tensor.shape or ())
            own = [n if n.isidentifier() and not is_named_for_want(n) else "" for n in names]
            axes[tensor.name] = (*own, *[""] * (rank + 1 - len(own)))
    return axes
