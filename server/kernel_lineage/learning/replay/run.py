"""Replaying many transitions: those that are known are told, the others judged, until the time is spent."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from kernel_gate.files.reading import is_plain_file, read_file
from kernel_lineage.history.git import KERNEL_PATHSPECS, Repository, work_tree_files
from kernel_lineage.learning.replay.bench import Bench
from kernel_lineage.learning.replay.claims import Claim, Claimed
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.learning.replay.learners import Replayed
from kernel_lineage.learning.replay.lessons import Lessons
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.preparing import workload_of
from kernel_lineage.learning.replay.store import question_of, surroundings
from kernel_lineage.learning.replay.transition import replay_transition
from kernel_lineage.learning.replay.transition_apart import replay_apart

_FEW = 3
"""So many transitions are done before processes for them would have started."""


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

    What can teach most comes first, and one of each lineage before the next of the first, so that a run that is cut
    short has seen them all.
    """
    work_tree = _work_tree_digest(bench.repository, items)
    here = surroundings()
    questions = {item.transition.id: _question(item, bench, work_tree, here) for item in items}
    previous: list[Replayed] = []
    waiting: list[Claimed] = []
    for item in items:
        record = bench.store.record(item.transition.id, bench.device_name, questions[item.transition.id])
        if record is None:
            waiting.append(item)
        else:
            previous.append(Replayed(item, record, fresh=False))
    return Plan(tuple(previous), tuple(_in_turn(waiting)[:limit]), questions)


def replay(planned: Plan, bench: Bench, *, seconds: float | None = None) -> Iterator[Replayed]:
    """Each transition of a plan when it is judged and learned from, with what learners give.

    Those that are known come first. Many are worked on in processes of their own. What learners take long for is done
    beside the judging of others, the most telling transitions first. Nothing is begun after `seconds`; transitions that
    are left are not given. Raises `DeviceError`; what was finished is kept, also when the caller stops asking.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    drafts = LineageDrafts(bench.repository, KeptDrafts(bench.processes.folder))
    ended = threading.Event()

    def late() -> bool:
        return ended.is_set() or (deadline is not None and time.monotonic() > deadline)

    def one(item: Claimed) -> Replayed | None:
        if late():
            return None
        if apart:
            record, kept = replay_apart(item, bench, bench.processes)
        else:
            record, kept = replay_transition(item, bench, drafts)
        if kept:
            bench.store.keep(record, bench.device_name, planned.questions[item.transition.id])
        return Replayed(item, record, fresh=True)

    apart = len(planned.todo) > _FEW
    lessons = Lessons(bench, planned.questions, late)
    with (
        # `ast.parse` of long files in two threads of one process can fail (Python 3.11: "recursion depth mismatch").
        ThreadPoolExecutor(bench.at_once if apart else 1) as judging,
        ThreadPoolExecutor(bench.studies_at_once) as studying,
    ):
        try:
            to_learn: set[Future[Replayed]] = set()
            for previous in planned.known:
                lessons.add(previous)
                to_learn.add(studying.submit(lessons.next))
            to_judge = {judging.submit(one, item) for item in planned.todo}
            while to_judge or to_learn:
                running: set[Future[Any]] = {*to_judge, *to_learn}
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done & to_judge:
                    if (judged := future.result()) is not None:
                        lessons.add(judged)
                        to_learn.add(studying.submit(lessons.next))
                for future in done & to_learn:
                    yield future.result()
                to_judge, to_learn = to_judge - done, to_learn - done
        finally:
            ended.set()
            bench.processes.close()
            judging.shutdown(cancel_futures=True)
            studying.shutdown(cancel_futures=True)


def _question(item: Claimed, bench: Bench, work_tree: str, here: Mapping[str, Any]) -> str:
    workload_file = workload_of(item, bench.workloads)
    return question_of(
        item,
        device=bench.identity,
        options=bench.options,
        workload=workload_file.workload if workload_file is not None else None,
        work_tree=work_tree,
        here=here,
    )


def _in_turn(items: Sequence[Claimed]) -> list[Claimed]:
    """Optimisations that add something first; of them the first of each lineage, then the second of each, and so on."""
    seen: Counter[tuple[int, str]] = Counter()
    places = []
    for item in items:
        teaches = item.claim is Claim.FASTER and bool(item.transition.added)
        kind = 0 if teaches else 1 if item.claim is Claim.FASTER else 2
        seen[kind, item.lineage.id] += 1
        places.append((kind, seen[kind, item.lineage.id]))
    order = sorted(range(len(items)), key=lambda i: places[i])
    return [items[i] for i in order]


def _work_tree_digest(repository: Repository, items: Sequence[Claimed]) -> str:
    if all(item.before.commit and item.after.commit for item in items):
        return ""
    whole = hashlib.sha256()
    for path in work_tree_files(repository, KERNEL_PATHSPECS):
        file = repository.top / path
        if is_plain_file(file):
            whole.update(path.encode() + b"\0" + hashlib.sha256(read_file(file)).digest())
    return whole.hexdigest()
