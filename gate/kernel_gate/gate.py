"""The gate: build → check → sanitize → profile → verdict. The first failure ends the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from kernel_gate.build.unit import Unit
from kernel_gate.built import Built
from kernel_gate.cases import ALLOCATED, Case, other_integer, plan, special_at_callers_sizes, the_case
from kernel_gate.conclusion import conclude
from kernel_gate.deadline import TimeSpentError, ends_within, seconds_left
from kernel_gate.devices.base import Device
from kernel_gate.devices.opening import DeviceKind
from kernel_gate.evidence import companion_files, environment, hash_inputs, hashes, toolchain
from kernel_gate.few_builds import sharing_builds
from kernel_gate.full_disk import is_full, no_room
from kernel_gate.kept import Kept
from kernel_gate.memory_cases import memory_cases
from kernel_gate.options import GateOptions
from kernel_gate.oracle import OracleError
from kernel_gate.parts import Parts
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.sanitizer.choice import likely_tools
from kernel_gate.stages.algebra import Expressions
from kernel_gate.stages.alone import judged_alone
from kernel_gate.stages.build import build
from kernel_gate.stages.cause import with_cause
from kernel_gate.stages.check import check
from kernel_gate.stages.drawn_inputs import DrawnInputs
from kernel_gate.stages.expressions import same_expression
from kernel_gate.stages.faulty_baseline import unless_found_in_the_baseline, unless_the_baseline_races
from kernel_gate.stages.follow import followed
from kernel_gate.stages.invariants import check_invariants
from kernel_gate.stages.pinpoint import pinpoint
from kernel_gate.stages.profile import profile
from kernel_gate.stages.sanitize import sanitize
from kernel_gate.stages.watch import Watch
from kernel_gate.stages.with_invariants import GOES_ON, with_invariants
from kernel_gate.verdict import Speedup, Stage, StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError

Progress = Callable[[str, str, float], None]
"""Stage, what it is at, share done of the stage (0 … 1)."""
_NOT_WRONG = (Reason.ONE_CASE_ONLY, Reason.CASE_TIME_SPENT)
"""How a check ends in which no element was wrong, and which is no whole check."""
_CASES = 0.6
"""The share of what a deadline leaves that cases may take: the rest is for finding the line that is at fault."""
_FOLLOWING = 0.2
"""The share of it for looking for cases that follow the code."""
_DRAWN = "verdict_seed"
"""Detail of a check: the seed that its cases were drawn from, for a run that goes on after it."""


class _Run:
    """The stages so far, and what ends the run."""

    def __init__(
        self,
        progress: Progress | None,
        finished: Sequence[Stage] = (),
        on_stage: Callable[[Stage], None] | None = None,
    ) -> None:
        self.stages: list[Stage] = []
        self.finished: dict[str, Stage] = {
            stage.name: stage for stage in finished if stage.status is StageStatus.PASS
        }
        """What an interrupted run on the same inputs, device and toolchain has left."""
        self._on_stage = on_stage
        self.speedup: Speedup | None = None
        self.environment: dict[str, Any] = {}
        self._progress = progress
        self._since = time.monotonic()

    def drawn(self, options: GateOptions) -> GateOptions:
        """The options with a seed: that of a finished check, or a new one."""
        check = self.finished.get("check")
        before = check.details.get(_DRAWN, 0) if check is not None else 0
        return options.model_copy(update={"seed": before}) if before else options.drawn()

    def begin(self) -> None:
        """The first stage begins."""
        self._since = time.monotonic()

    def report(self, stage: str) -> Callable[[str, float], None]:
        """Progress of one stage."""

        def say(what: str, share: float) -> None:
            if self._progress is not None:
                self._progress(stage, what, share)

        return say

    def add(self, stage: Stage) -> bool:
        """Keep a stage; whether the run goes on."""
        timed = self.timed(stage)
        self.stages.append(timed)
        passed = stage.status is StageStatus.PASS
        if passed and self._on_stage is not None:
            self._on_stage(timed)
        return passed

    def timed(self, stage: Stage) -> Stage:
        """The stage with the seconds since the last one ended, where it has none yet."""
        if stage.seconds is not None:
            return stage
        now = time.monotonic()
        seconds, self._since = round(now - self._since, 3), now
        return stage.model_copy(update={"seconds": seconds})

    def unfinished(self, reason: str) -> Stage:
        """The stage after those that ended, which the time was not enough for."""
        name = ("build", "check", "sanitize", "profile")[len(self.stages)]
        return Stage(name=name, status=StageStatus.UNAVAILABLE, code=Reason.CASE_TIME_SPENT, reason=reason)

    def resume(self, *names: str) -> bool:
        """Take over stages that were finished before, when all of these were; whether they were."""
        if not all(name in self.finished for name in names):
            return False
        self.stages += [self.finished[name] for name in names]
        self.environment["resumed"] = list(names)
        return True


def judge(
    baseline: Program,
    candidate: Program,
    workload: Workload,
    *,
    device: DeviceKind = "auto",
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
    progress: Progress | None = None,
    kept: Kept | None = None,
    finished: Sequence[Stage] = (),
    on_stage: Callable[[Stage], None] | None = None,
) -> Verdict:
    """Whether `candidate` may take the place of `baseline`.

    Runs in this process; `kernel_gate.worker` keeps a hang or a crash of the GPU away from the caller. `kept` holds
    what stays open from one run to the next. Raises `DeviceError` when `device="cuda"` and there is none.
    """
    companions = companion_files(workload)
    inputs_hash = hash_inputs(baseline, candidate, workload, options, companions)
    program_hashes = hashes(baseline, candidate, workload)
    workload = workload.with_dims({**baseline.own_dims, **candidate.own_dims})
    run = _Run(progress, finished, on_stage)
    options = run.drawn(options)
    parts = Parts()
    with ExitStack() as stack:
        keeper = kept if kept is not None else stack.enter_context(Kept())
        # Versions of compilers take a process each to ask: that goes on beside the first stages.
        asking = stack.enter_context(ThreadPoolExecutor(1)).submit(toolchain)
        tools = () if "sanitize" in run.finished else likely_tools(candidate)
        if device == "cuda" or keeper.devices.has_gpu:
            keeper.spares.prepare(tools)
        with parts.part("open device"):
            opened, why_emulated = keeper.devices.open(
                device,
                seconds_per_launch=min(options.check_seconds, _CASES * seconds_left()),
                launch_seconds=options.launch_seconds,
                emulated_arch=options.emulated_arch,
            )
        stack.callback(keeper.devices.done, opened)
        watch = None
        if opened.kind == "cuda":
            keeper.make_ready(tools)
            watch = stack.enter_context(Watch(keeper.watcher, baseline, candidate, workload, options))
        keeper.runs.begin((baseline, workload))
        about = environment(opened.describe(), options)
        run.begin()
        try:
            _stages(run, opened, keeper, why_emulated, baseline, candidate, workload, options, watch)
        except OSError as error:
            if not is_full(error):
                raise
            run.add(no_room(run.stages))
        except TimeSpentError as error:
            run.add(run.unfinished(f"the time for a verdict was spent: {error}"))
        with parts.part("environment"):
            run.environment |= {
                **about,
                **asking.result(),
                "sha256": program_hashes,
                "companions": companions,
            }
        run.environment["seconds_of"] = parts.seconds()
        if companion_files(workload) != companions:
            reason = "the oracle or a data file changed during the run"
            run.stages[-1] = Stage(
                name=run.stages[-1].name,
                status=StageStatus.UNAVAILABLE,
                code=Reason.COMPANION_CHANGED,
                reason=reason,
            )
    return conclude(judged_alone(run.stages, baseline, candidate), run.speedup, run.environment, inputs_hash)


def _stages(
    run: _Run,
    device: Device,
    keeper: Kept,
    why_emulated: str,
    baseline: Program,
    candidate: Program,
    workload: Workload,
    options: GateOptions,
    watch: Watch | None,
) -> None:
    cases, left_out = sharing_builds(
        _cases(workload, baseline, options), workload, (baseline, candidate), options.seed
    )
    if left_out:
        run.environment["cases_left_out"] = [str(case) for case in left_out]
    on_gpu = device.kind == "cuda"
    drawn = DrawnInputs(workload, options.seed) if on_gpu else None
    run.report("build")("compiling", 0.0)
    built = build(
        baseline,
        candidate,
        workload,
        workload.profile_dims if on_gpu else (),
        arch=device.arch,
        want_cubin=on_gpu,
        options=options,
        cases=cases,
    )
    if not run.add(built.stage) or built.baseline is None or built.candidate is None:
        return
    both = built.baseline, built.candidate
    if not options.explain and _is_nothing_changed(*both):
        why = "what was changed is not compiled: both programs are the same code"
        run.add(
            Stage(
                name="check",
                status=StageStatus.UNAVAILABLE,
                code=Reason.CHANGE_NOT_COMPILED,
                reason=why,
            )
        )
        return
    follows = options.case is None and options.hidden
    planned = cases

    def taken(some: Iterable[Case]) -> list[Case]:
        """Those that the device is given: a size that the baseline does not take may cost a GPU its context."""
        return [c for c in some if not on_gpu or other_integer(workload, c) is None]

    def further() -> list[Case]:
        """More cases, which are among `cases` from then on."""
        if not follows:
            return []
        with ends_within(_FOLLOWING * seconds_left()):
            theirs = keeper.runs.decisions(both[0], workload)
            more = taken(followed(planned, *both, workload, options.seed, theirs))
        cases.extend(more)
        return more

    cases = taken(c for c in planned if c.memory == ALLOCATED or not follows)
    if on_gpu and follows:
        cases += special_at_callers_sizes(workload, options.seed)
    if not run.resume("check", "sanitize") and not _right(
        run, device, keeper, both, workload, cases, options, further
    ):
        return
    if watch is not None and watch.rejected():
        run.add(watch.stage())
        return
    if watch is None:
        reason = f"not profiled: {why_emulated}"
        run.add(
            Stage(name="profile", status=StageStatus.UNAVAILABLE, code=Reason.NOT_PROFILED, reason=reason)
        )
        return
    profiled, run.speedup = profile(
        device,
        *both,
        workload,
        options,
        run.report("profile"),
        inputs=drawn or DrawnInputs(workload, options.seed),
        counted=next((s.details.get("counted_work") for s in run.stages if s.name == "sanitize"), None),
        timed=keeper.after_timing,
        same_expression=same_expression(run.stages),
    )
    profiled = unless_found_in_the_baseline(profiled, run.stages)
    profiled = run.timed(unless_the_baseline_races(profiled, both[0], workload, cases))
    run.report("watch")("waiting for the emulated device", 0.0)
    # Wrong comes before slow: what was watched stands before what was timed.
    if run.add(watch.stage()):
        run.add(profiled)


def _right(
    run: _Run,
    device: Device,
    keeper: Kept,
    both: tuple[Built, Built],
    workload: Workload,
    cases: Sequence[Case],
    options: GateOptions,
    further: Callable[[], Sequence[Case]],
) -> bool:
    """Check and sanitize; whether the run goes on."""
    # Of one program beside itself nobody needs to ask which expression it computes.
    asks = options.algebra_seconds and _images(both[0]) != _images(both[1])
    expressions = Expressions(*both, workload, options) if asks else None
    spares, oracles = keeper.spares, keeper.oracles
    try:
        with ExitStack() as stack:
            oracle = None
            if workload.oracle:
                lent = oracles.lent(workload, allow_uncontained=options.allow_uncontained)
                oracle = stack.enter_context(lent)
            # A launch that the caller's deadline ends is no hang.
            stack.enter_context(ends_within(_CASES * seconds_left()))
            checked = check(
                device,
                *both,
                workload,
                cases,
                oracle=oracle,
                seconds=min(options.check_seconds, _CASES * seconds_left()),
                progress=run.report("check"),
                whole=options.case is None,
                seed=options.seed,
                callers_seconds=options.callers_seconds,
                findings_seconds=options.findings_seconds,
                expressions=expressions,
                further=further,
                theirs=keeper.runs,
            )
    except (OracleError, WorkloadError) as error:
        code = error.code if isinstance(error, OracleError) else Reason.WORKLOAD_DATA
        run.add(Stage(name="check", status=StageStatus.UNAVAILABLE, code=code, reason=str(error)))
        return False
    except MemoryError as error:
        reason = f"this machine's memory does not hold the buffers of a shape: {error}; use smaller dims"
        run.add(Stage(name="check", status=StageStatus.UNAVAILABLE, code=Reason.OUT_OF_MEMORY, reason=reason))
        return False
    stage = checked.stage
    if options.explain:
        explained = replace(checked, stage=with_cause(device, *both, workload, checked, spares))
        stage = pinpoint(device, *both, workload, explained, spares)
    # An access that breaks a rule of the device ends every launch before an invariant could say more.
    watches = "fault" not in stage.details
    if watches and (
        stated := check_invariants(
            both[1].program, both[0].program, workload, cases, options, run.report("check"), checked.ended_at
        )
    ):
        stage = with_invariants(stage, stated, both[1].label)
    if device.kind == "cuda":
        stage = unless_the_baseline_races(stage, both[0], workload, cases)
    passed = run.add(stage.model_copy(update={"details": {**stage.details, _DRAWN: options.seed}}))
    if not passed and stage.code not in GOES_ON:
        if stage.code in _NOT_WRONG and checked.candidate_findings:
            # Every element agrees by luck only: what the device's detectors saw decides.
            run.add(sanitize(device, *both, workload, cases, checked, spares, run.report("sanitize")))
        return False
    sanitized = sanitize(device, *both, workload, cases, checked, spares, run.report("sanitize"))
    run.add(sanitized)
    return passed and sanitized.status is not StageStatus.FAIL


def _is_nothing_changed(baseline: Built, candidate: Built) -> bool:
    """Whether programs that differ in their source alone were compiled to the same."""
    before, after = baseline.program, candidate.program
    is_text_alone = replace(after, source=before.source).is_same_as(before) and after.source != before.source
    return is_text_alone and _images(baseline) == _images(candidate)


def _images(built: Built) -> dict[Unit, str]:
    """What a program was compiled to."""
    return {unit: image.sha256 for unit, image in built.images.items()}


def _cases(workload: Workload, baseline: Program, options: GateOptions) -> list[Case]:
    """The cases to check: all, or the one that was asked for. Raises `ValueError` for one that there is not."""
    if options.case is not None:
        return [the_case(workload, options.case, options.seed, options.inputs, options.memory)]
    cases = plan(workload, options.seed, hidden=options.hidden)
    return cases + memory_cases(workload, baseline, options.seed) if options.hidden else cases
