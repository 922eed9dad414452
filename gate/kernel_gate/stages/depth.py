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
from kernel_gate.shapes import elements, named_shapes, nearest
from kernel_gate.tolerance import reduction_depth
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 16
_MOST_DIMS = 3
_NEAR = 2
"""How many times as long as a measured extent another may be for the measured shapes to tell its terms."""
_HALVED = 4
"""Shorter extents are not halved."""
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
            measured = self._measured
            if any(extent > _NEAR * max(at[n] for at, _ in measured) for n, extent in dims.items()):
                measured = [*measured, *measure_growth(self.baseline, self.workload)]
            self._by_shape[key] = carried(measured, dims)
        return self._by_shape[key]


def carried(measured: Sequence[Measured], dims: Mapping[str, int]) -> int:
    """The terms at another shape: they grow with the product of dims that fits best, of equals with the largest.

    A dim may be in it twice where several shapes tell.
    """
    powers = (1, 2) if len(measured) > 1 else (1,)
    fitting: list[tuple[float, float]] = []
    for size in range(min(len(dims), _MOST_DIMS) + 1):
        for chosen in itertools.combinations(dims, size):
            for power in itertools.product(powers, repeat=size):
                ratios = [terms / _product(at, chosen, power) for at, terms in measured]
                spread = round(math.log(max(ratios) / min(ratios)), 2)
                # One shape fits all products: the nearest is the most likely.
                away = round(abs(math.log(max(ratios))), 1) if len({*ratios}) == 1 or spread == 0 else 0.0
                fitting.append((spread + away / 10, -max(ratios) * _product(dims, chosen, power)))
    best = min(fitting)
    return max(1, math.ceil(-best[1]))


def _product(dims: Mapping[str, int], chosen: Sequence[str], powers: Sequence[int]) -> int:
    return math.prod(max(1, dims[name]) ** power for name, power in zip(chosen, powers, strict=True))


def measure_terms(baseline: Built, workload: Workload) -> list[Measured]:
    """What the baseline's sums are made of on small named shapes; none where the emulated device cannot run it."""
    small = _small(workload)
    return _kept_terms(baseline, workload, [*small[:1], *small[1:][-1:]])


def measure_growth(baseline: Built, workload: Workload) -> list[Measured]:
    """The same where one dim of a small named shape is halved: which dims the terms grow with, and how."""
    base = _small(workload)[-1]
    longest = sorted((n for n, extent in base.items() if extent >= _HALVED), key=lambda n: -base[n])
    halves = (nearest(workload, base, name, base[name] // 2, -1) for name in longest[:_MOST_DIMS])
    return _kept_terms(baseline, workload, list(itertools.chain.from_iterable(halves)))


def _small(workload: Workload) -> list[dict[str, int]]:
    return [d for d in named_shapes(workload) if elements(workload, d) <= _MOST_ELEMENTS]


def _kept_terms(baseline: Built, workload: Workload, shapes: list[dict[str, int]]) -> list[Measured]:
    """Terms at each of the shapes, measured once; none where one of them cannot be run."""
    key = (*(image.ptx for image in baseline.images.values()), workload.model_dump_json(), str(shapes))
    if key not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = _measure(baseline, workload, shapes)
    return _KEPT[key]


def _measure(baseline: Built, workload: Workload, shapes: list[dict[str, int]]) -> list[Measured]:
    measured: list[Measured] = []
    for dims in shapes:
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
