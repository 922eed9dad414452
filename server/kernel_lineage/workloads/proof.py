"""Whether a workload can see a wrong kernel: its kernel is made wrong in many ways, and the gate must notice.

A mutant is *killed* when the gate rejects it, *survives* when all cases agree, is *unbuildable* when it does not
compile, *same* when it compiles to the kernel's own code (what was changed is not reached with these constants), and
*undecided* when the run ended otherwise. A workload that lets a zero output or a dropped term pass proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from kernel_gate.deadline import Threads, seconds_left
from kernel_gate.options import GateOptions, drawn_seed
from kernel_gate.program import LaunchStep, Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.threads import share_of_cores
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.files import Launcher, Target, data_of
from kernel_lineage.workloads.following.roles import handed_on, roles_of
from kernel_lineage.workloads.host_program import buffer_of
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.mutants.registry import mutants_of
from kernel_lineage.workloads.programs import ProgramError, program_from_file

Fate = Literal["killed", "survived", "unbuildable", "same", "undecided"]
Device = Literal["auto", "cuda", "emulated"]
_EVERY_ONE = "zero_output"
"""The kind of which no mutant may survive."""
_OF_SPEED = (Reason.SLOWER, Reason.SLOWER_ON_A_SHAPE, Reason.SAME_SPEED, Reason.NOT_FASTER)
_NO_TIME = "no time was left for it"
_LEAST_JOBS, _MOST_JOBS = 2, 8
"""Mutants that are judged at a time."""
_AT_LEAST_ONE = ("dropped_term", "dropped_accumulation")
"""The kinds of which some mutant must be noticed: one term may be as small as an epsilon, not all."""

TELLING = frozenset(
    {
        _EVERY_ONE,
        *_AT_LEAST_ONE,
        "constant_output",
        "dropped_guard",
        "off_by_one_bound",
        "missing_tail",
        "wrong_operator",
        "wrong_stride",
        "dropped_barrier",
    }
)
"""The kinds that say most for their time: what is tried where a person waits."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One mutant and what became of it."""

    mutant: Mutant
    fate: Fate
    reason: str
    """What the gate says; for a survivor, why it may compute the same, when that is known."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a workload sees."""

    baseline: str
    """Why the kernel does not even pass against itself; "" when it does."""
    tried: tuple[Tried, ...] = ()
    built: bool = True
    """Whether the kernel was built."""
    cut: bool = False
    """Whether the caller's time ended the kernel's own run, which says nothing of the kernel then."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of mutation of which a mutant was built and judged."""
        judged = (t.mutant.kind for t in self.tried if t.fate in ("killed", "survived"))
        return tuple(dict.fromkeys(judged))

    @property
    def is_whole(self) -> bool:
        """Whether the kernel was judged and no mutant was left out for want of time."""
        return not self.cut and not any(t.reason == _NO_TIME for t in self.tried)

    @property
    def survivors(self) -> tuple[Tried, ...]:
        """The mutants that the workload does not notice."""
        return tuple(t for t in self.tried if t.fate == "survived")

    @property
    def blind(self) -> str:
        """Why the workload cannot be trusted; "" when it can."""
        if self.cut:
            return "no time was left to check the kernel against itself; --seconds gives more"
        if self.baseline:
            return f"the kernel does not pass against itself: {self.baseline}"
        killed = [t for t in self.tried if t.fate == "killed"]
        if not killed and any(t.reason == _NO_TIME for t in self.tried):
            return "no time was left to try a mutant of the kernel to its end; --seconds gives more"
        if not killed:
            return "no mutant was noticed" if self.tried else "no mutant of the kernel could be made"
        for tried in self.survivors:
            if tried.mutant.kind == _EVERY_ONE:
                return f"it does not notice that the output is zero (line {tried.mutant.line})"
        survived = [t for t in _dropped(self.tried) if t.fate == "survived"]
        if survived and not _is_one_killed(self.tried):
            return f"it does not notice that a term is dropped (line {survived[0].mutant.line})"
        return ""


def prove(
    kernel: Target,
    path: Path,
    workload: Workload,
    *,
    root: Path | None = None,
    device: Device = "emulated",
    per_kind: int = 2,
    kinds: Collection[str] | None = None,
    seconds: float = 20.0,
    jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Proof:
    """Gate mutants of a kernel, or of the kernels of a launcher, in their file as it is.

    There are `per_kind` of each kind (or of these), spread over the text, `jobs` at a time: by default half as many as
    there are processors, two at least.

    Headers are read below `root`, by default the repository around `path`. Each runs in a process of its own for at
    most about `seconds` of checking, and ends with the caller's deadline: what that leaves no time for is undecided.
    Raises `ProgramError` when no program can be made of the kernel, `DeviceError` when the device that was asked for
    is missing.
    """
    # Asked is whether a mutant is wrong, and neither why nor what it costs. With one seed for all of them the kernel's
    # own runs serve for each.
    options = GateOptions(
        seed=drawn_seed(),
        check_seconds=seconds,
        profile_seconds=0.05,
        need="not_slower",
        findings_seconds=0,
        explain=False,
    )
    baseline = program_from_file(path, kernel.name, workload, data=data_of(kernel), root=root)

    kernels = kernel.kernels if isinstance(kernel, Launcher) else (kernel,)
    idle: SimpleQueue[Worker] = SimpleQueue()

    def verdict_of(data: bytes) -> Verdict:
        label = f"{path.name} (mutant)"
        program = program_from_file(path, kernel.name, workload, data=data, root=root, name=label)
        request = GateRequest.of(baseline, program, workload, device=device, options=options)
        worker = idle.get()
        try:
            return worker.judge(request, timeout=min(6 * seconds, max(1.0, seconds_left())))
        finally:
            idle.put(worker)

    of_kinds = [
        m
        for k in kernels
        for m in mutants_of(k)
        if (kinds is None or m.kind in kinds) and not (m.kind == _EVERY_ONE and _of_own(m, k, baseline))
    ]
    chosen = tuple(spread(of_kinds, per_kind))
    done = 0

    def judged(mutant: Mutant) -> Tried:
        nonlocal done
        if not seconds_left():
            return Tried(mutant, "undecided", _NO_TIME)
        if of_itself.done() and _ended(of_itself.result()) is not None:
            return Tried(mutant, "undecided", "the kernel itself does not pass")
        try:
            tried = fate_of(mutant, verdict_of(mutant.source))
        except ProgramError as error:
            tried = Tried(mutant, "unbuildable", str(error))
        done += 1
        if on_progress is not None:
            on_progress(done, len(chosen))
        return tried

    jobs = jobs or max(_LEAST_JOBS, min(_MOST_JOBS, share_of_cores(2)))
    with ExitStack() as stack, Threads(jobs) as pool:
        for _ in range(jobs):
            idle.put(stack.enter_context(Worker()))
        # The kernel's own run is the longest, and mutants wait for nothing of it.
        of_itself = pool.submit(verdict_of, data_of(kernel))
        trying = pool.map(judged, chosen)
        itself = _ended(of_itself.result())
        if itself is not None:
            cut = of_itself.result().code is Reason.HANG and not seconds_left()
            return Proof(itself.reason, built=itself.name != "build", cut=cut)
        tried = [*trying]
        # One term may add nothing here, and the next one does.
        for mutant in (m for m in of_kinds if m.kind in _AT_LEAST_ONE and m not in chosen):
            if _is_one_killed(tried) or not any(t.fate == "survived" for t in _dropped(tried)):
                break
            tried.append(judged(mutant))
        return Proof("", tuple(tried))


def _dropped(tried: Iterable[Tried]) -> list[Tried]:
    """Those of the kinds of which some mutant must be noticed."""
    return [one for one in tried if one.mutant.kind in _AT_LEAST_ONE]


def _is_one_killed(tried: Iterable[Tried]) -> bool:
    return any(one.fate == "killed" for one in _dropped(tried))


def _of_own(mutant: Mutant, kernel: Kernel, program: Program) -> bool:
    """Whether a mutant stores to buffers of the program's own: what lies there zero may be as good."""
    own = {scratch.name for scratch in program.scratch}
    if not own or handed_on(kernel):
        return False
    roles = roles_of(kernel)
    written = {
        (parameter.name, buffer_of(word))
        for step in program.steps
        if isinstance(step, LaunchStep) and step.entry.rpartition("::")[2] == kernel.name
        for parameter, word in zip(kernel.parameters, step.arguments, strict=False)
        if roles.get(parameter.name, "inout" if parameter.pointer else "input") != "input"
    }
    lines = mutant.source.decode("utf-8", "replace").splitlines()
    here = {*WORD.findall(lines[mutant.line - 1])} if 0 < mutant.line <= len(lines) else set()
    named = {(name, buffer) for name, buffer in written if name in here} or written
    return bool(named) and {buffer for _, buffer in named} <= own


def spread(mutants: Iterable[Mutant], per_kind: int) -> Iterable[Mutant]:
    """At most `per_kind` mutants of a kind, evenly over the text; all zero outputs."""
    kinds: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        kinds.setdefault(mutant.kind, []).append(mutant)
    for kind, group in kinds.items():
        if kind == _EVERY_ONE or len(group) <= per_kind:
            yield from group
        else:
            yield from (group[round(i * (len(group) - 1) / max(1, per_kind - 1))] for i in range(per_kind))


def _ended(verdict: Verdict) -> Stage | None:
    """The stage that ended a run before its profile; None for a run whose check and sanitizers found nothing."""
    return next(
        (
            s
            for s in verdict.stages
            if s.name in ("build", "check", "sanitize")
            and s.status in (StageStatus.FAIL, StageStatus.UNAVAILABLE)
        ),
        None,
    )


def _same_code(verdict: Verdict) -> bool:
    """Whether both programs were compiled to the same images."""
    built = verdict.stage("build")
    images = [built.details.get(who, {}).get("sha256") for who in ("baseline", "candidate")] if built else []
    return bool(images) and images[0] is not None and images[0] == images[1]


def fate_of(mutant: Mutant, verdict: Verdict) -> Tried:
    """What became of a mutant that the gate judged beside its kernel."""
    if _same_code(verdict):
        return Tried(mutant, "same", "it compiles to the code of the kernel itself")
    ended = _ended(verdict)
    if ended is None:
        if verdict.outcome is Outcome.REJECTED and verdict.code not in _OF_SPEED:
            # Wrong at the callers' sizes, or as the emulated device watches it.
            return Tried(mutant, "killed", verdict.reason)
        return Tried(mutant, "survived", mutant.may_survive)
    if ended.name == "build":
        return Tried(mutant, "unbuildable", ended.reason)
    if verdict.outcome is Outcome.REJECTED:
        return Tried(mutant, "killed", ended.reason)
    return Tried(mutant, "undecided", ended.reason)
