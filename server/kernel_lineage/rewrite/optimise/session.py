"""`klineage optimise` from what was asked to a document: workload, one warm gate process, patches, the edit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from kernel_gate.conclusion import not_judged
from kernel_gate.deadline import ends_within, seconds_left
from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.reuse import OnStage
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.worker import Worker
from kernel_lineage.kernels.naming import earlier_namesake
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.compiled_where import where_it_compiles
from kernel_lineage.rewrite.instances import judged_in_all_types
from kernel_lineage.rewrite.kept_workloads import workload_of
from kernel_lineage.rewrite.optimise.document import OptimiseDocument, TriedDocument
from kernel_lineage.rewrite.optimise.host_functions import facts_of_draft, host_function, joining
from kernel_lineage.rewrite.optimise.loop import SCREENING, Ended, Judge, optimise
from kernel_lineage.rewrite.optimise.search import Search, Version
from kernel_lineage.rewrite.patches import FOLDER, unified_diff
from kernel_lineage.rewrite.situation import Situation, situation_of, workload_facts
from kernel_lineage.rewrite.verdict_cache import judge_cached
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.library import library, repository_of
from kernel_lineage.skills.target import TargetError, read_target
from kernel_lineage.workloads.files import Launcher, kernel_of, source_of, target_in
from kernel_lineage.workloads.on_the_spot import (
    NoWorkloadError,
    SpotWorkload,
    in_a_line,
    resting_on,
)
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.saved import folder_of

Device = Literal["auto", "cuda", "emulated"]
_LONGEST = 600.0
"""What one verdict may take, in seconds, however many are left."""
_DRAFT = 0.5
"""The share of a kernel's seconds that drafting its workload may take."""
_MUCH = 0.25
"""The share from which it is worth keeping a workload for the next run."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's arguments."""

    target: str
    """`FILE`, `FILE:KERNEL` or `FILE:HOST_FUNCTION`."""
    device: Device = "auto"
    seconds: float = 300.0
    """For each kernel: drafting its workload, the search, and the last verdict."""
    device_seconds: float = 300.0
    write: bool = False
    """Change the file when the last verdict accepts."""
    record: bool = False
    """Run host code where reading it leaves a drafted workload open."""
    stated: Facts = field(default_factory=Facts)


def run(
    asked: Asked,
    worker: Worker,
    report: Callable[[TriedDocument], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> list[OptimiseDocument]:
    """Search for each kernel that is meant, one after the other, each with the whole budget; or for a host function.

    Where the repository has no workload for a kernel, one is drafted. Of several kernels, those for which none can be
    drafted are named, and the others are searched.
    Raises `TargetError`, `NoWorkloadError` when nothing could be searched, `ProgramError`, `DeviceError`, `OSError`.
    """
    function = host_function(asked.target)
    if function is not None:
        path, launcher = function
        return [_whole(asked, launcher, path, worker, report, say)]
    target = read_target(asked.target)
    for namesake in filter(None, map(earlier_namesake, target.kernels)):
        raise TargetError(f"{target.path}: {namesake}.")
    documents: list[OptimiseDocument] = []
    done_by: dict[str, str] = {}
    for kernel in target.kernels:
        if kernel.name in done_by:
            say(f"{kernel.name}: its work is done by what has become of {done_by[kernel.name]}")
            continue
        try:
            document, made = _one(
                asked, _as_it_is(kernel, target.path, documents), target.path, worker, report, say
            )
        except NoWorkloadError as error:
            if kernel is target.kernels[-1] and not documents:
                raise
            say(f"{kernel.name}: {error}")
            continue
        documents.append(document)
        left = {k.name for k in read(made, kernel.language).kernels}
        done_by |= {k.name: kernel.name for k in target.kernels if k.name not in left}
    return documents


def _as_it_is(kernel: Kernel, path: Path, documents: list[OptimiseDocument]) -> Kernel:
    """A kernel of a file as the file is since the searches before it."""
    if not any(d.applied for d in documents):
        return kernel
    return kernel_of(path, kernel.name, read_file(path))


def _one(
    asked: Asked,
    kernel: Kernel,
    path: Path,
    worker: Worker,
    report: Callable[[TriedDocument], None],
    say: Callable[[str], None],
) -> tuple[OptimiseDocument, bytes]:
    """The search for one kernel, and the text of the file that it ends with."""
    assert kernel.source is not None
    text, began = kernel.source.data, time.monotonic()
    with ends_within(asked.seconds):
        skills = tuple(library(folder_of(path)))
        situation, facts = _situation(asked, kernel, path)
        function, spot = joining(kernel, skills, lambda f: _drafted(asked, f, path, say), say)
        own: SpotWorkload | None = None
        if situation.workload is not None:
            own = SpotWorkload(situation.workload.workload, situation.workload.path)
        elif spot is not None:
            facts = facts.merged(facts_of_draft(kernel, path))
        else:
            own = _drafted(asked, kernel.name, path, say)
            facts = facts.merged(workload_facts(own.workload, "the drafted workload"))
        drafting = time.monotonic() - began
        search = _search(asked, kernel.name, path, text, {kernel.name: facts}, skills)
        judged = partial(_judge, path, device=asked.device, worker=worker, say=say, original=text)
        ended: Ended | None = None
        if spot is not None:
            ended = optimise(replace(search, function=function), judged(name=function, spot=spot), report)
        if ended is None or (ended.document.stopped == "nothing_admissible" and not ended.document.promoted):
            own = own or _drafted(asked, kernel.name, path, say)
            alone = replace(search, seconds=seconds_left(asked.seconds))
            ended = _after(ended, optimise(alone, judged(name=kernel.name, spot=own), report))
    return _finished(asked, ended, path, text, began, drafting, (function or kernel.name, spot or own))


def _whole(
    asked: Asked,
    launcher: Launcher,
    path: Path,
    worker: Worker,
    report: Callable[[TriedDocument], None],
    say: Callable[[str], None],
) -> OptimiseDocument:
    """The search for a host function: any of the kernels that it launches is changed; all that it does is judged."""
    text, began, name = launcher.source.data, time.monotonic(), launcher.name
    with ends_within(asked.seconds):
        spot = _drafted(asked, name, path, say)
        facts: dict[str, Facts] = {}
        for kernel in launcher.kernels:
            if (namesake := earlier_namesake(kernel)) is not None:
                say(f"{path}: {namesake}; it is not changed.")
                continue
            situation, own = _situation(asked, kernel, path)
            drafted = facts_of_draft(kernel, path) if situation.workload is None else Facts()
            facts[kernel.name] = own.merged(drafted)
        drafting = time.monotonic() - began
        search = _search(asked, name, path, text, facts, tuple(library(folder_of(path))))
        judge = _judge(path, name, spot, asked.device, worker, say, text)
        ended = optimise(replace(search, function=name, seconds=seconds_left(asked.seconds)), judge, report)
    return _finished(asked, ended, path, text, began, drafting, (name, spot))[0]


def _situation(asked: Asked, kernel: Kernel, path: Path) -> tuple[Situation, Facts]:
    situation = situation_of(kernel, path, folder_of(path), device=asked.device)
    return situation, asked.stated.merged(situation.facts)


def _search(
    asked: Asked, name: str, path: Path, text: bytes, facts: dict[str, Facts], skills: tuple[Skill, ...]
) -> Search:
    return Search(path, name, text, facts, skills, asked.seconds, asked.device_seconds)


def _finished(
    asked: Asked,
    ended: Ended,
    path: Path,
    text: bytes,
    began: float,
    drafting: float,
    basis: tuple[str, SpotWorkload | None],
) -> tuple[OptimiseDocument, bytes]:
    """The document of a search that has ended, and its last text; `drafting` are the seconds that the workload of what
    was judged took, and `basis` says which that is.
    """
    document, (name, spot) = ended.document, basis
    reason = document.reason
    if document.stopped == "seconds" and drafting > _MUCH * asked.seconds:
        reason += f" Drafting a workload took {drafting:.0f} s of them"
        is_cut = spot is not None and spot.proof is not None and not spot.proof.is_whole
        keep = f"; `klineage workload init {path}:{name}` keeps a whole one for the next run."
        reason += keep if is_cut or repository_of(path) is None else ", which the next run does not need."
    document = document.model_copy(update={"reason": reason, "seconds": round(time.monotonic() - began, 2)})
    kept = _kept(asked, replace(ended, document=document), path, folder_of(path), text)
    return kept, ended.version.text


def _after(joining: Ended | None, alone: Ended) -> Ended:
    """The search for a kernel alone, with what was tried before to join it with others."""
    if joining is None:
        return alone
    document = alone.document.model_copy(update={"tried": [*joining.document.tried, *alone.document.tried]})
    return replace(alone, document=document, texts={**joining.texts, **alone.texts})


def _drafted(asked: Asked, name: str, path: Path, say: Callable[[str], None]) -> SpotWorkload:
    """The repository's workload of a kernel or a host function, else a draft. Raises `NoWorkloadError`."""
    with ends_within(_DRAFT * asked.seconds):
        spot = workload_of(path, name, record=asked.record, say=say)
    if spot.path is None:
        say(in_a_line(name, path.name, spot))
    return spot


def _judge(
    path: Path,
    name: str,
    spot: SpotWorkload,
    device: Device,
    worker: Worker,
    say: Callable[[str], None],
    original: bytes,
) -> Judge:
    """A judge of the kernel or host function of a name, whose workload `spot` is.

    It asks one process, and asks nothing twice: a search that is run again goes on where it was.
    """

    def judge(before: Version, after: Version, options: GateOptions) -> Verdict:
        programs = [
            partial(
                program_from_file,
                path,
                name,
                data=version.text,
                launch=version.launch,
                name=f"{path.name} ({when})",
                changed_from=original,
            )
            for version, when in ((before, "before"), (after, "after"))
        ]

        @where_it_compiles
        def judged(request: GateRequest) -> Verdict:
            def asked_of_worker(asked: GateRequest, on_stage: OnStage) -> Verdict:
                left = seconds_left(_LONGEST)
                return worker.judge(asked.within(left), timeout=left, on_stage=on_stage)

            return judge_cached(request, path, asked_of_worker, say)

        try:
            old, new = (make(spot.workload) for make in programs)
        except ProgramError as error:
            return not_judged(name, str(error), Reason.ARGUMENTS_DIFFER)
        # One size tells whether a candidate is worth the last verdict, which times all of them.
        timed = spot.workload.profile_dims[: 1 if options == SCREENING else None]
        workload = spot.workload.model_copy(update={"profile_dims": timed})
        request = GateRequest.of(old, new, workload, device=device, options=options)
        verdict = judged(request)
        if options != SCREENING:
            target = target_in(source_of(path, original), name, str(path))
            verdict = judged_in_all_types(verdict, request, path, target, programs, judged)
        return resting_on(verdict, spot)

    return judge


def _kept(asked: Asked, ended: Ended, path: Path, root: Path, text: bytes) -> OptimiseDocument:
    """The document with patches of what is correct, and the file changed where that was asked for and is allowed."""
    document = ended.document
    name = str(path.resolve().relative_to(root)) if path.resolve().is_relative_to(root) else path.name

    def patch(made: bytes, skill: str, digest: str) -> str:
        target = root / FOLDER / f"{skill}-{document.kernel}-{digest[:10]}.patch"
        write_atomically(target, unified_diff(text, made, name).encode("utf-8", "surrogateescape"))
        return str(target)

    tried = [
        t.model_copy(update={"patch": patch(ended.texts[t.digest], t.skill, t.digest)}) if t.correct else t
        for t in document.tried
    ]
    promoted = [t for t in tried if t.promoted]
    document = document.model_copy(update={"tried": tried, "patch": promoted[-1].patch if promoted else None})
    verdict = document.verdict
    if not asked.write or verdict is None or verdict.outcome is not Outcome.ACCEPTED:
        return document
    if ended.version.launch:
        by_hand = f"{path} was left alone, because its launch changes as well: apply {document.patch} at every launch."
        return document.model_copy(update={"reason": f"{document.reason} {by_hand}"})
    if read_file(path) != text:
        changed = f"{document.reason} {path} has changed since it was read, and was left alone."
        return document.model_copy(update={"reason": changed})
    write_atomically(path.resolve(), ended.version.text, path.stat().st_mode & 0o777)
    return document.model_copy(update={"applied": True})
