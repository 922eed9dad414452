"""Profit: over which sizes the later state of a step pays, and where that ends. From times of a GPU alone.

Every size of a geometric sweep along one dimension is timed as the gate times, in pairs; between the last size that
does not pay and the first that does, a few more sizes are timed. What is counted without a GPU is never a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from kernel_gate.devices.opening import DeviceKind
from kernel_gate.expressions import ExpressionError
from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.shapes import elements, named_shapes
from kernel_gate.verdict import ShapeSpeed, SpeedState
from kernel_lineage.learning.guard_conditions import category_of
from kernel_lineage.learning.probes.report import Crossing, Sweep, TimedSize
from kernel_lineage.learning.probes.setting import Setting, base_of, facts_of
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.skills.card import Condition, ConditionKind, Origin
from kernel_lineage.skills.conditions.evaluate import judge as judge_condition
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.workloads.device_size import counts_multiprocessors

OPTIONS = GateOptions(hidden=False, need="not_slower", profile_seconds=0.5)
_SMALLEST, _FACTOR, _MOST_SIZES = 32, 4, 12
_BETWEEN = (1.5, 2.0, 3.0)
"""Where a step of the sweep is looked into, as multiples of its lower end."""
_MOST_ELEMENTS = 1 << 26
"""The most elements of all buffers of a timed size: well beyond any cache, and drawn in a second."""


def sweeps(
    step: Step, judge: Judge, *, device: DeviceKind, valid: Sequence[str] = (), only: Sequence[str] = ()
) -> tuple[Sweep, ...]:
    """One sweep along each dimension (of `only`, where it names some).

    `valid` are conditions that timed sizes must not break: outside of them nothing is compared. On the emulated device
    nothing is asked, and each sweep says so. Raises `DeviceError` when the device is missing.
    """
    base = _base(step)
    if base is None:
        return ()
    # How large the device is is nothing that a caller chooses.
    dims = [n for n in base.dims if (not only or n in only) and not counts_multiprocessors(n)]
    return tuple(_sweep(base, name, judge, device, valid) for name in dims)


def _base(step: Step) -> Setting | None:
    """What the other dimensions are while one is moved: as the workload times them, else its largest shape."""
    shapes = [dict(d) for d in step.workload.profile_dims] or named_shapes(step.workload)[-1:]
    return base_of(step, shapes[0], OPTIONS.seed) if shapes else None


def _sweep(base: Setting, name: str, judge: Judge, device: DeviceKind, valid: Sequence[str]) -> Sweep:
    fixed = {n: extent for n, extent in base.dims.items() if n != name}
    if device == "emulated":
        return Sweep(dim=name, fixed=fixed, why_not="times need a GPU; the emulated device gives none")
    extents = [_SMALLEST * _FACTOR**k for k in range(_MOST_SIZES)]
    sizes, where, why = _timed(base, name, extents, judge, device, valid)
    for crossing in crossings_of(sizes):
        between = [int(crossing.low * share) for share in _BETWEEN if crossing.low * share < crossing.high]
        more, _, _ = _timed(base, name, between, judge, device, valid)
        sizes = sorted((*sizes, *more), key=lambda size: size.extent)
    crossings = crossings_of(sizes)
    return Sweep(dim=name, fixed=fixed, device=where, sizes=tuple(sizes), crossings=crossings, why_not=why)


def _timed(
    base: Setting, name: str, extents: Sequence[int], judge: Judge, device: DeviceKind, valid: Sequence[str]
) -> tuple[list[TimedSize], str, str]:
    """The sizes that could be timed, the device's name, and why nothing was when nothing was."""
    shapes = [dict(s.dims) for s in (base.at(**{name: e}) for e in extents) if _worth_timing(s, valid)]
    if not shapes:
        return [], "", f"no size along {name} keeps the step's conditions and fits"
    workload = base.workload.model_copy(update={"profile_dims": tuple(shapes)})
    verdict = judge(GateRequest.of(base.before, base.after, workload, device=device, options=OPTIONS))
    where = str(verdict.environment.get("device", {}).get("name", device))
    if verdict.speedup is None:
        stage = verdict.stage("profile")
        reason = stage.reason if stage is not None and stage.reason else verdict.reason
        return [], "", reason
    return [_size(shape, name) for shape in verdict.speedup.by_shape], where, ""


def _size(shape: ShapeSpeed, name: str) -> TimedSize:
    return TimedSize(
        extent=shape.dims[name], ratio=shape.median, low=shape.low, high=shape.high, state=shape.state
    )


def _worth_timing(setting: Setting, valid: Sequence[str]) -> bool:
    try:
        fits = 0 < elements(setting.workload, setting.dims) <= _MOST_ELEMENTS
        if not fits or not setting.workload.keeps_promises(setting.dims):
            return False
    except ExpressionError:
        return False
    facts = {n: Fact((v,), n, FactSource.WORKLOAD) for n, v in facts_of(setting).items()}
    return all(judge_condition(expr, Facts(facts)).truth is not Truth.FAILS for expr in valid)


def crossings_of(sizes: Sequence[TimedSize]) -> tuple[Crossing, ...]:
    """Where it begins to pay, and where it ends, of sizes in ascending order; none when that changes to and fro.

    A size that is no faster does not pay; one whose state is ambiguous says nothing, so that the interval spans it.
    """
    clear = [size for size in sizes if size.state is not SpeedState.AMBIGUOUS]
    turns = [(a, b) for a, b in itertools.pairwise(clear) if _pays(a) is not _pays(b)]
    if not turns or len(turns) > (2 if not _pays(clear[0]) else 1):
        return ()
    return tuple(
        Crossing(low=a.extent, high=b.extent, pays="above" if _pays(b) else "below") for a, b in turns
    )


def _pays(size: TimedSize) -> bool:
    return size.state is SpeedState.FAST


def conditions_of(sweep: Sweep, step: Step) -> Iterator[Condition]:
    """A profit condition for each crossing, which claims no more than what was timed."""
    sizes = {size.extent: size for size in sweep.sizes}
    for crossing in sweep.crossings:
        expr = crossing.expr(sweep.dim)
        wins, loses = sizes[crossing.wins], sizes[crossing.loses]
        yield Condition(
            kind=ConditionKind.PROFIT,
            category=category_of(expr),
            expr=expr,
            reason=f"Otherwise it does not pay: {loses.ratio:.2f}× at {sweep.dim} {loses.extent}.",
            origin=Origin.PROBE,
            evidence=(
                f"{sweep.device}{_beside(sweep.fixed)}: {_figure(loses, sweep.dim)}, {_figure(wins, sweep.dim)}; the "
                f"crossing lies in {sweep.dim} {crossing.low} … {crossing.high} (probe of {step.transition})"
            ),
        )


def _figure(size: TimedSize, dim: str) -> str:
    return f"{size.ratio:.3f}× ({size.low:.3f} … {size.high:.3f}) at {dim} {size.extent}"


def _beside(fixed: Mapping[str, int]) -> str:
    return "".join(f", {name} {extent}" for name, extent in fixed.items())
