"""All axes, collected from the files in `axes/`: a new file is a new axis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.learning.probes import axes as package
from kernel_lineage.learning.probes.axis import Axis


@cache
def axes() -> Mapping[str, Axis]:
    """Every axis by its id, in the order of ids."""
    return declared_in(package, "AXIS", Axis)
