"""Outputs of timed launches against outputs that are known: bit by bit first, by the tolerance where a bit differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.compare import compare, less_precise, measure
from kernel_gate.devices.base import Buffer
from kernel_gate.dtypes import DTYPES
from kernel_gate.stages.held_bytes import Bytes, HeldBytes
from kernel_gate.tolerance import Allowed, Errors, derive
from kernel_gate.workload import Workload

_MEAN_OF = 8
"""Elements whose errors together tell a precision: those of fewer are not told from a single one's."""
Outputs = Mapping[str, HeldBytes]
"""What one launch gave, by the name of the argument."""


@dataclass(slots=True)
class Leeway:
    """What a difference is held to: the terms of the largest sum, and how far the baseline itself moves."""

    depth: int
    measure_condition: Callable[[], Mapping[str, Errors]]
    """Runs the baseline on inputs that differ by one unit in the last place: what its outputs move by."""
    another_order: bool = False
    """Whether the candidate computes the baseline's expression, in another order at most."""
    stretched: bool = False
    """Whether a difference passed for another order alone."""
    _condition: Mapping[str, Errors] | None = None

    def condition(self) -> Mapping[str, Errors]:
        """What one unit in the last place of the inputs does to the baseline's outputs; measured when first asked."""
        if self._condition is None:
            self._condition = self.measure_condition()
        return self._condition


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
    # Floats are widened where they are compared, block by block.
    want = before if dtype.is_float else dtype.wide(before)

    def beyond(allowed: Allowed) -> str:
        mismatch = compare(name, after, want, dtype, allowed)
        if mismatch is None and dtype.is_float and want.size >= _MEAN_OF:
            return less_precise(name, measure(after, want, dtype), allowed) or ""
        return str(mismatch or "")

    wrong = beyond(derive(workload, argument, leeway.depth, None))
    if wrong and dtype.is_float:
        allowed = derive(workload, argument, leeway.depth, None, leeway.condition().get(name))
        wrong = beyond(allowed)
        if wrong and leeway.another_order:
            wrong = beyond(allowed.for_another_order())
            leeway.stretched |= not wrong
    return wrong
