"""Check: the candidate's outputs on every case, element by element, against the oracle and the baseline's own error."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_gate.arguments import Argument
from kernel_gate.built import Built
from kernel_gate.cases import ALLOCATED, Case, other_integer, repeat_options
from kernel_gate.deadline import TimeSpentError, ends_within, seconds_left
from kernel_gate.devices.base import Device, Fault
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.inputs import make_inputs
from kernel_gate.kept_runs import KeptRuns
from kernel_gate.memory_cases import each_alone
from kernel_gate.oracle import OracleProcess
from kernel_gate.reasons import Reason
from kernel_gate.shapes import elements
from kernel_gate.stages.algebra import Answer, Expressions
from kernel_gate.stages.beyond import check_beyond
from kernel_gate.stages.callers import check_callers
from kernel_gate.stages.check_case import check_case
from kernel_gate.stages.check_coverage import coverage_of, family_of, not_executed
from kernel_gate.stages.check_state import AtFault, CheckState, Dropped, Stop
from kernel_gate.stages.conditions import is_condition
from kernel_gate.stages.expressions import cases_to_ask, reordered, said_of
from kernel_gate.stages.own_noise import loses_more
from kernel_gate.stages.reference import run_baseline
from kernel_gate.stages.repeated import family_of_repeating, repeating_cases
from kernel_gate.stages.uncompiled import uncompiled_changes
from kernel_gate.variations import Variation
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload

_MOST_NAMED = 200
"""Cases that the evidence names."""
_HANG_SECONDS = 2.0
"""For a case in which an integer is zero: a loop in steps of zero does not end."""
_REPEATING_SECONDS = 6.0
"""For cases that repeat loops which no case before repeats."""
_REPEATING_SEED = 8000
_FIXED_COST_SECONDS = 1.0
"""What a case may cost whatever its size (a launch, the oracle's start): less says nothing of larger cases."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the check found, and whose fault it is."""

    stage: Stage
    at_fault: AtFault = "none"
    candidate_findings: tuple[tuple[Fault, str], ...] = ()
    """What the device's detectors found in the candidate, with the case; for the sanitize stage."""
    launches: int = 0
    passed: tuple[Case, ...] = ()
    """Cases in which every element agreed."""
    ended_at: Case | None = None
    """The case at which the check stopped."""


def check(
    device: Device,
    baseline: Built,
    candidate: Built,
    workload: Workload,
    cases: Sequence[Case],
    *,
    oracle: OracleProcess | None,
    seconds: float,
    progress: Callable[[str, float], None],
    whole: bool = True,
    seed: int = 0,
    callers_seconds: float = 0.0,
    findings_seconds: float | None = None,
    expressions: Expressions | None = None,
    further: Callable[[], Sequence[Case]] = tuple,
    theirs: KeptRuns | None = None,
) -> CheckResult:
    """Run every case, cheapest first, until one fails or the time is spent.

    `further` looks for more of them, which takes seconds: it is asked when all of `cases` have been run. `whole` is
    False when the cases are not all that there are: then they can fail, but not pass. `theirs` is what the baseline is
    known to do.
    """
    run = CheckState(
        device, baseline, candidate, workload, oracle, expressions=expressions, theirs=theirs or KeptRuns()
    )
    try:
        started = time.monotonic()
        unreached_or_end = _run_cases(run, cases, seconds, findings_seconds, progress, further=further)
        goes_on = whole and not _is_decided(run, findings_seconds)
        if goes_on and not isinstance(unreached_or_end, CheckResult):
            left = min(_REPEATING_SECONDS, seconds - (time.monotonic() - started))
            unreached_or_end = _repeat_loops(run, seed, left, progress) or unreached_or_end
        if goes_on and not isinstance(unreached_or_end, CheckResult):
            unreached_or_end = _another_expression(run, progress) or unreached_or_end
        if goes_on and run.compared and not isinstance(unreached_or_end, CheckResult):
            left = seconds - (time.monotonic() - started)
            try:
                run.callers = check_callers(run, seed, callers_seconds, left)
                if run.callers is not None:
                    with ends_within(left):
                        check_beyond(run, seed, run.callers.callers)
            except Stop as stop:
                return _stopped(run, stop, stop.case or cases[0])
    finally:
        run.close()
        device.reorder(None)
    if isinstance(unreached_or_end, CheckResult):
        return unreached_or_end
    return _finished(run, cases, unreached_or_end, seconds, whole)


def _run_cases(
    run: CheckState,
    cases: Sequence[Case],
    seconds: float,
    findings_seconds: float | None,
    progress: Callable[[str, float], None],
    family: str = "",
    further: Callable[[], Sequence[Case]] = tuple,
) -> list[Case] | CheckResult:
    """The cases that were not reached, `further` ones among them, or how one ended the check; what they execute counts
    for a `family`, by default the one that they are of.
    """
    started = time.monotonic()
    unreached: list[Case] = []
    last = (0.0, 1)
    waiting = deque(cases)
    number, total, asked = -1, len(cases), False
    while waiting or not asked:
        if not waiting:
            asked = True
            since = time.monotonic()
            if since - started < seconds and not _is_decided(run, findings_seconds):
                waiting.extend(further())
                total += len(waiting)
                started += time.monotonic() - since  # to look for a case is not to check one
            continue
        case, number = waiting.popleft(), number + 1
        size = elements(run.workload, case.dims)
        spent = time.monotonic() - started
        expected = last[0] * size / last[1] if last[0] > _FIXED_COST_SECONDS else 0.0
        # What a detector has seen decides: the other half of the time is for finding out whose doing it is.
        left = seconds / 2 if run.findings else seconds
        if run.guilty_at is not None and findings_seconds is not None and not case.required:
            left = min(left, run.guilty_at - started + findings_seconds)
        if spent + expected > left:
            unreached.append(case)
            continue
        progress(f"case {number + 1} of {total}: {case}", number / total)
        before = time.monotonic()
        if isinstance(run.device, EmulatedDevice):
            run.device.family = family or family_of(case)
        may_hang = other_integer(run.workload, case) is not None and not all(dict(case.scalars).values())
        try:
            with ends_within(_HANG_SECONDS if may_hang else math.inf):
                check_case(run, case, again=number == 0 and not family)
        except TimeSpentError:
            if not may_hang or not seconds_left():
                return [*unreached, case, *waiting]
            run.dropped.append(f"{case}: {Reason.HANG}: the launches did not end within {_HANG_SECONDS:g} s")
        except Dropped as dropped:
            run.dropped.append(f"{case}: {dropped.code}: {dropped}")
            if case.origin == "hidden" and run.baseline.program.language == "triton":
                waiting.extend(each_alone(case))
        except Stop as stop:
            if not is_condition(run, stop, case):
                return _stopped(run, stop, case)
        last = (time.monotonic() - before, max(1, size))
    return unreached


def _is_decided(run: CheckState, findings_seconds: float | None) -> bool:
    """Whether a detector has seen what the baseline does not do, and the time for more of it is spent."""
    if run.guilty_at is None or findings_seconds is None:
        return False
    return time.monotonic() >= run.guilty_at + findings_seconds


def _repeat_loops(
    run: CheckState, seed: int, seconds: float, progress: Callable[[str, float], None]
) -> CheckResult | None:
    """How the check ends for a candidate that is wrong where it repeats a loop that no case before repeats."""
    if run.candidate.program.source == run.baseline.program.source:
        return None
    ends = time.monotonic() + seconds
    for case in repeating_cases(run, seed + _REPEATING_SEED):
        left = ends - time.monotonic()
        if left <= 0:
            break
        with ends_within(left):
            ended = _run_cases(run, [case], left, None, progress, family_of_repeating(case))
        if isinstance(ended, CheckResult):
            return ended
    return None


def _another_expression(run: CheckState, progress: Callable[[str, float], None]) -> CheckResult | None:
    """How the check ends for a candidate that computes something else, and not to within a few roundings."""
    asked = False
    for case in cases_to_ask(run):
        progress(f"algebra: {case}", 1.0)
        if reordered(run, case, make_inputs(run.workload, case)):
            if run.algebra[-1].residues and not asked:
                asked = True
                if ended := _without_compensation(run):
                    return ended
            continue
        if run.algebra[-1].answer is not Answer.OTHER or run.workload.tolerance.relative is not None:
            continue
        run.strict = True
        try:
            check_case(run, case, again=False)
        except Dropped:
            continue
        except TimeSpentError:
            break
        except Stop as stop:
            stop.reason = f"{run.algebra[-1].why} than the baseline's; {stop.reason}"
            return _stopped(run, stop, case)
        finally:
            run.strict = False
    return None


def _without_compensation(run: CheckState) -> CheckResult | None:
    """How the check ends for a candidate that leaves out what compensates for roundings, where that matters."""
    plain = [c for c in run.passed if c.memory == ALLOCATED and c.variation is Variation.DECLARED]
    case = max((c for c in plain if not c.scalars), key=lambda c: elements(run.workload, c.dims))
    try:
        why = loses_more(run, case, run_baseline(run, case, make_inputs(run.workload, case)))
    except (Dropped, Stop, TimeSpentError) as error:
        run.notes.append(f"how much rounding noise grows was not measured: {error}; {case}")
        return None
    if why is None:
        return None
    stop = Stop("candidate", Reason.LESS_PRECISE, f"{why}; {case}; {run.candidate.label}")
    return _stopped(run, stop, case)


def _details(run: CheckState) -> dict[str, Any]:
    oracle = {} if run.oracle is None else {"oracle_contained": run.oracle.contained}
    return {
        "device": run.device.kind,
        **oracle,
        "cases": run.compared,
        "passed": [str(case) for case in run.passed[:_MOST_NAMED]],
        "launches": run.launches,
        "tolerances": run.tolerances,
        "errors": {name: {"candidate": c, "baseline": b} for name, (c, b) in run.errors.items()},
        "conditions": [{"expr": e, "kind": "validity", "evidence": why} for e, why in run.conditions.items()],
        "algebra": [answer.document() for answer in run.algebra],
        "dropped": run.dropped,
        "notes": list(dict.fromkeys(run.notes)),
        "coverage": coverage_of(run),
        **({} if run.callers is None else {"callers": run.callers.document()}),
    }


def _provided(conditions: Mapping[str, str]) -> str:
    """What must hold for the candidate and need not for the baseline."""
    if not conditions:
        return ""
    return f", if {' and '.join(conditions)}, which the baseline does not need"


def _stopped(run: CheckState, stop: Stop, case: Case) -> CheckResult:
    status = StageStatus.FAIL if stop.at_fault == "candidate" else StageStatus.UNAVAILABLE
    about = {
        "case": str(case),
        "dims": {**case.dims, **dict(case.scalars)},
        "seed": case.seed,
        "inputs": case.inputs,
        "memory": str(case.memory),
        "repeat": repeat_options(case),
    }
    stage = Stage(
        name="check",
        status=status,
        code=stop.code,
        reason=stop.reason,
        details={**_details(run), **about, **stop.details},
    )
    return CheckResult(
        stage, stop.at_fault, tuple(run.findings), run.launches, tuple(run.passed), ended_at=case
    )


def _has_elements(run: CheckState, argument: Argument) -> bool:
    """Whether an argument is compared and has an element on some case: a launch may need a buffer of none."""
    written = argument.kind in {"output", "inout"}
    return written and any(math.prod(run.workload.extents(argument, case.dims)) for case in run.passed)


def _finished(
    run: CheckState, cases: Sequence[Case], unreached: list[Case], seconds: float, whole: bool
) -> CheckResult:
    details = {**_details(run), "unreached": [str(case) for case in unreached]}

    def unavailable(code: Reason, reason: str, at_fault: AtFault) -> CheckResult:
        stage = Stage(name="check", status=StageStatus.UNAVAILABLE, code=code, reason=reason, details=details)
        return CheckResult(stage, at_fault, tuple(run.findings), run.launches)

    if not run.compared and unreached and not run.dropped:
        reason = f"none of {len(cases)} cases fits into {seconds:.3g} s on the {run.device.kind} device"
        return unavailable(Reason.CASE_TIME_SPENT, f"{reason}; the first is {unreached[0]}", "environment")
    if not run.compared:
        why = f"; {run.dropped[0]}" if run.dropped else "; give the workload's dims at least one shape"
        return unavailable(
            Reason.NOTHING_COMPARED, f"nothing was compared: {len(cases)} cases{why}", "workload"
        )
    if not whole:
        return unavailable(
            Reason.ONE_CASE_ONLY, f"{cases[0]}: agrees in every element; only this case was run", "workload"
        )
    blind = [a.name for a in run.workload.args if a.name not in run.noticed and _has_elements(run, a)]
    # A counter that each launch takes back to where it was tells nothing, where other outputs tell right from wrong.
    are_executed = not details["coverage"].get("never")
    if run.noticed and are_executed:
        blind = [name for name in blind if name in run.changed]
    if blind:
        return unavailable(
            Reason.WORKLOAD_BLIND,
            f"the workload cannot tell a right {', '.join(blind)} from a constant one; give inputs that vary",
            "workload",
        )
    left_out = uncompiled_changes(run.baseline, run.candidate)
    if left_out is not None and left_out.alone:
        return unavailable(
            Reason.CHANGE_NOT_COMPILED, f"{left_out}; what is compiled is the same", "workload"
        )
    if missing := [c for c in unreached if c.required]:
        return unavailable(
            Reason.CASE_TIME_SPENT,
            f"{run.compared} cases agree, but {len(missing)} named shapes did not fit into {seconds:.3g} s on the "
            f"{run.device.kind} device; the first is {missing[0]}",
            "environment",
        )
    return CheckResult(
        Stage(
            name="check",
            status=StageStatus.PASS,
            reason=f"{run.compared} cases agree in every element{said_of(run.algebra)}"
            + _provided(run.conditions)
            + (f"; {left_out}" if left_out is not None else "")
            + not_executed(details["coverage"])
            + str(run.callers or ""),
            details=details,
        ),
        "none",
        tuple(run.findings),
        run.launches,
        tuple(run.passed),
    )
