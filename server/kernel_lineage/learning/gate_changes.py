"""A change through the gate: each kernel that it touched, old version against new."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from kernel_gate.conclusion import not_judged, not_read
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.request import GateRequest
from kernel_gate.standing import Standing
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.history.git import Repository
from kernel_lineage.history.trees import Tree, trees
from kernel_lineage.learning.asked_apart import judged_apart
from kernel_lineage.learning.changed_kernels import (
    ChangedKernel,
    UnreadFile,
    changes_between,
)
from kernel_lineage.learning.changed_programs import (
    functions_of,
    functions_with_scratch,
    launchers_of,
    programs_of,
    target_before,
)
from kernel_lineage.learning.other_flags import judged_with_other_flags
from kernel_lineage.learning.other_rounds import judged_at_other_numbers
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import Workloads, workloads_in

if TYPE_CHECKING:
    from kernel_lineage.workloads.on_the_spot import SpotWorkload
    from kernel_lineage.workloads.recording.recorder import Recorder

VERSION = 1
_OF_HOST_CODE = (Reason.WORK_BESIDE, Reason.LAUNCH_SKIPPED, Reason.ARGUMENTS_DIFFER, Reason.NO_WORKLOAD)
"""How a verdict ends where the host code does more than launch the kernel, or tells what the launch alone does not."""
Judge = Callable[[GateRequest, Path, str], Verdict]
"""The verdict on a request; the candidate's file and its kernel are for what is kept and shown."""

Keep = Callable[[ChangedKernel, Verdict, Workload | None], object]
"""Is told each verdict, with the workload that it rests on."""


class KernelVerdict(Verdict):
    """A verdict of `gate --since`, and what it is about."""

    kernel: str
    file: str
    """The new file, relative to the repository."""
    baseline: str
    """Where the old version comes from: `rmsnorm.cu of 1a2b3c4d5e6f`."""
    workload: str
    """The workload's file, relative to the repository; "" when there is none."""


class GateChangesDocument(BaseModel):
    """What `klineage gate --since REV --json` prints."""

    version: int = VERSION
    since: str
    verdicts: list[KernelVerdict]


def gate_changes(
    repository: Repository,
    since: str,
    files: Sequence[str],
    judge: Judge,
    *,
    device: Literal["auto", "cuda", "emulated"] = "auto",
    options: GateOptions | None = None,
    at_once: int = 1,
    keep: Keep = lambda _changed, _verdict, _workload: None,
    say: Callable[[str], None] = lambda _: None,
    record: bool = False,
) -> Iterator[NamedVerdict]:
    """The verdict on each kernel that changed, in the order of the files; `judge` is called by `at_once` threads.

    A kernel without a workload gets one that is drafted from its old version; `say` is told a line about it. With
    `record`, the old version's host code is built and run, contained, where reading it leaves something open. One of
    which no complete one is drafted, or of which no program can be made, gets a verdict that says so: not judged. So
    does a file that changed and cannot be read.
    Raises `RepositoryError` for a revision that is not there, and what `judge` raises.
    """
    workloads = workloads_in(repository.top)
    with trees(repository, since) as (before, after):
        changes = changes_between(before, after, files)
        for one in changes.unread:
            yield _not_read(one, before)
        for note, those in (
            ("new, so that nothing is compared with it", changes.new),
            ("gone", changes.gone),
        ):
            for seen in those:
                say(f"{seen.kernel.name} ({seen.path} of {seen.tree.name}) is {note}")
        yield from gate_pairs(
            changes.changed,
            judge,
            lambda one: _workload(one, workloads) or _drafted(one, say, record),
            top=repository.top,
            device=device,
            options=options,
            at_once=at_once,
            keep=keep,
            since=since,
            record=record,
        )


def _not_read(file: UnreadFile, before: Tree) -> NamedVerdict:
    """The verdict on all kernels of a file that cannot be read."""
    every, baseline = "every kernel", f"{file.path} of {before.name}"
    verdict = not_read(file.path, file.why)
    named = KernelVerdict(
        **verdict.model_dump(), kernel=every, file=file.path, baseline=baseline, workload=""
    )
    return NamedVerdict(kernel=every, verdict=named, candidate=file.path, baseline=baseline)


def gate_pairs(
    pairs: Sequence[ChangedKernel],
    judge: Judge,
    workload_of: Callable[[ChangedKernel], SpotWorkload | None],
    *,
    top: Path,
    device: Literal["auto", "cuda", "emulated"] = "auto",
    options: GateOptions | None = None,
    at_once: int = 1,
    keep: Keep = lambda _changed, _verdict, _workload: None,
    since: str = "",
    record: bool = False,
) -> Iterator[NamedVerdict]:
    """The verdict on each pair, and one on all that a host function merges; `top` is the repository's root.

    The trees that they lie in are there until the last one is given.

    `since` is how a command line names the two states, where one can. `keep` is told each verdict before it is given,
    in the thread that has judged. `workload_of` gives None, or raises `WorkloadError` with the reason, for a kernel
    that nothing says how to run. With `record`, other instances of a template are asked of the host code as it runs.
    """
    units: dict[tuple[str, ...], list[ChangedKernel]] = {}
    for at, pair in enumerate(pairs):
        key = (pair.before.path, pair.after.path, pair.function) if pair.function else (str(at),)
        units.setdefault(key, []).append(pair)

    launched = Counter((one.before.path, name) for one in pairs for name in launchers_of(one))

    def judged(unit: Sequence[ChangedKernel]) -> NamedVerdict:
        started, changed = time.monotonic(), unit[0]
        verdict, spot = _with_its_function(
            lambda one: _verdict(judge, one, workload_of, device, options, top, record),
            changed,
            changes_with_others=any(launched[changed.before.path, n] > 1 for n in launchers_of(changed)),
        )
        for one in unit:
            keep(one, verdict, spot.workload if spot is not None else None)
        workload = spot.path if spot is not None else None
        return NamedVerdict(
            kernel=changed.name,
            verdict=_named(verdict, changed, workload, top),
            candidate=changed.after.path,
            baseline=f"{changed.before.path} of {changed.before.tree.name}",
            line=_line_of(changed),
            seconds=time.monotonic() - started,
            repeat=_repeat(since, changed.after.path, verdict) if since else "",
        )

    with ThreadPoolExecutor(at_once) as threads:
        try:
            yield from threads.map(judged, units.values())
        finally:
            threads.shutdown(cancel_futures=True)


def _with_its_function(
    verdict_on: Callable[[ChangedKernel], tuple[Verdict, SpotWorkload | None]],
    changed: ChangedKernel,
    *,
    changes_with_others: bool,
) -> tuple[Verdict, SpotWorkload | None]:
    """The verdict on a kernel; where its host code does more than launch it, that on the host function as a whole, if
    there is one. Kernels of one function that change together may hand each other something else than before: they are
    right where the whole function is.
    """
    verdict, spot = verdict_on(changed)
    if changes_with_others and not changed.function and verdict.code is Reason.WRONG_VALUE:
        wholes = [verdict_on(one) for one in functions_with_scratch(changed)]
        if wholes and all(whole.standing.is_right for whole, _ in wholes):
            whole, basis = wholes[0]
            why = f"with all of {' and '.join(sorted(launchers_of(changed)))}: {whole.reason}"
            return whole.model_copy(update={"reason": why}), basis
    if changed.function or verdict.code not in _OF_HOST_CODE:
        return verdict, spot
    for one in functions_of(changed):
        whole, basis = verdict_on(one)
        if whole.standing not in (Standing.NOT_JUDGED, Standing.UNDECIDED):
            return whole.model_copy(update={"reason": f"with all of {one.function}: {whole.reason}"}), basis
        if changed.by_another_module:
            verdict = verdict.model_copy(update={"reason": f"{verdict.reason}; {whole.reason}"})
    return verdict, spot


def _line_of(changed: ChangedKernel) -> int:
    """The line of the new file at which what is judged begins."""
    kernel = changed.after.kernel
    spans = [x.launcher_span for x in kernel.launches if changed.function and x.launcher == changed.function]
    return (next(filter(None, spans), None) or kernel.span).first_line


def _workload(changed: ChangedKernel, workloads: Workloads) -> SpotWorkload | None:
    """By the new name, else by the old one of a kernel that was renamed."""
    from kernel_lineage.workloads.on_the_spot import SpotWorkload  # heavy: what drafts workloads

    after, before = changed.after, changed.before
    workload_file = workloads.of(changed.name, after.path) or workloads.of(changed.former, before.path)
    return SpotWorkload(workload_file.workload, workload_file.path) if workload_file is not None else None


def _drafted(changed: ChangedKernel, say: Callable[[str], None], record: bool) -> SpotWorkload:
    """The workload that the old version's host code tells. Raises `WorkloadError` and `ProgramError`."""
    from kernel_lineage.workloads.on_the_spot import (  # heavy: what drafts workloads
        drafted_workload,
        in_a_line,
    )

    seen, name = changed.before, changed.name
    root, recorder = seen.tree.root, _recorder(changed, record)
    try:
        target = target_before(changed)
        file = root / (changed.hosts[0] or seen.path)
        spot = drafted_workload(target, file, changed.after.path, "emulated", root=root, recorder=recorder)
    except (WorkloadError, ProgramError) as error:
        say(f"{name}: no workload names it, and {error}")
        raise
    say(in_a_line(name, f"{seen.path} of {seen.tree.name}", spot))
    return spot


def _recorder(changed: ChangedKernel, record: bool) -> Recorder | None:
    """What runs the old version's host code, where that is wanted."""
    from kernel_lineage.workloads.recording.recorder import Recorder  # heavy: what builds host code

    return Recorder(changed.before.tree.root) if record else None


def _verdict(
    judge: Judge,
    changed: ChangedKernel,
    workload_of: Callable[[ChangedKernel], SpotWorkload | None],
    device: Literal["auto", "cuda", "emulated"],
    options: GateOptions | None,
    top: Path,
    record: bool,
) -> tuple[Verdict, SpotWorkload | None]:
    """The verdict, and the workload that it rests on."""
    from kernel_lineage.rewrite.compiled_where import where_it_compiles
    from kernel_lineage.rewrite.instances import judged_in_all_types  # heavy: what drafts workloads
    from kernel_lineage.workloads.on_the_spot import resting_on

    name = changed.name
    if changed.by_another_module and not changed.function:
        why = "another module launches it in another way than before; its host function as a whole is judged"
        return not_judged(name, why, Reason.ARGUMENTS_DIFFER), None
    try:
        target = target_before(changed)
        spot = workload_of(changed)
    except (WorkloadError, ProgramError) as error:
        return not_judged(name, str(error)), None
    if spot is None:
        return not_judged(
            name, f"`klineage workload init {changed.after.path}:{name}` drafts its workload"
        ), None

    try:
        programs = programs_of(changed)
    except ProgramError as error:
        return not_judged(name, str(error), Reason.ARGUMENTS_DIFFER), spot
    try:
        old, new = (make(spot.workload) for make in programs)
    except (ProgramError, WorkloadError) as error:
        why = f"the workload does not fit it: {error}"
        return not_judged(name, why, Reason.ARGUMENTS_DIFFER), spot
    request = GateRequest.of(old, new, spot.workload, device=device, options=options)
    candidate = top / changed.after.path
    host_file = changed.before.tree.root / (changed.hosts[0] or changed.before.path)

    @where_it_compiles
    def judged(asked: GateRequest) -> Verdict:
        return judge(asked, candidate, name)

    recorder = _recorder(changed, record)
    root = changed.before.tree.root
    verdict = judged_in_all_types(
        judged(request), request, host_file, target, programs, judged, recorder, root
    )
    if verdict.standing.is_right and changed.function and spot.path is None:
        verdict = judged_at_other_numbers(verdict, changed, request, programs, judged)
    is_right = verdict.standing.is_right
    if spot.path is None and (is_right or verdict.code is Reason.CHANGE_NOT_COMPILED):
        functions = [changed] if changed.function else functions_of(changed)
        verdict = judged_with_other_flags(verdict, changed, functions, request, judged)
    if verdict.standing.is_right:
        functions = [changed] if changed.function else functions_of(changed)
        verdict = judged_apart(verdict, changed, functions, request, judged)
    return resting_on(verdict, spot) if spot.path is None else verdict, spot


def _named(verdict: Verdict, changed: ChangedKernel, workload: Path | None, top: Path) -> KernelVerdict:
    return KernelVerdict(
        **verdict.model_dump(),
        kernel=changed.name,
        file=changed.after.path,
        baseline=f"{changed.before.path} of {changed.before.tree.name}",
        workload=_relative(workload, top) if workload is not None else "",
    )


def _repeat(since: str, path: str, verdict: Verdict) -> str:
    """The command line that gives a verdict again, with its seed."""
    words = ["klineage", "gate", "--since", since, path]
    for name in ("check", "sanitize"):
        stage = verdict.stage(name)
        if stage is not None and stage.details.get("device") == "emulated":
            words += ["--device", "emulated"]
            break
    seed = verdict.environment.get("options", {}).get("seed")
    return shlex.join([*words, *(["--seed", str(seed)] if seed else [])])


def _relative(path: Path, top: Path) -> str:
    return str(path.relative_to(top)) if path.is_relative_to(top) else str(path)
