"""The gate: build → check → sanitize → profile → verdict. The first failure ends the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from kernel_gate.cases import plan
from kernel_gate.devices.base import Device
from kernel_gate.devices.opening import DeviceKind, open_device
from kernel_gate.evidence import companion_files, environment, hash_inputs
from kernel_gate.options import GateOptions
from kernel_gate.oracle import OracleError, OracleProcess
from kernel_gate.program import Program
from kernel_gate.stages.build import build
from kernel_gate.stages.check import check
from kernel_gate.stages.profile import profile
from kernel_gate.stages.sanitize import sanitize
from kernel_gate.verdict import Outcome, Speedup, Stage, StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError

Progress = Callable[[str, str, float], None]
"""Stage, what it is at, share done of the stage (0 … 1)."""
_STAGES = ("build", "check", "sanitize", "profile")


class _Run:
    """The stages so far, and what ends the run."""

    def __init__(self, progress: Progress | None) -> None:
        self.stages: list[Stage] = []
        self.speedup: Speedup | None = None
        self.environment: dict[str, Any] = {}
        self._progress = progress

    def report(self, stage: str) -> Callable[[str, float], None]:
        """Progress of one stage."""

        def say(what: str, share: float) -> None:
            if self._progress is not None:
                self._progress(stage, what, share)

        return say

    def add(self, stage: Stage) -> bool:
        """Keep a stage; whether the run goes on."""
        self.stages.append(stage)
        return stage.status is StageStatus.PASS


def judge(
    baseline: Program,
    candidate: Program,
    workload: Workload,
    *,
    device: DeviceKind = "auto",
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
    progress: Progress | None = None,
) -> Verdict:
    """Whether `candidate` may take the place of `baseline`.

    Runs in this process; `kernel_gate.worker.run_in_child` keeps a hang or a crash of the GPU away from the caller.
    Raises `DeviceError` when `device="cuda"` and there is none.
    """
    companions = companion_files(workload)
    inputs_hash = hash_inputs(baseline, candidate, workload, options, companions)
    opened, why_emulated = open_device(device, seconds_per_launch=options.check_seconds)
    run = _Run(progress)
    try:
        run.environment = {**environment(opened.describe(), options), "companions": companions}
        _stages(run, opened, why_emulated, baseline, candidate, workload, options)
        if companion_files(workload) != companions:
            reason = "the oracle or a data file changed during the run"
            run.stages[-1] = Stage(name=run.stages[-1].name, status=StageStatus.UNAVAILABLE, reason=reason)
    finally:
        opened.close()
    return conclude(run.stages, run.speedup, run.environment, inputs_hash)


def _stages(
    run: _Run,
    device: Device,
    why_emulated: str,
    baseline: Program,
    candidate: Program,
    workload: Workload,
    options: GateOptions,
) -> None:
    cases = plan(workload, options.seed, hidden=options.hidden)
    on_gpu = device.kind == "cuda"
    shapes = [case.dims for case in cases] + (list(workload.profile_dims) if on_gpu else [])
    run.report("build")("compiling", 0.0)
    built = build(baseline, candidate, workload, shapes, arch=device.arch, want_cubin=on_gpu)
    if not run.add(built.stage) or built.baseline is None or built.candidate is None:
        return
    try:
        with ExitStack() as stack:
            oracle = stack.enter_context(OracleProcess(workload)) if workload.oracle else None
            checked = check(
                device,
                built.baseline,
                built.candidate,
                workload,
                cases,
                oracle=oracle,
                seconds=options.check_seconds,
                progress=run.report("check"),
            )
    except (OracleError, WorkloadError) as error:
        run.add(Stage(name="check", status=StageStatus.UNAVAILABLE, reason=str(error)))
        return
    if not run.add(checked.stage):
        return
    sanitized = sanitize(device, candidate, workload, cases, checked, run.report("sanitize"))
    run.add(sanitized)
    if sanitized.status is StageStatus.FAIL:
        return
    if not on_gpu:
        run.add(Stage(name="profile", status=StageStatus.UNAVAILABLE, reason=f"not profiled: {why_emulated}"))
        return
    profiled, run.speedup = profile(
        device, built.baseline, built.candidate, workload, options, run.report("profile")
    )
    run.add(profiled)


def conclude(
    stages: Sequence[Stage], speedup: Speedup | None, about: dict[str, Any], inputs_hash: str
) -> Verdict:
    """The verdict that these stages amount to; stages that were not reached are `skipped`."""
    reached = {stage.name for stage in stages}
    ended = stages[-1].name if stages else "start"
    rest = [
        Stage(name=name, status=StageStatus.SKIPPED, reason=f"the run ended at {ended}")
        for name in _STAGES
        if name not in reached
    ]
    failed = next((s for s in stages if s.status is StageStatus.FAIL), None)
    unclear = next((s for s in stages if s.status is StageStatus.UNAVAILABLE), None)
    if failed is not None:
        outcome, reason = Outcome.REJECTED, f"Rejected by {failed.name}: {failed.reason}"
    elif unclear is not None:
        prefix = "" if unclear.reason.startswith("not profiled") else f"{unclear.name}: "
        outcome, reason = Outcome.INCONCLUSIVE, f"{prefix}{unclear.reason}"
    elif rest:
        outcome, reason = Outcome.INCONCLUSIVE, f"{rest[0].name} did not run"
    else:
        outcome, reason = Outcome.ACCEPTED, stages[-1].reason
    return Verdict(
        outcome=outcome,
        reason=reason,
        stages=[*stages, *rest],
        speedup=speedup,
        environment=about,
        inputs_hash=inputs_hash,
    )
