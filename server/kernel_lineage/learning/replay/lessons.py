"""Replayed transitions that wait to be learned from: the most telling first, those that are alike in turn."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from kernel_lineage.learning.apart import LostWorkError
from kernel_lineage.learning.narrowing import narrowed_record
from kernel_lineage.learning.replay.bench import Bench
from kernel_lineage.learning.replay.learners import NO_WORK, Learned, Replayed
from kernel_lineage.learning.studying.parts import Studied


class Lessons:
    """What waits, for threads that each take the next. Safe for several threads."""

    def __init__(self, bench: Bench, questions: Mapping[str, str], late: Callable[[], bool]) -> None:
        self._bench, self._questions, self._late = bench, questions, late
        self._waiting: list[Replayed] = []
        self._begun: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, replayed: Replayed) -> None:
        """Let a transition wait; somebody is to call `next` for it."""
        with self._lock:
            self._waiting.append(replayed)

    def next(self) -> Replayed:
        """The transition that comes next, with what each learner gives for it."""
        with self._lock:
            chosen = min(self._waiting, key=self._place)
            self._waiting.remove(chosen)
            self._begun[_kind(chosen)] += 1
        return self._learned(chosen)

    def _place(self, replayed: Replayed) -> tuple[int, int, float]:
        """By what it can teach, then how many of its kind have been studied, then what running it took."""
        worth = min((learner.place(replayed) for learner in self._bench.learners), default=0)
        return worth, self._begun[_kind(replayed)], replayed.record.seconds

    def _learned(self, replayed: Replayed) -> Replayed:
        """With what each learner gives; when it is late, with what they gave before."""
        bench, question = self._bench, self._questions[replayed.item.transition.id]
        gives: list[Learned] = []
        unasked: list[str] = []
        for learner in bench.learners:
            output = bench.store.learned(question, learner.name) if learner.kept else None
            if output is None:
                if learner.place(replayed) != NO_WORK and self._late():
                    unasked.append(learner.name)
                    continue
                try:
                    output = learner.learn(replayed, bench.probe)
                except LostWorkError as lost:  # not kept: the next run studies it again
                    gives.append(Learned(studied=Studied(compound=f"its study gave no result: {lost}")))
                    continue
                if learner.kept:
                    bench.store.keep_learned(output, question, learner.name)
            gives.append(output)
        conditions = [c for one in gives for c in one.conditions]
        record = narrowed_record(replayed.record, conditions)
        return replace(replayed, record=record, learned=tuple(gives), unasked=tuple(unasked))


def _kind(replayed: Replayed) -> str:
    return " ".join(replayed.item.transition.added)
