"""What the values of a case's inputs are, in the names of the condition language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.inputs import make_inputs
from kernel_gate.stages.remembered import with_other_data
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.learning.probes.setting import Setting
from kernel_lineage.skills.conditions.facts import Scalar

ValueFacts = tuple[tuple[str, Scalar], ...]


def told_of_values(setting: Setting) -> Setting:
    """A setting with what its values are: those of its case, and those that the gate launches it with besides."""
    facts = [dict(facts_of_values(inputs, setting.workload)) for inputs in _inputs(setting)]
    return replace(setting, told=_of_both(*facts)) if facts else setting


def _of_both(own: dict[str, Scalar], other: dict[str, Scalar]) -> ValueFacts:
    """What is true of the values of two cases together: a fact that one of them lacks is told of neither."""
    return tuple((name, _joined(value, other[name])) for name, value in own.items() if name in other)


def _joined(one: Scalar, other: Scalar) -> Scalar:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return min(one[0], other[0]), max(one[1], other[1])
    return one and other


def bounds_of_values(setting: Setting) -> ValueFacts:
    """`range(x)` of each float input, infinities counted as the largest values and NaN left out."""
    ranges: dict[str, Scalar] = {}
    for name, array in ((n, a) for inputs in _inputs(setting) for n, a in inputs.items()):
        argument = setting.workload.argument(name)
        if argument is not None and DTYPES[argument.dtype].is_float:
            wide = np.asarray(DTYPES[argument.dtype].wide(array), np.float64)
            if (numbers := wide[~np.isnan(wide)]).size:
                bounds = float(numbers.min()), float(numbers.max())
                ranges[f"range({name})"] = _joined(ranges.get(f"range({name})", bounds), bounds)
    return tuple(ranges.items())


def _inputs(setting: Setting) -> tuple[dict[str, Array], ...]:
    """The values of a case and of its companion; nothing where the workload cannot give them: the gate says why."""
    case = Case(dict(setting.dims), setting.seed, setting.inputs)
    try:
        return tuple(make_inputs(setting.workload, c) for c in (case, with_other_data(case)))
    except (WorkloadError, MemoryError, ValueError):
        return ()


def facts_of_values(inputs: Mapping[str, Array], workload: Workload) -> ValueFacts:
    """`finite(x)` and `row_has_finite(x)` of each float input; of finite ones the range and what the rows are like.

    Of integers that pick one place of each row: `row_lead_at(x, y)`, how far what they pick leads.
    """
    alone = [fact for name, array in sorted(inputs.items()) for fact in _facts(name, array, workload)]
    return (*alone, *_picked(inputs, workload))


def _picked(inputs: Mapping[str, Array], workload: Workload) -> Iterator[tuple[str, Scalar]]:
    """Facts of each pair of finite rows, and an index into each of them."""
    floats = {a.name: DTYPES[a.dtype].is_float for a in workload.args}
    for name, array in sorted(inputs.items()):
        if not floats.get(name) or array.ndim < 2 or array.shape[-1] < 2 or not array.size:
            continue
        argument = workload.argument(name)
        dtype = DTYPES[argument.dtype] if argument is not None else None
        rows = np.asarray(dtype.wide(array) if dtype is not None else array, np.float64)
        rows = rows.reshape(-1, rows.shape[-1])
        for index, places in sorted(inputs.items()):
            if floats.get(index, True) or places.size != len(rows) or not np.isfinite(rows).all():
                continue
            picks = np.asarray(places, np.int64).reshape(-1, 1)
            if picks.min() < 0 or picks.max() >= rows.shape[-1]:
                continue
            rest = rows.copy()
            np.put_along_axis(rest, picks, -np.inf, axis=-1)
            lead = np.take_along_axis(rows, picks, axis=-1)[:, 0] - rest.max(axis=-1)
            yield f"row_lead_at({name}, {index})", _interval(lead.min(), lead.max())


def _facts(name: str, array: Array, workload: Workload) -> Iterator[tuple[str, Scalar]]:
    argument = workload.argument(name)
    if argument is None or not array.size:
        return
    dtype = DTYPES[argument.dtype]
    if not dtype.is_float:
        yield f"range({name})", (int(array.min()), int(array.max()))
        return
    wide = np.asarray(dtype.wide(array), np.float64)
    live = np.isfinite(wide)
    yield f"finite({name})", bool(live.all())
    rows = wide.reshape(-1, wide.shape[-1]) if wide.ndim else wide.reshape(1, 1)
    if not live.all():
        yield f"row_has_finite({name})", bool(live.reshape(rows.shape).any(axis=-1).all())
        return
    yield f"row_has_finite({name})", True
    yield f"range({name})", _interval(wide.min(), wide.max())
    ordered = np.sort(rows, axis=-1)
    spread = ordered[:, -1] - ordered[:, 0]
    yield f"row_spread({name})", _interval(spread.min(), spread.max())
    summed = ordered[:, -1] + np.log(np.exp(ordered - ordered[:, -1:]).sum(axis=-1))
    yield f"row_log_sum_exp({name})", _interval(summed.min(), summed.max())
    if rows.shape[-1] > 1:
        lead = ordered[:, -1] - ordered[:, -2]
        yield f"row_lead({name})", _interval(lead.min(), lead.max())


def _interval(low: float, high: float) -> tuple[float, float]:
    """By six digits: enough to bound, and the same text everywhere."""
    return float(f"{low:.6g}"), float(f"{high:.6g}")
