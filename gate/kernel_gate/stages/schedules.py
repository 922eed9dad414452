"""The same outputs under unkind orders of warps and lanes: what only the usual interleaving makes right is wrong.

Volatile accesses and atomics have no data race, and code within a warp without `__syncwarp` may meet none; whether they
give the same in every order is asked of the emulated device. Each order is repeated by its seed, the case's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.dtypes import Array
from kernel_gate.emulated.schedule import Mode, Schedule
from kernel_gate.execution import Execution, Run
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.check_state import (
    CheckState,
    Stop,
    execution_of,
    hard_fault,
    launch,
    launch_baseline,
    say,
)
from kernel_gate.stages.judge_outputs import compare_outputs, first_difference, may_vary, unrepeatable
from kernel_gate.stages.reference import Reference

_SHARES = re.compile(r"\.shared\b|\b(?:atom|red|shfl|vote|match)\.|\.volatile\b|\bbar\.")
"""Instructions through which threads can depend on each other."""
_MEETS = re.compile(r"\batom\.(?!\S*shared)|\.volatile\.global|\bld\.(?:acquire|relaxed)\.(?!\S*shared)")
"""Instructions by which a block reads what another has written while both run."""
_MOST_THREADS = 2048
_MOST_CASES = 2
_MOST_CASES_ACROSS_BLOCKS = 16
"""What a block makes of another's word can be wrong for some values only, and blocks rarely end before others start."""
_SECONDS = 1.0
_OUT_OF_TIME = frozenset({"timeout", "unsupported"})


def require_any_schedule(
    run: CheckState,
    case: Case,
    execution: Execution,
    inputs: Mapping[str, Array],
    first: Run,
    reference: Reference,
) -> None:
    """Raise `Stop` where an order of turns changes the outputs beyond what the baseline's own change."""
    device = run.device
    if device.kind != "emulated" or not isinstance(device, EmulatedDevice):
        return
    threads = sum(math.prod(call[0]) * math.prod(call[1]) for _, call in execution.calls())
    modes = _modes(run, case) if threads <= _MOST_THREADS else ()
    if not modes:
        return
    run.scheduled += 1
    checks, limits = device.checks, device.limits
    device.limits = replace(limits, seconds=min(limits.seconds, _SECONDS))
    try:
        for mode in modes:
            schedule = Schedule(mode, case.seed)
            device.checks = replace(checks, races=False, uninitialised=False, schedule=schedule)
            # With the same inputs, what the launch before left hides that a block reads before another has written.
            execution.overwrite_variables(case.seed)
            _require(run, case, launch(run, execution, inputs, 0), first, reference, schedule)
    finally:
        device.checks, device.limits = checks, limits


def _modes(run: CheckState, case: Case) -> tuple[Mode, ...]:
    """The orders that a case is run under: all for the first named shapes, one block after another for more of them."""
    if case.required and run.scheduled < _MOST_CASES:
        return tuple(Mode) if _has(run.candidate, _SHARES) else ()
    if run.scheduled < _MOST_CASES_ACROSS_BLOCKS and _has(run.candidate, _MEETS):
        return (Mode.FIRST,)
    return ()


def _has(built: Built, pattern: re.Pattern[str]) -> bool:
    return any(_occurs(pattern, image.ptx) for image in built.images.values())


@lru_cache(maxsize=32)
def _occurs(pattern: re.Pattern[str], ptx: str) -> bool:
    """Whether a pattern occurs in a code; every case asks."""
    return pattern.search(ptx) is not None


def _require(
    run: CheckState, case: Case, again: Run, first: Run, reference: Reference, schedule: Schedule
) -> None:
    fault = hard_fault(again)
    if fault is not None and fault.kind in _OUT_OF_TIME:
        run.notes.append(f"under another order of warps ({schedule}) a launch did not end in its time")
        return
    difference = None if fault is not None else first_difference(first, again)
    if fault is None and difference is None:
        return
    wrong: Stop | None = None
    if fault is None and may_vary(run):
        try:
            compare_outputs(run, case, again, reference)
        except Stop as stop:
            wrong = stop
        else:
            return
    if _baseline_changes(run, case, reference):
        run.notes.append(f"outputs of both programs depend on the order of warps ({schedule})")
        return
    what = f"under another order of warps ({schedule}) the same inputs gave"
    if wrong is not None:
        # It was right in the usual order: that it depends on the order is what is wrong.
        raise Stop("candidate", Reason.NOT_REPEATABLE, f"{what} {wrong.reason}") from wrong
    if fault is not None:
        about = {"fault": fault.kind, **fault.where()}
        message = f"{what} a fault: {say(fault, run.candidate.label, case)}"
        raise Stop("candidate", FAULT_REASONS[fault.kind], message, about)
    assert difference is not None
    raise Stop("candidate", Reason.NOT_REPEATABLE, unrepeatable(what, difference, run, case))


def _baseline_changes(run: CheckState, case: Case, reference: Reference) -> bool:
    """Whether the baseline, too, gives something else under the order that is set."""
    assert isinstance(run.device, EmulatedDevice)
    set_now = run.device.checks
    with execution_of(run, "baseline", case) as execution:
        run.device.checks = replace(set_now, schedule=None)
        usual = launch_baseline(run, case, execution, reference.inputs, 0)
        run.device.checks = set_now
        execution.overwrite_variables(case.seed)
        changed = launch_baseline(run, case, execution, reference.inputs, 0)
    if hard_fault(changed) is not None:
        return True
    return first_difference(usual, changed) is not None
