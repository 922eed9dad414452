"""The launches of a kernel that its callers make with other numbers than a workload gives: strides, pitches, flags.

A workload gives each number as one expression over its dims, such as a stride as the product of the extents behind it.
A caller that passes the prefix of a larger buffer breaks that relation, and so may a rewrite that counts on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.expressions import names as names_in
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.sizes_that_run import with_sizes_that_run
from kernel_lineage.workloads.state import State


def other_numbers(workload: Workload, draft: Draft) -> dict[str, str]:
    """The whole numbers that a launch passes and a workload at the same sizes does not, as the draft has them."""
    others = {a.name: a for a in draft.arguments}
    own = dict(dims_at(workload, draft))
    result: dict[str, str] = {}
    for argument in workload.args:
        other = others.get(argument.name)
        if other is None or argument.kind != "scalar" or DTYPES[argument.dtype].is_float:
            continue
        mine, theirs = _number(argument.value, own), _number(other.value, draft.dims)
        if mine is not None and theirs is not None and mine != theirs:
            result[argument.name] = str(other.value)
    return result


def workload_of_launch(draft: Draft, kernel: Kernel, path: Path, state: State) -> Workload | str:
    """The workload of a draft, completed; else what is missing."""
    whole = draft_of(kernel, path, state, among=(draft,))
    if whole.missing:
        return "; ".join(whole.missing)
    whole = with_sizes_that_run(whole, kernel, path, state.root) or whole
    try:
        return whole.workload()
    except WorkloadError as error:
        return str(error)


def dims_at(workload: Workload, draft: Draft) -> Iterator[tuple[str, int]]:
    """The sizes of a workload's dims at which it describes a launch, as far as numbers and extents tell them.

    Where several name one dim, the last one counts: what a kernel is passed says more than how much memory its caller
    has.
    """
    others = {a.name: a for a in draft.arguments}
    extents: list[tuple[object, object]] = []
    numbers: list[tuple[object, object]] = []
    for argument in workload.args:
        other = others.get(argument.name)
        if other is None:
            continue
        shapes = argument.shape or (), other.shape or ()
        if argument.is_pointer and len(shapes[0]) == len(shapes[1]):
            extents += zip(*shapes, strict=True)
        elif argument.kind == "scalar":
            numbers.append((argument.value, other.value))
    yield from ((name, size) for name, size in draft.dims.items() if name in workload.dims)
    for mine, theirs in (*extents, *numbers):
        size = _number(theirs, draft.dims)
        if str(mine) in workload.dims and size is not None:
            yield str(mine), size


def _number(text: object, dims: Mapping[str, int]) -> int | None:
    """A whole number that an expression gives; None where a name has no size."""
    try:
        if text is None or text == "" or not names_in(str(text)) <= dims.keys():
            return None
        value = evaluate(str(text), dims)
        return int(value) if int(value) == value else None
    except (ExpressionError, ArithmeticError, ValueError):  # of infinity and of no number, too
        return None
