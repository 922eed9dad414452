"""Control flow of a wave: while all threads stand at one block they run as one; else the lowest block runs first.

Running the lowest block first makes threads that took different branches meet again at the first place that both
reach, because compilers lay code out in that order.
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
from kernel_gate.emulated.terminators import Barrier, Branch, IndexedBranch
from kernel_gate.emulated.wave import Index, Wave

WAIT = 1 << 28
"""Block number of a thread that waits at a barrier."""
END = WAIT + 1
"""Block number of a thread that has left the kernel."""
_CLOCK_EVERY = 64


@dataclass(slots=True)
class Flow:
    """Where the threads of a wave stand."""

    kernel: DecodedKernel
    wave: Wave
    at: Index = field(init=False)
    """Block of each thread, when they are not all at the same one."""
    barriers: Barriers = field(init=False)
    steps: int = 0
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
        together: int | None = 0
        while together != END:
            if together is not None:
                together = self._run_together(together)
                continue
            lowest = int(self.at.min())
            if lowest >= WAIT:
                if lowest == END:
                    return
                released = self.barriers.release(self.at == WAIT, self.at == END)
                self.at[released] = self.barriers.resume[released]
                continue
            active = np.flatnonzero(self.at == lowest)
            if len(active) == self.wave.threads:
                together = lowest
            else:
                self._run_apart(lowest, active)

    def _execute(self, number: int) -> None:
        wave, block = self.wave, self.kernel.blocks[number]
        launch = wave.launch
        launch.instructions += block.count * wave.active_count
        self.steps += 1
        if self.steps > launch.limits.steps or (
            self.steps % _CLOCK_EVERY == 0 and time.monotonic() > launch.deadline
        ):
            self._time_out(number)
        for step in block.steps:
            step(wave)

    def _time_out(self, number: int) -> None:
        line = next(
            (i.line for i in self.kernel.flat.body[self._start(number) :] if i.line is not None), None
        )
        block, thread = self.wave.place(int(self.wave.index[0]))
        message = f"the launch did not end within its budget; it is still at line {line}"
        raise LaunchFault(Fault("timeout", message, line, block, thread))

    def _start(self, number: int) -> int:
        return sum(block.count for block in self.kernel.blocks[:number])

    def _run_together(self, number: int) -> int | None:
        """Run a block for all threads; the block where all go next, or None when they part."""
        wave = self.wave
        wave.active = None
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
                return target
            taken = end.guard(wave)
            if taken.ndim == 0 or taken.all() or not taken.any():
                return target if taken.all() else following
            self.at = np.where(taken, target, following)
            self._note_returns(wave.every, taken, target, following)
            return None
        self.at[:] = following
        self._leave(end, wave.every, following)
        return None

    def _run_apart(self, number: int, active: Index) -> None:
        wave = self.wave
        wave.active = active
        self._execute(number)
        end = self.kernel.blocks[number].end
        following = number + 1 if number + 1 < len(self.kernel.blocks) else END
        self.at[active] = following
        if end is not None:
            self._leave(end, active, following)

    def _leave(self, end: Branch | IndexedBranch | Barrier, active: Index, following: int) -> None:
        """Send the active threads on; those whose guard fails have been sent to the following block."""
        wave = self.wave
        chosen = active
        if end.guard is not None:
            holds = np.broadcast_to(end.guard(wave), active.shape)
            chosen = active[holds]
            if isinstance(end, Branch):
                self._note_returns(active, holds, END if end.target is None else end.target, following)
        if not len(chosen):
            return
        wave.active = chosen
        if isinstance(end, Branch):
            self.at[chosen] = END if end.target is None else end.target
        elif isinstance(end, IndexedBranch):
            targets = np.array([END if t is None else t for t in end.targets])
            index = wave.spread(end.index(wave))
            if (index >= len(targets)).any():
                position = int(np.argmax(index >= len(targets)))
                raise wave.stop("trap", "a jump table is left", end.instruction, position)
            self.at[chosen] = targets[index]
        elif self.barriers.arrive(end, following):
            self.at[chosen] = WAIT

    def _note_returns(self, active: Index, taken: npt.NDArray[np.bool_], target: int, following: int) -> None:
        """Keep which threads a conditional branch sends straight to the end."""
        for destination, members in ((target, taken), (following, ~taken)):
            if destination == END or self._only_leaves[destination]:
                self.barriers.returned_early[active[members]] = True
