"""`klineage replay` whole: mine a repository, replay what was asked for, and say what came of it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernel_gate.devices.identity import EMULATED, device_identity
from kernel_gate.fleet.pool import Pool
from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.threads import share_of_cores
from kernel_gate.verdict import Verdict
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.mine import Progress, mine
from kernel_lineage.history.model import Intent, Mined
from kernel_lineage.learning.apart import Processes
from kernel_lineage.learning.later_guards import LearnedCondition, learned_conditions
from kernel_lineage.learning.replay.bench import Bench
from kernel_lineage.learning.replay.claims import DEFAULT_INTENTS, claimed
from kernel_lineage.learning.replay.document import ReplayDocument, replay_document
from kernel_lineage.learning.replay.learners import Learner, Replayed, from_guards
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.replay.run import plan, replay
from kernel_lineage.learning.replay.store import ReplayStore, replay_store
from kernel_lineage.learning.studying.learner import studying
from kernel_lineage.learning.studying.of_repository import skills_of
from kernel_lineage.learning.studying.study import PROBES
from kernel_lineage.learning.studying.study import SECONDS as STUDY_SECONDS
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.rewrite.verdict_cache import judge_cached
from kernel_lineage.workloads.proof import Device
from kernel_lineage.workloads.saved import workloads_in

OPTIONS = GateOptions(
    need="not_slower", check_seconds=30.0, callers_seconds=0.5, build_seconds=60.0, profile_seconds=2.0
)
"""What is enough for a step: many are judged, and another run can look closer."""
OnFinished = Callable[[int, int, Replayed], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a repository is replayed, and where."""

    paths: tuple[str, ...] = ()
    since: str | None = None
    kernel: str | None = None
    intents: frozenset[Intent] = DEFAULT_INTENTS
    leave_out: frozenset[str] = frozenset()
    """Ids of transitions that are not looked at, because they were elsewhere."""
    limit: int | None = None
    seconds: float | None = None
    device: Device = "auto"
    cluster: str | None = None
    timeout: float = 180.0
    use_cache: bool = True
    learn: bool = True
    """Split and probe what is reproduced, and write the skills that come of it."""
    probe_runs: int = PROBES.runs
    """Cases that probing one part may take."""
    probe_seconds: float = PROBES.seconds
    study_seconds: float = STUDY_SECONDS
    """What studying one step may take in all."""
    admission_seconds: float = 90.0
    """For trying skills on held-out kernels, where `seconds` says that time is short."""


@dataclass(frozen=True, slots=True)
class ReplayedRepository:
    """A repository's history, and what replaying it gave."""

    mined: Mined
    replayed: tuple[Replayed, ...]
    document: ReplayDocument

    @property
    def records(self) -> dict[str, Record]:
        """By transition id."""
        return {one.item.transition.id: one.record for one in self.replayed}


def replay_repository(
    path: Path,
    asked: Asked,
    pool: Pool,
    on_finished: OnFinished,
    on_mined: Progress | None = None,
    on_known: Callable[[Mined, Replayed], None] = lambda _mined, _one: None,
) -> ReplayedRepository:
    """Replay the transitions of a repository; `on_finished` gets each that was judged anew, with how many
    are done of how many, `on_known` all of them.

    Raises `RepositoryError`, and `DeviceError` when the device that was asked for is missing.
    """
    mined = mine(path, paths=asked.paths, since=asked.since, use_cache=asked.use_cache, progress=on_mined)
    items = list(claimed(mined, intents=asked.intents, kernel=asked.kernel))
    identity, name = _device(asked)
    messages = list(mined.messages)

    replayed: list[Replayed] = []
    with ExitStack() as stack:
        store = _store(stack, path, asked, messages)
        processes = stack.enter_context(Processes())
        bench = _bench(path, asked, pool, mined, identity, name, store, processes)
        messages += bench.workloads.problems
        wanted = [i for i in items if i.transition.id not in asked.leave_out]
        planned = plan(wanted, bench, limit=asked.limit)
        for one in replay(planned, bench, seconds=asked.seconds):
            replayed.append(one)
            on_known(mined, one)
            if one.fresh:
                on_finished(len(replayed) - len(planned.known), len(planned.todo), one)
        if store.problem is not None:
            messages.append(store.problem)
        learned = None
        if asked.learn:
            began = time.monotonic()

            def late() -> bool:
                return asked.seconds is not None and time.monotonic() - began > asked.admission_seconds

            learned = skills_of(
                bench.repository,
                mined,
                replayed,
                bench.judge,
                device=bench.device,
                on_gpu=identity != EMULATED,
                at_once=_admissions_at_once(pool),
                late=late,
            )
            messages += [f"Written: {folder}; review it and commit it." for folder in learned.written]
    document = replay_document(
        mined,
        items,
        replayed,
        device=name,
        on_gpu=identity != EMULATED,
        skills=learned,
        device_seconds=pool.seconds,
        messages=messages,
    )
    return ReplayedRepository(mined, tuple(replayed), document)


def _bench(
    path: Path,
    asked: Asked,
    pool: Pool,
    mined: Mined,
    identity: Any,
    name: str,
    store: ReplayStore,
    processes: Processes,
) -> Bench:
    repository = open_repository(path)

    def guards() -> list[LearnedCondition]:
        sources = VersionSources(path, (v for lineage in mined.lineages for v in lineage.versions))
        return learned_conditions(mined, sources)

    def probe(request: GateRequest) -> Verdict:
        return pool.judge(request, timeout=asked.timeout)

    def judge(request: GateRequest) -> Verdict:
        if not asked.use_cache or repository.bare:
            return probe(request)
        return judge_cached(
            request,
            repository.top,
            lambda wanted, on_stage: pool.judge(wanted, timeout=asked.timeout, on_stage=on_stage),
            lambda _line: None,
        )

    device: Device = "emulated" if identity == EMULATED else asked.device
    return Bench(
        repository=repository,
        workloads=workloads_in(repository.top),
        judge=judge,
        probe=probe,
        at_once=_replays_at_once(pool),
        studies_at_once=_studies_at_once(pool),
        processes=processes,
        device=device,
        device_name=name,
        identity=identity,
        options=OPTIONS,
        store=store,
        learners=(
            from_guards(guards),
            *((_studying(device, asked, pool, processes),) if asked.learn else ()),
        ),
    )


_PREPARING_CORES = 4
"""A step is prepared for longer than a GPU judges it: beside those that are judged, one for so many cores is."""


def _replays_at_once(pool: Pool) -> int:
    """As many as keep every worker with a verdict to do; on a cluster no more than this machine can prepare."""
    cores = share_of_cores(1)
    return min(pool.size, cores) + max(1, cores // _PREPARING_CORES)


def _studies_at_once(pool: Pool) -> int:
    """Where the emulated device has workers of its own, the steps that are judged keep one for each GPU."""
    return max(1, pool.emulated_size - pool.size) if pool.emulated_size > pool.size else pool.size


def _admissions_at_once(pool: Pool) -> int:
    """Uses are judged on the device; as many again are made ready meanwhile."""
    return 2 * pool.size


def _studying(device: Device, asked: Asked, pool: Pool, processes: Processes) -> Learner:
    probes = replace(PROBES, runs=asked.probe_runs, seconds=asked.probe_seconds)
    return studying(
        device,
        probes=probes,
        seconds=asked.study_seconds,
        processes=processes if _studies_at_once(pool) > 1 else None,
    )


def _store(stack: ExitStack, path: Path, asked: Asked, messages: list[str]) -> ReplayStore:
    repository = open_repository(path)
    folder = kept_in(repository.top) if asked.use_cache else None
    try:
        return stack.enter_context(replay_store(folder, messages.append))
    except (OSError, sqlite3.Error) as error:
        messages.append(f"The cache in {folder} cannot be used ({error}); nothing is reused or kept.")
        return stack.enter_context(replay_store(None, messages.append))


def _device(asked: Asked) -> tuple[Any, str]:
    """What tells devices apart, and the name that people know it by."""
    if asked.cluster is not None:
        return {"cluster": asked.cluster, "device": asked.device}, f"cluster {asked.cluster}"
    identity = device_identity(asked.device)
    if identity is None or identity == EMULATED:
        return identity or {"unknown": asked.device}, "emulated" if identity else asked.device
    return identity, ", ".join(dict.fromkeys(gpu["name"] for gpu in identity["gpus"]))
