"""Replaying many transitions: those that are known are told, the others judged, until the time is spent."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from kernel_lineage.history.git import KERNEL_PATHSPECS, Repository, work_tree_files
from kernel_lineage.learning.replay.bench import Bench
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.learners import Learned, Replayed
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.preparing import workload_of
from kernel_lineage.learning.replay.store import question_of
from kernel_lineage.learning.replay.transition import replay_transition


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of the transitions that were asked for, and which are to be judged."""

    known: tuple[Replayed, ...]
    """From earlier runs."""
    todo: tuple[Claimed, ...]
    """In the order in which they are begun."""
    questions: Mapping[str, str]


def plan(items: Sequence[Claimed], bench: Bench, *, limit: int | None = None) -> Plan:
    """What is to be done: at most `limit` transitions anew.

    One of each lineage comes before the next of the first, so that a run that is cut short has seen them all.
    """
    work_tree = _work_tree_digest(bench.repository, items)
    questions = {item.transition.id: _question(item, bench, work_tree) for item in items}
    known: list[Replayed] = []
    waiting: list[Claimed] = []
    for item in items:
        record = bench.store.record(item.transition.id, bench.device_name, questions[item.transition.id])
        if record is None:
            waiting.append(item)
        else:
            known.append(Replayed(item, record, fresh=False))
    return Plan(tuple(known), tuple(_in_turn(waiting)[:limit]), questions)


def replay(planned: Plan, bench: Bench, *, seconds: float | None = None) -> Iterator[Replayed]:
    """Each transition of a plan as it ends, those that are known first, with what learners give.

    None is begun after `seconds`; those that are left are not given. Raises `DeviceError`; what was finished is kept,
    also when the caller stops asking.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    drafts = LineageDrafts(bench.repository)
    ended = threading.Event()

    def late() -> bool:
        return ended.is_set() or (deadline is not None and time.monotonic() > deadline)

    def one(item: Claimed) -> Replayed | None:
        if late():
            return None
        question = planned.questions[item.transition.id]
        record, kept = replay_transition(item, bench, drafts)
        if kept:
            bench.store.keep(record, bench.device_name, question)
        return _learned(Replayed(item, record, fresh=True), question, bench, late)

    def again(known: Replayed) -> Replayed:
        return _learned(known, planned.questions[known.item.transition.id], bench, late)

    # One more than there are workers: the next step is made ready while the others are judged.
    with ThreadPoolExecutor(bench.at_once + 1) as threads:
        try:
            running: set[Future[Replayed | None]] = {threads.submit(again, k) for k in planned.known}
            running |= {threads.submit(one, item) for item in planned.todo}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    if (replayed := future.result()) is not None:
                        yield replayed
        finally:
            ended.set()
            threads.shutdown(cancel_futures=True)


def _question(item: Claimed, bench: Bench, work_tree: str) -> str:
    found = workload_of(item, bench.workloads)
    return question_of(
        item,
        device=bench.identity,
        options=bench.options,
        workload=found.workload if found is not None else None,
        work_tree=work_tree,
    )


def _in_turn(items: Sequence[Claimed]) -> list[Claimed]:
    """The first of each lineage, then the second of each, and so on."""
    seen: dict[str, int] = {}
    places = []
    for item in items:
        seen[item.lineage.id] = seen.get(item.lineage.id, 0) + 1
        places.append(seen[item.lineage.id])
    order = sorted(range(len(items)), key=lambda i: places[i])
    return [items[i] for i in order]


def _work_tree_digest(repository: Repository, items: Sequence[Claimed]) -> str:
    if all(item.before.commit and item.after.commit for item in items):
        return ""
    whole = hashlib.sha256()
    for path in work_tree_files(repository, KERNEL_PATHSPECS):
        file = repository.top / path
        if file.is_file():
            whole.update(path.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _learned(replayed: Replayed, question: str, bench: Bench, late: Callable[[], bool]) -> Replayed:
    """The transition with what each learner gives for it; when it is late, with what they gave before."""
    gives: list[Learned] = []
    unasked: list[str] = []
    for learner in bench.learners:
        known = bench.store.learned(question, learner.name) if learner.kept else None
        if known is None:
            if learner.kept and late():
                unasked.append(learner.name)
                continue
            known = learner.learn(replayed, bench.probe)
            if learner.kept:
                bench.store.keep_learned(known, question, learner.name)
        gives.append(known)
    return replace(replayed, learned=tuple(gives), unasked=tuple(unasked))
