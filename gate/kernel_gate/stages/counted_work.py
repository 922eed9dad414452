"""What a program moves and computes, counted on small shapes and carried over to large ones where that is exact.

Bytes are those of device memory that a launch reads before it has written them, and those that it writes, each once;
operations are those of executed instructions. Both are taken to be a sum of products of dims, and believed only when
one such sum gives every count of every small shape that was run, with more shapes than it has terms.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import ALLOCATED, Case
from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.devices.launch_counts import WorkDone
from kernel_gate.devices.opening import open_quiet
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import elements
from kernel_gate.variations import Variation
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 14
_SECONDS = 0.5
"""For all shapes together."""
_MOST_DIMS = 3
_QUANTITIES = ("read_bytes", "written_bytes", "flops")

Terms = dict[str, int]
"""`N*C` → how many of it; `1` for the constant."""


def counted_work(built: Built, workload: Workload, passed: Sequence[Case]) -> dict[str, Any]:
    """For the details of a stage: `terms` of each quantity that is known at every shape, and the largest count itself.

    `unavailable` says why there is no count at all.
    """
    counts: list[tuple[Mapping[str, int], WorkDone]] = []
    device = open_quiet(_SECONDS, counts=True)
    deadline = time.monotonic() + _SECONDS
    try:
        for case in _cases(workload, passed):
            if counts and time.monotonic() > deadline:
                break
            counts.append((case.dims, _count(device, built, workload, case)))
    except (LaunchError, DeviceError) as error:
        return {"unavailable": str(error)}
    finally:
        device.close()
    if not counts:
        return {"unavailable": f"no case has at most {_MOST_ELEMENTS} elements"}
    dims, largest = counts[-1]
    fits = {name: fit([(d, getattr(done, name)) for d, done in counts]) for name in _QUANTITIES}
    return {
        "at": {"dims": dict(dims), **{name: getattr(largest, name) for name in _QUANTITIES}},
        "shapes": len(counts),
        "terms": {name: terms for name, terms in fits.items() if terms is not None},
    }


def _cases(workload: Workload, passed: Sequence[Case]) -> list[Case]:
    """One for each small shape, smallest first."""
    plain = [c for c in passed if c.memory == ALLOCATED and c.variation is Variation.DECLARED]
    by_shape = {tuple(sorted(c.dims.items())): c for c in plain}
    small = [c for c in by_shape.values() if elements(workload, c.dims) <= _MOST_ELEMENTS]
    return sorted(small, key=lambda c: elements(workload, c.dims))


def _count(device: Device, built: Built, workload: Workload, case: Case) -> WorkDone:
    """Raises `DeviceError` for a program whose work cannot be counted."""
    with LoadedProgram(device, built, workload).execution(case.dims) as execution:
        if execution.step_count > 1:
            raise DeviceError("what one launch leaves in the cache for the next cannot be told")
        done = execution.run(make_inputs(workload, case), 0)
    if done.faults or done.result.counted is None:
        raise DeviceError(done.faults[0].message if done.faults else "the device counted nothing")
    return done.result.counted.work


def fit(counts: Sequence[tuple[Mapping[str, int], int]]) -> Terms | None:
    """The sum of products of dims that gives every one of these counts exactly; None when there is none, or several."""
    names = sorted(counts[0][0])
    if len(names) > _MOST_DIMS:
        return None
    products = [p for size in range(len(names) + 1) for p in itertools.combinations(names, size)]
    matrix = np.array([[math.prod(dims[n] for n in p) for p in products] for dims, _ in counts], np.float64)
    if len(counts) <= len(products) or np.linalg.matrix_rank(matrix) < len(products):
        return None
    solved = np.linalg.lstsq(matrix, np.array([float(value) for _, value in counts]), rcond=None)[0]
    terms = {"*".join(p) or "1": round(float(c)) for p, c in zip(products, solved, strict=True)}
    terms = {product: c for product, c in terms.items() if c}
    return terms if all(value_of(terms, dims) == value for dims, value in counts) else None


def value_of(terms: Mapping[str, int], dims: Mapping[str, int]) -> int:
    """The quantity at a shape."""
    return sum(c * math.prod(dims[n] for n in p.split("*") if n != "1") for p, c in terms.items())
