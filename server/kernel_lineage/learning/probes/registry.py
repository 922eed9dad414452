"""All axes, collected from the files in `axes/`: a new file is a new axis."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kernel_lineage.learning.probes import axes as package
from kernel_lineage.learning.probes.axis import Axis


@cache
def axes() -> Mapping[str, Axis]:
    """Every axis by its id, in the order of ids."""
    found: dict[str, Axis] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        axis = getattr(importlib.import_module(f"{package.__name__}.{module}"), "AXIS", None)
        if isinstance(axis, Axis):
            found[axis.id] = axis
    return MappingProxyType(found)
