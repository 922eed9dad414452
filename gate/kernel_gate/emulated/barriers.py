"""Barriers of the blocks of a wave (PTX ISA, `bar` and `barrier.cta`).

A barrier opens when as many threads of the block have arrived as it expects; by default all of them. Threads that have
left the kernel count as arrived (CUDA C++ programming guide, independent thread scheduling). A thread that returned
early may do so; one that went past the barrier, did something else and then left is reported: the guide leaves a
barrier in a branch that not all threads take undefined.

A barrier that takes a part of the block orders its threads alone: who waited knows what those who arrived did before
(`clocks.Clocks`), and of the others nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.terminators import Barrier
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index, Wave

_NAMES = 16


@dataclass(slots=True)
class Barriers:
    """Who waits where."""

    wave: Wave
    resume: Index = field(init=False)
    """Block in which each waiting thread goes on."""
    _key: Index = field(init=False)
    """Block × 16 + barrier of each waiting thread."""
    _place: Index = field(init=False)
    """Number of the barrier instruction at which each thread waits."""
    _expected: Index = field(init=False)
    """Threads that each waiting thread says take part; 0: all of the block."""
    _predicate: npt.NDArray[np.bool_] = field(init=False)
    _arrived: Index = field(init=False)
    """Arrivals by `bar.arrive`, by key."""
    returned_early: npt.NDArray[np.bool_] = field(init=False)
    """Threads that a branch sent straight to the end of the kernel."""
    _seen: dict[int, Barrier] = field(default_factory=dict)
    _handed_over: dict[int, Index] = field(default_factory=dict)
    """What those who arrived knew, by key; for kernels with clocks."""

    def __post_init__(self) -> None:
        threads = self.wave.threads
        self.resume, self._key, self._place, self._expected = (np.zeros(threads, np.int64) for _ in range(4))
        self._predicate = np.zeros(threads, np.bool_)
        self.returned_early = np.zeros(threads, np.bool_)
        self._arrived = np.zeros(len(self.wave.blocks) * _NAMES, np.int64)

    def pass_together(self, barrier: Barrier) -> bool:
        """All threads of the wave reach a barrier at once; False when it must be counted."""
        wave = self.wave
        if barrier.arrive_only or self._arrived.any():
            return False
        expected = None if barrier.expected is None else barrier.expected(wave)
        if expected is not None and (expected.ndim or int(expected) != wave.launch.block_threads):
            return False
        wave.shared.synchronise(wave, None)
        wave.launch.synchronise(None)
        if barrier.reduction is not None:
            predicate = wave.spread(barrier.reduction.predicate(wave))
            self._reduce(barrier, wave.block_of, predicate)
        return True

    def arrive(self, barrier: Barrier, following: int) -> bool:
        """The active threads arrive; whether they must wait."""
        wave = self.wave
        active = wave.index
        name = np.asarray(wave.spread(barrier.name(wave)), np.int64)
        expected: Any = 0 if barrier.expected is None else barrier.expected(wave)
        key = wave.block_of[active] * _NAMES + name
        self._hand_over(active, key)
        if barrier.arrive_only:
            np.add.at(self._arrived, key, 1)
            return False
        self.resume[active] = following
        self._key[active] = key
        self._place[active] = barrier.number
        self._expected[active] = expected
        self._seen[barrier.number] = barrier
        if barrier.reduction is not None:
            self._predicate[active] = barrier.reduction.predicate(wave)
        return True

    def _hand_over(self, threads: Index, keys: Index) -> None:
        races = self.wave.shared.races
        if races is None or races.clocks is None:
            return
        warp = self.wave.thread_in_block[threads] // 32
        handed = races.clocks.at_arrival(threads, warp, len(races.events))
        for key in np.unique(keys).tolist():
            most = handed[keys == key].max(axis=0)
            self._handed_over[key] = np.maximum(self._handed_over.get(key, most), most)

    def may_open(self, waiting: npt.NDArray[np.bool_], left: npt.NDArray[np.bool_]) -> bool:
        """Whether some waiting thread's barrier opens now."""
        return bool(self._enough(np.flatnonzero(waiting), left)[0].any())

    def _enough(
        self, threads: Index, left: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Whether the barrier of each waiting thread has all it expects; and arrivals by key."""
        wave, key = self.wave, self._key[threads]
        arrived = np.bincount(key, minlength=len(self._arrived)) + self._arrived
        gone = np.bincount(wave.block_of[left], minlength=len(wave.blocks))
        explicit, size = self._expected[threads], wave.launch.block_threads
        enough = np.where(explicit > 0, arrived[key] >= explicit, arrived[key] + gone[key // _NAMES] >= size)
        return enough, arrived

    def release(self, waiting: npt.NDArray[np.bool_], left: npt.NDArray[np.bool_]) -> Index:
        """The threads whose barrier opens now. Raises `LaunchFault` when none can ever open."""
        wave = self.wave
        threads = np.flatnonzero(waiting)
        enough, arrived = self._enough(threads, left)
        if not enough.any():
            self._deadlock(threads, int(arrived[self._key[threads[0]]]))
        released = threads[enough]
        late = np.bincount(wave.block_of[left & ~self.returned_early], minlength=len(wave.blocks))
        self._inspect(released, late)
        whole = self._whole(released)
        self._arrived[self._key[released]] = 0
        wave.active = released
        blocks = np.zeros(len(wave.blocks), np.bool_)
        blocks[wave.block_of[released]] = True
        wave.launch.synchronise(blocks)
        self._learn(released)
        blocks[:] = False
        blocks[wave.block_of[released[whole]]] = True
        if blocks.any():
            wave.shared.synchronise(wave, None if blocks.all() else blocks)
        for number in np.unique(self._place[released]):
            barrier = self._seen[int(number)]
            if barrier.reduction is not None:
                members = released[self._place[released] == number]
                wave.active = members
                self._reduce(barrier, self._key[members], self._predicate[members])
        return released

    def _whole(self, released: Index) -> npt.NDArray[np.bool_]:
        """For each thread whose barrier opens, whether all threads of its block that are left take part in it."""
        expected, size = self._expected[released], self.wave.launch.block_threads
        counted = (expected >= size) & (self._arrived[self._key[released]] == 0)
        result: npt.NDArray[np.bool_] = (expected == 0) | counted
        return result

    def _learn(self, released: Index) -> None:
        races, keys = self.wave.shared.races, self._key[released]
        if races is not None and races.clocks is not None:
            for key in np.unique(keys).tolist():
                races.clocks.learn(released[keys == key], self._handed_over.pop(key))

    def _reduce(self, barrier: Barrier, group: Index, predicate: Array) -> None:
        reduction = barrier.reduction
        assert reduction is not None
        holding = np.bincount(group, weights=predicate).astype(np.int64)[group]
        if reduction.op == "popc":
            result: Array = holding.astype(np.uint32)
        elif reduction.op == "or":
            result = holding > 0
        else:
            result = holding == np.bincount(group)[group]
        reduction.result(self.wave, result)

    def _deadlock(self, threads: Index, arrived: int) -> None:
        wave, thread = self.wave, int(threads[0])
        barrier = self._seen[int(self._place[thread])]
        wave.active = threads
        wanted = int(self._expected[thread]) or wave.launch.block_threads
        message = (
            f"deadlock: {arrived} of {wanted} threads of the block wait at this barrier, no other can come"
        )
        raise wave.stop("barrier", message, barrier.instruction)

    def _inspect(self, released: Index, late: Index) -> None:
        """Report a barrier that opens although not every thread of the block stands at it."""
        wave = self.wave
        wave.active = released
        implicit = self._expected[released] == 0
        early = implicit & (late[wave.block_of[released]] > 0)
        if early.any():
            position = int(np.argmax(early))
            barrier = self._seen[int(self._place[released[position]])]
            count = int(late[wave.block_of[released[position]]])
            message = f"barrier in divergent code: {count} threads of the block went past it and left"
            wave.launch.findings.add(wave.fault("barrier", message, barrier.instruction, position))
        _, first = np.unique(self._key[released], return_index=True)
        lead = np.zeros(int(self._key[released].max()) + 1, np.int64)
        lead[self._key[released[first]]] = self._place[released[first]]
        apart = implicit & (self._place[released] != lead[self._key[released]])
        if apart.any():
            position = int(np.argmax(apart))
            barrier = self._seen[int(self._place[released[position]])]
            message = (
                "barrier in divergent code: threads of the block wait at different barriers of the source"
            )
            wave.launch.findings.add(wave.fault("barrier", message, barrier.instruction, position))
