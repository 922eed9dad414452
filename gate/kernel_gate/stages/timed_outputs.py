"""Outputs of timed launches against outputs that are known: bit by bit first, by the tolerance where a bit differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.compare import compare
from kernel_gate.devices.base import Buffer
from kernel_gate.dtypes import DTYPES
from kernel_gate.stages.held_bytes import Bytes, HeldBytes
from kernel_gate.tolerance import Errors, derive
from kernel_gate.workload import Workload

Outputs = Mapping[str, HeldBytes]
"""What one launch gave, by the name of the argument."""


@dataclass(frozen=True, slots=True)
class Leeway:
    """What a difference is held to: the terms of the largest sum, and how far the baseline itself moves."""

    depth: int
    condition: Callable[[], Mapping[str, Errors]]
    """What one unit in the last place of the inputs does to the baseline's outputs; asked where a bit differs."""


def difference_of(
    workload: Workload,
    case: Case,
    buffers: Mapping[str, Buffer],
    own: Outputs,
    expected: Outputs,
    leeway: Leeway,
) -> str:
    """The first wrong element that buffers hold, beside outputs that were found right and what these were held to."""
    for name, held in own.items():
        if held.same(buffers[name]):
            continue
        if wrong := _wrong_element(workload, case, name, buffers[name].read(), expected[name].read(), leeway):
            return wrong
    return ""


def difference(workload: Workload, case: Case, got: Outputs, expected: Outputs, leeway: Leeway) -> str:
    """The first element of held outputs that differs by more than its tolerance; "" when none does."""
    for name, held in got.items():
        if wrong := _wrong_element(workload, case, name, held.read(), expected[name].read(), leeway):
            return wrong
    return ""


def _wrong_element(
    workload: Workload, case: Case, name: str, got: Bytes, expected: Bytes, leeway: Leeway
) -> str:
    argument = workload.argument(name)
    if argument is None or np.array_equal(got, expected):
        return ""
    dtype, shape = DTYPES[argument.dtype], workload.extents(argument, case.dims)
    before, after = (held.view(dtype.storage).reshape(shape) for held in (expected, got))
    wide = dtype.wide(before)
    wrong = compare(name, after, wide, dtype, derive(workload, argument, leeway.depth, None))
    if wrong and dtype.is_float:
        allowed = derive(workload, argument, leeway.depth, None, leeway.condition().get(name))
        wrong = compare(name, after, wide, dtype, allowed)
    return str(wrong) if wrong else ""
