"""The workload's own sizes on which both states of a step agree: where studying it starts.

A step that broke something agrees with its earlier state on some sizes and not on others. What the workload names may
hold the ones that showed the failure later, since people add a size when they fix a bug; studying begins on the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_gate.shapes import named_shapes
from kernel_lineage.learning.probes.asking import Asking, Budget, Saw
from kernel_lineage.learning.probes.setting import base_of
from kernel_lineage.learning.steps import Judge, Step

_SEED = 91
_BUDGET = Budget(runs=64, seconds=60.0)


def common_ground(step: Step, judge: Judge) -> Step | None:
    """The step with a workload of the sizes on which its states agree; None where there are none.

    Raises `DeviceError` when the judge has no emulated device, and `OutOfBudget` when there are too many sizes.
    """
    asking = Asking(judge, _BUDGET)
    settings = [base_of(step, dims, _SEED) for dims in named_shapes(step.workload)]
    agreeing = {tuple(s.dims.values()): asking.ask(s).saw is Saw.AGREES for s in settings if s.runs}
    names = list(step.workload.dims)
    dims = {name: tuple(step.workload.dims[name]) for name in names}
    failing = [shape for shape, agrees in agreeing.items() if not agrees]
    if not failing:
        return step if agreeing else None
    while failing:
        name, worst = _worst(names, dims, agreeing)
        dims[name] = tuple(value for value in dims[name] if value != worst)
        if not dims[name]:
            return None
        agreeing = {shape: agrees for shape, agrees in agreeing.items() if shape[names.index(name)] != worst}
        failing = [shape for shape, agrees in agreeing.items() if not agrees]
    return replace(step, workload=step.workload.model_copy(update={"dims": dims})) if agreeing else None


def _worst(
    names: Sequence[str], dims: Mapping[str, Sequence[int]], agreeing: Mapping[tuple[int, ...], bool]
) -> tuple[str, int]:
    """The extent with which the largest share of shapes fails; of equals the first."""

    def share(place: tuple[int, int]) -> float:
        index, value = place
        outcomes = [agrees for shape, agrees in agreeing.items() if shape[index] == value]
        return outcomes.count(False) / len(outcomes) if outcomes else 0.0

    index, value = max(((i, v) for i, name in enumerate(names) for v in dims[name]), key=share)
    return names[index], value
