"""The tour of `klineage demo`: the main job on the sample repository, one chapter after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from kernel_gate.devices.opening import DeviceKind, open_device
from kernel_gate.fleet.places import emulated_places, places
from kernel_gate.fleet.pool import LocalPool, Pool
from kernel_gate.verdict import Speedup
from kernel_lineage.demo.sample import build_sample_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Intent, Mined
from kernel_lineage.kernels.mechanisms.registry import title_of
from kernel_lineage.learning.later_guards import LearnedCondition, learned_conditions
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.replay.document import ReplayDocument
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.replay.repository import Asked, replay_repository
from kernel_lineage.learning.replay.versions import version_checks
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.learning.studying.study import study
from kernel_lineage.learning.version_checks import VersionCheck
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.report.build import build, difference
from kernel_lineage.report.page import write
from kernel_lineage.report.view import AppliedView
from kernel_lineage.rewrite.apply import ApplyRequest, apply
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.gating import judge_in_child
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.skills.card import ConditionKind
from kernel_lineage.skills.conditions.render import sentence
from kernel_lineage.skills.library import library

_JOBS_EMULATED = 2
_MARKS = {"reproduced": "[green]✓[/]", "narrower": "[yellow]◐[/]", "failed": "[red]✗[/]"}
_UNKNOWN = "[yellow]?[/]"
_TRIALS = 40
_PROBES = Budget(runs=400, seconds=900.0)
"""Bounded by its runs: on a slow machine the tour finds the same, later."""
PROBED_KERNEL = "rmsnorm_forward"
PROBED_MECHANISM = "vectorised_access"
APPLIED_SKILL = "vectorised-row-access"
APPLIED_KERNEL = "gelu_forward"
APPLIED_FILE = "kernels/activation.cu"


@dataclass(frozen=True, slots=True)
class Tour:
    """What the tour found; `klineage demo --json` prints it."""

    repository: Path
    report: Path
    device: str
    mined: Mined
    learned: Sequence[LearnedCondition]
    replay: ReplayDocument
    checks: dict[str, VersionCheck]
    speedups: dict[str, Speedup]
    studied: Studied
    """What was studied of the step that adds `PROBED_MECHANISM` to `PROBED_KERNEL`."""
    applied: ApplyDocument


def take_tour(folder: Path, *, device: DeviceKind, console: Console) -> Tour:
    """Build the sample repository in `folder` and do the main job on it, telling each step.

    Raises `SampleExistsError` when the folder holds something else, `DeviceError` when the device that was asked for
    is missing.
    """
    opened, why_emulated = open_device(device)
    about = opened.describe()
    kind = opened.kind
    opened.close()
    device_name = str(about.get("name", kind))
    say = partial(console.print, soft_wrap=True, highlight=False)
    say(f"Device: [bold]{device_name}[/]" + (f" ({escape(why_emulated)})" if why_emulated else ""))

    _chapter(console, "1", "A sample repository with a real history")
    repository = build_sample_repository(folder)
    console.print(f"{sum(1 for _ in repository.iter_commits())} commits of our own kernels in {folder}")
    repository.close()

    _chapter(console, "2", "Mining: lineages and transitions")
    started = time.perf_counter()
    mined = mine(folder)
    console.print(f"{len(mined.lineages)} lineages in {time.perf_counter() - started:.1f} s")
    _tell_lineages(say, mined)

    _chapter(console, "3", "What the history teaches: guards that came later")
    sources = VersionSources(folder, (v for lineage in mined.lineages for v in lineage.versions))
    learned = learned_conditions(mined, sources)
    _tell_learned(say, mined, learned)

    _chapter(console, "4", f"Replaying every step ({'GPU' if kind == 'cuda' else 'emulated device'})")
    where = emulated_places(_JOBS_EMULATED) if kind == "emulated" else places("cuda")
    with LocalPool(where) as pool:
        asked = Asked(device=kind, intents=frozenset(Intent), use_cache=True, learn=False)
        done = replay_repository(folder, asked, pool, lambda _done, _total, _one: None)
        records = done.records
        _tell_steps(say, mined, records)

        _chapter(console, "5", "Probing a step: when is it right?")
        studied = _study(say, mined, records, pool, kind)
    checks = {v: c for lineage in mined.lineages for v, c in version_checks(lineage, records).items()}
    speedups: dict[str, Speedup] = {t: r.effect for t, r in records.items() if r.effect is not None}

    _chapter(console, "6", f"Applying a skill: {APPLIED_SKILL} to {APPLIED_KERNEL}")
    before = (folder / APPLIED_FILE).read_bytes()
    applied = apply(
        ApplyRequest(
            skill=next(s for s in library(folder) if s.id == APPLIED_SKILL),
            path=folder / APPLIED_FILE,
            kernel=APPLIED_KERNEL,
            lane=Lane("assist"),
            device=device,
        ),
        judge_in_child(device, lambda _stage, _message: None),
    )
    say(f"  {escape(applied.explanation)}")
    for stage in applied.verdict.stages if applied.verdict else ():
        say(f"  {stage.name:9} {stage.status.value:12} {escape(stage.reason)}")
    say(f"  [bold]{applied.outcome}[/]: {escape(applied.reason)}")
    if applied.patch:
        say(f"  nothing was changed; the candidate is kept in {applied.patch}")

    report = folder / "report.html"
    view = build(
        mined,
        read=sources.text,
        learned=learned,
        records=records,
        applied=[_applied_view(applied, before)],
    )
    write(view, report)
    _chapter(console, "7", "What to look at, and what to type next")
    _what_next(say, folder, report, kind)
    return Tour(
        folder, report, device_name, mined, learned, done.document, checks, speedups, studied, applied
    )


def _chapter(console: Console, number: str, title: str) -> None:
    console.print()
    console.rule(f"[bold]{number}. {title}", align="left")


def _tell_lineages(say: Callable[[str], None], mined: Mined) -> None:
    for lineage in sorted(mined.lineages, key=lambda item: -len(item.transitions)):
        if not lineage.transitions:
            continue
        say(f"[bold]{escape(lineage.kernel)}[/] ({lineage.language.value}, {len(lineage.versions)} versions)")
        for step in lineage.transitions:
            changed = " ".join(
                [f"[green]+{title_of(m)}[/]" for m in step.added]
                + [f"[red]−{title_of(m)}[/]" for m in step.removed]
            )
            against = f" [yellow]! {escape(step.risk[0].message)}[/]" if step.risk else ""
            say(f"  {step.intent.value:13}{escape(_subject(mined, step.commit))} {changed}{against}")


def _tell_learned(say: Callable[[str], None], mined: Mined, learned: Sequence[LearnedCondition]) -> None:
    steps = {t.id: t for lineage in mined.lineages for t in lineage.transitions}
    for item in learned:
        condition = item.condition
        what = ", ".join(item.mechanisms) or _subject(mined, steps[item.transition or item.teacher].commit)
        verb = "is valid" if condition.kind is ConditionKind.VALIDITY else "pays"
        say(
            f"[bold]{escape(what)}[/] {verb} when [bold]{escape(condition.expr)}[/]: {sentence(condition.expr)}"
        )
        say(f"  {condition.origin.value}: {escape(condition.evidence or '')}")
        say(f"  {escape(condition.reason)}")


def _study(
    say: Callable[[str], None], mined: Mined, records: Mapping[str, Record], pool: Pool, kind: DeviceKind
) -> Studied:
    """Split and probe the step that brought 16-byte loads, as if nobody had found out yet when they are wrong."""
    lineage, step = next(
        (lineage, t)
        for lineage in mined.lineages
        for t in lineage.transitions
        if PROBED_MECHANISM in t.added and lineage.kernel == PROBED_KERNEL
    )
    kept = records[step.id].step
    if kept is None:
        raise RuntimeError(f"the sample's own {PROBED_KERNEL} has a step that cannot be run")
    say(f"[bold]{escape(lineage.kernel)}[/], {escape(_subject(mined, step.commit))}")
    studied = study(
        kept.step(step.id), pool.judge, device=kind, trials=_TRIALS, probes=_PROBES, seconds=_PROBES.seconds
    )
    for number, part in enumerate(studied.parts, 1):
        what = ", ".join(map(title_of, part.added)) or "no mechanism that is known"
        say(f"  part {number}: adds {escape(what)}" + "".join(f"; {escape(c)}" for c in part.counts))
        for condition in part.conditions:
            say(f"    is valid when [bold]{escape(condition.expr)}[/]: {sentence(condition.expr)}")
            say(f"    {condition.origin.value}: {escape(condition.evidence or '')}")
    say(f"  {studied.trials} states tried to split it, {studied.probes} cases run to probe it")
    return studied


def _tell_steps(say: Callable[[str], None], mined: Mined, records: Mapping[str, Record]) -> None:
    for lineage in mined.lineages:
        pairs = [(t, records[t.id]) for t in lineage.transitions if t.id in records]
        if pairs:
            say(f"[bold]{escape(lineage.kernel)}[/]")
        for step, record in pairs:
            gained = record.effect
            effect = (
                f" [bold]{gained.median:.2f}×[/] ({gained.low:.2f} … {gained.high:.2f})" if gained else ""
            )
            mark = _MARKS.get(record.status, _UNKNOWN)
            say(
                f"  {mark} {escape(_subject(mined, step.commit))}: {record.status}, {escape(record.reason)}{effect}"
            )


def _subject(mined: Mined, commit: str | None) -> str:
    return mined.commits[commit].subject if commit in mined.commits else "working tree"


def _applied_view(applied: ApplyDocument, before: bytes) -> AppliedView:
    stages = applied.verdict.stages if applied.verdict else []
    return AppliedView(
        skill=applied.skill,
        kernel=applied.kernel,
        outcome=applied.outcome,
        reason=applied.reason,
        explanation=applied.explanation,
        stages=tuple((s.name, s.status.value, s.reason) for s in stages),
        diff=difference(before.decode(), applied.changed(before).decode()),
    )


def _what_next(say: Callable[[str], None], folder: Path, report: Path, kind: str) -> None:
    say(f"The report: [bold]{report}[/] (open it in a browser)")
    say("On your own repository:")
    for line in (
        "klineage mine /path/to/repo",
        "klineage replay /path/to/repo",
        "klineage applicable FILE.cu:KERNEL",
        "klineage apply SKILL FILE.cu:KERNEL",
        "klineage report /path/to/repo",
    ):
        say(f"  .venv/bin/{line}")
    if kind != "cuda":
        say(
            "This machine has no NVIDIA GPU that can be used, so nothing was timed and no edit was made: the emulated "
            "device says whether code is right, never how fast it is. On a machine with a GPU it shows both."
        )
    say(f"The sample stays in {folder}.")
