"""Control flow of a wave: while all threads stand at one block they run as one; else the lowest block runs first.

Running the lowest block first makes threads that took different branches meet again at the first place that both
reach, because compilers lay code out in that order; where they do not, `meeting` tells which is the lowest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Fault
from kernel_gate.emulated.barriers import Barriers
from kernel_gate.emulated.faults import LaunchFault
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.schedule import Turns
from kernel_gate.emulated.terminators import (
    END,
    WAIT,
    Barrier,
    Branch,
    ClusterWait,
    IndexedBranch,
)
from kernel_gate.emulated.wave import Index, Snapshot, Wave

_CLOCK_EVERY = 64
_TRIES_MOST = 1000
_SPIN_FROM = 32
"""Steps of a loop before it is asked whether anything changes in it."""


@dataclass(slots=True)
class Flow:
    """Where the threads of a wave stand."""

    kernel: DecodedKernel
    wave: Wave
    at: Index = field(init=False)
    """Block of each thread, when they are not all at the same one."""
    barriers: Barriers = field(init=False)
    steps: int = 0
    _tries: int = 0
    """Waits for a cluster in a row that were in vain."""
    _only_leaves: tuple[bool, ...] = field(init=False)
    """Blocks that do nothing but leave the kernel."""

    def __post_init__(self) -> None:
        self._only_leaves = tuple(
            b.count == 1 and isinstance(b.end, Branch) and b.end.target is None and b.end.guard is None
            for b in self.kernel.blocks
        )
        self.at = np.zeros(self.wave.threads, np.int64)
        self.barriers = Barriers(self.wave)

    def run(self) -> None:
        """Run all threads to their end. Raises `LaunchFault`."""
        schedule = self.wave.launch.checks.schedule
        if schedule is not None:
            Turns(self, schedule).run()
            return
        together: int | None = 0
        while together != END:
            if together is not None:
                together = self._run_together(together)
                continue
            lowest, active = self._next()
            if lowest == END:
                return
            if lowest == WAIT:
                self.release()
                continue
            if len(active) == self.wave.threads:
                together = lowest
            else:
                self._run_until_met(lowest, active)

    def _run_until_met(self, number: int, active: Index) -> None:
        """Run the threads at the lowest block as far as they stay together and no others stand at a lower one."""
        wave = self.wave
        stalled = wave.stalled.copy()
        nearest = int(self._placed(np.where(stalled, END, self.at)[self.at != number]).min())
        following = self.run_apart(number, active)
        steps, seen, at = 1, None, None
        while (
            following is not None
            and self._place(following) < nearest
            and np.array_equal(wave.stalled, stalled)
        ):
            wave.select(active)
            if seen is not None and following == at and seen.still(wave):
                self._give_way(active)
                break
            if steps >= _SPIN_FROM and steps & (steps - 1) == 0:
                seen, at = Snapshot.of(wave), following
            following = self.run_apart(following, active)
            steps += 1
        if following is not None:
            self.at[active] = following

    def _give_way(self, active: Index) -> None:
        """Let others go first: these threads go round in a loop and nothing changes, so they wait for somebody.

        Their warps wait with them, as shuffles after the loop want whole warps, unless nobody else is left.
        """
        wave = self.wave
        warps = np.isin(wave.warp, wave.warp[active])
        others = ~warps & ~wave.stalled & (self.at < WAIT)
        wave.stalled[warps if others.any() else active] = True

    def release(self) -> bool:
        """Open the barriers that can be; False when nobody waits. Raises `LaunchFault` for a deadlock."""
        waiting = self.at == WAIT
        if not waiting.any():
            return False
        released = self.barriers.release(waiting, self.at == END)
        self.at[released] = self.barriers.resume[released]
        return True

    def _next(self) -> tuple[int, Index]:
        """Where to go on, and the threads that stand there. Stalled threads try again when nobody else can."""
        stalled = self.wave.stalled
        if stalled.any():
            at = np.where(stalled, END, self.at)
            lowest = self.lowest(at)
            waiting = lowest == WAIT and self.barriers.may_open(self.at == WAIT, self.at == END)
            if lowest < WAIT or waiting:
                return lowest, np.flatnonzero(at == lowest)
            stalled[:] = False
        lowest = self.lowest(self.at)
        return lowest, np.flatnonzero(self.at == lowest)

    def lowest(self, at: Index) -> int:
        """The block that runs first of those at which threads stand."""
        return int(at.min()) if self.kernel.order is None else int(at[np.argmin(self._placed(at))])

    def _placed(self, at: Index) -> Index:
        """The place of each block in the order in which they run; END and WAIT are behind all."""
        order = self.kernel.order
        return at if order is None else np.where(at < len(order), order[np.minimum(at, len(order) - 1)], at)

    def _place(self, number: int) -> int:
        order = self.kernel.order
        return number if order is None or number >= len(order) else int(order[number])

    def _execute(self, number: int) -> None:
        wave, block = self.wave, self.kernel.blocks[number]
        launch = wave.launch
        launch.instructions += block.count * wave.active_count
        self.steps += 1
        by_steps = self.steps > launch.limits.steps
        if by_steps or (self.steps % _CLOCK_EVERY == 0 and time.monotonic() > launch.deadline):
            self._time_out(number, by_steps)
        if launch.executed is not None:
            launch.executed[0, number] = True
        if launch.checks.counts:
            launch.counts.execute(wave, number)
        for step in block.steps:
            step(wave)

    def _time_out(self, number: int, by_steps: bool) -> None:
        line = next(
            (i.line for i in self.kernel.flat.body[self._start(number) :] if i.line is not None), None
        )
        block, thread = self.wave.place(int(self.wave.index[0]))
        message = f"{self.wave.launch.out_of_budget(by_steps)}; the next are still at line {line}"
        raise LaunchFault(Fault("timeout", message, line, block, thread))

    def _start(self, number: int) -> int:
        return sum(block.count for block in self.kernel.blocks[:number])

    def _run_together(self, number: int) -> int | None:
        """Run a block for all threads; the block where all go next, or None when they part."""
        wave = self.wave
        wave.select(None)
        self._execute(number)
        end = self.kernel.blocks[number].end
        following = number + 1 if number + 1 < len(self.kernel.blocks) else END
        if end is None:
            return following
        if isinstance(end, Barrier) and end.guard is None and self.barriers.pass_together(end):
            return following
        if isinstance(end, Branch):
            target = END if end.target is None else end.target
            if end.guard is None:
                self._note_repetition(number, target)
                return target
            taken = end.guard(wave)
            self._count_branch(number, wave.every, taken)
            if not taken.any():
                return following
            self._note_repetition(number, target)
            if taken.ndim == 0 or taken.all():
                return target
            self.at = np.where(taken, target, following)
            self._note_returns(wave.every, taken, target, following)
            return None
        self.at[:] = following
        self._leave(end, wave.every, number)
        return None

    def run_apart(self, number: int, active: Index) -> int | None:
        """Run a block for some threads; where all of them go next, or None when they part or wait, and are sent on."""
        wave = self.wave
        wave.select(active)
        self._execute(number)
        end = self.kernel.blocks[number].end
        following = number + 1 if number + 1 < len(self.kernel.blocks) else END
        if end is None:
            return following
        if isinstance(end, Branch):
            return self._branch(end, active, number, following)
        self.at[active] = following
        self._leave(end, active, number)
        return None

    def _branch(self, end: Branch, active: Index, number: int, following: int) -> int | None:
        """Where a branch sends all active threads, or None when they part and are sent on."""
        target = END if end.target is None else end.target
        if end.guard is None:
            self._note_repetition(number, target)
            return target
        taken = end.guard(self.wave)
        spread = np.broadcast_to(taken, active.shape)
        self._count_branch(number, active, spread)
        self._note_returns(active, spread, target, following)
        if not taken.any():
            return following
        self._note_repetition(number, target)
        if taken.all():
            return target
        self.at[active] = np.where(taken, target, following)
        return None

    def _leave(self, end: Barrier | ClusterWait | IndexedBranch, active: Index, number: int) -> None:
        """Send the active threads on from a block; they have been sent to the following one."""
        wave = self.wave
        following = number + 1 if number + 1 < len(self.kernel.blocks) else END
        chosen = active
        if end.guard is not None:
            chosen = active[np.broadcast_to(end.guard(wave), active.shape)]
        if not len(chosen):
            return
        wave.active = chosen
        if isinstance(end, IndexedBranch):
            targets = np.array([END if t is None else t for t in end.targets])
            index = wave.spread(end.index(wave))
            if (index >= len(targets)).any():
                position = int(np.argmax(index >= len(targets)))
                raise wave.stop("trap", "a jump table is left", end.instruction, position)
            self.at[chosen] = targets[index]
        elif isinstance(end, ClusterWait):
            self._wait_for_cluster(end, chosen, number)
        elif self.barriers.arrive(end, following):
            self.at[chosen] = WAIT

    def _count_branch(self, number: int, active: Index, taken: npt.NDArray[np.bool_]) -> None:
        launch = self.wave.launch
        if launch.checks.counts:
            launch.counts.branch(self.wave, number, active, taken)

    def _note_repetition(self, number: int, target: int) -> None:
        """Keep that some thread went back from a block: its loop has a second round."""
        executed = self.wave.launch.executed
        if target <= number and executed is not None:
            executed[1, number] = True

    def _wait_for_cluster(self, end: ClusterWait, chosen: Index, number: int) -> None:
        """Threads whose cluster has not arrived stay, and try again after all others."""
        ready = self.wave.cluster_barriers.ready(self.wave, chosen, self.at == END)
        self.at[chosen[~ready]] = number
        self.wave.stalled[chosen[~ready]] = True
        self._tries = 0 if ready.any() else self._tries + 1
        if self._tries > _TRIES_MOST:
            message = "deadlock: threads of the cluster wait at this barrier, others neither arrive nor leave"
            raise self.wave.stop("barrier", message, end.instruction)

    def _note_returns(self, active: Index, taken: npt.NDArray[np.bool_], target: int, following: int) -> None:
        """Keep which threads a conditional branch sends straight to the end."""
        for destination, members in ((target, taken), (following, ~taken)):
            if destination == END or self._only_leaves[destination]:
                self.barriers.returned_early[active[members]] = True
