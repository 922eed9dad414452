"""Objects of the repository's classes that are derived from torch's: layers of `torch.nn`, and optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernel_lineage.workloads.triton.objects import Instance, Kept
from kernel_lineage.workloads.triton.torch_modules import made_module
from kernel_lineage.workloads.triton.values import argument

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader


def begin_as_torch(
    reader: Reader, base: str, made: Instance, arguments: list[object], named: Mapping[str, object]
) -> bool:
    """What the constructor of torch's class gives an object: weights of a layer, parameters of an optimizer."""
    if base.endswith(".Optimizer"):
        defaults = argument(arguments, named, 1, "defaults")
        parameters = reader.items_of(argument(arguments, named, 0, "params"))
        group = {**(defaults if isinstance(defaults, dict) else {}), "params": parameters or []}
        made.attributes["param_groups"] = [group]
        made.attributes["state"] = Instance("of each tensor", {"state": Kept()})
        return True
    layer = made_module(base, arguments, named)
    made.attributes.update(layer.attributes if layer is not None else {})
    return layer is not None
