"""How many terms the baseline's sums have, measured on the emulated device on small shapes and carried to others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.opening import open_quiet
from kernel_gate.emulated.terms import Terms
from kernel_gate.execution import SANITIZER_KINDS
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements, named_shapes
from kernel_gate.tolerance import reduction_depth
from kernel_gate.workload import Workload

_SHAPES = 2
_MOST_ELEMENTS = 1 << 16
_MOST_DIMS = 3
_SECONDS = 2.0

_MOST_KEPT = 16

Measured = tuple[Mapping[str, int], int]
_KEPT: dict[tuple[str, ...], list[Measured]] = {}
"""By images and workload: what was measured of the last baselines."""


@dataclass(slots=True)
class Depths:
    """Terms of the largest sum by shape."""

    baseline: Built
    workload: Workload
    _measured: Sequence[Measured] | None = None
    _by_shape: dict[tuple[int, ...], int] = field(default_factory=dict)

    def of(self, dims: Mapping[str, int]) -> int:
        """For one shape: as the workload says, as measured, or else the largest extent of an input."""
        if self.workload.tolerance.reduction is not None:
            return reduction_depth(self.workload, dims)
        if self._measured is None:
            self._measured = measure_terms(self.baseline, self.workload)
        if not self._measured:
            return reduction_depth(self.workload, dims)
        key = tuple(dims.values())
        if key not in self._by_shape:
            self._by_shape[key] = carried(self._measured, dims)
        return self._by_shape[key]


def carried(measured: Sequence[Measured], dims: Mapping[str, int]) -> int:
    """The terms at another shape: they grow with the product of dims that fits best, of equals with the largest."""
    fitting: list[tuple[float, float]] = []
    for size in range(min(len(dims), _MOST_DIMS) + 1):
        for chosen in itertools.combinations(dims, size):
            ratios = [terms / math.prod(max(1, at[name]) for name in chosen) for at, terms in measured]
            spread = round(math.log(max(ratios) / min(ratios)), 2)
            # One shape fits all products: the nearest is the most likely.
            away = round(abs(math.log(max(ratios))), 1) if len({*ratios}) == 1 or spread == 0 else 0.0
            grown = max(ratios) * math.prod(max(1, dims[name]) for name in chosen)
            fitting.append((spread + away / 10, -grown))
    best = min(fitting)
    return max(1, math.ceil(-best[1]))


def measure_terms(baseline: Built, workload: Workload) -> list[Measured]:
    """What the baseline's sums are made of on small named shapes; none where the emulated device cannot run it."""
    named = [d for d in named_shapes(workload) if elements(workload, d) <= _MOST_ELEMENTS]
    key = (*(image.ptx for image in baseline.images.values()), workload.model_dump_json())
    if key not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = _measured(baseline, workload, named)
    return _KEPT[key]


def _measured(baseline: Built, workload: Workload, named: list[dict[str, int]]) -> list[Measured]:
    shapes = [named[0], named[-1]][: len(named)] if named else []
    measured: list[Measured] = []
    for dims in shapes[:_SHAPES]:
        terms = Terms()
        device = open_quiet(_SECONDS, terms=terms)
        try:
            with LoadedProgram(device, baseline, workload).execution(dims) as execution:
                done = execution.run(make_inputs(workload, Case(dims, 1)), 0)
        except (LaunchError, DeviceError):
            return []
        finally:
            device.close()
        if any(f.kind not in SANITIZER_KINDS for f in done.faults):
            return []
        measured.append((dims, terms.most))
    return measured
