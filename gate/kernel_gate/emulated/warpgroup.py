"""wgmma products that are under way: what they may still read and write, by warpgroup.

Their values are there at once; until `wgmma.wait_group` covers them, a write to what they read and any use of their
accumulators is reported, because on a GPU they may run at any time until then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from kernel_gate.emulated.ptx.model import Instruction
    from kernel_gate.emulated.registry import Step
    from kernel_gate.emulated.wave import Index, Wave


@dataclass(slots=True)
class Product:
    """One `wgmma.mma_async` of some warpgroups."""

    threads: Index
    groups: Index
    """Number of the group of each thread's warpgroup that it belongs to."""
    instruction: Instruction
    registers: frozenset[int]
    """The accumulator's."""
    tiles: list[tuple[Index, Index]]
    """What it reads from shared memory: threads that stand for the reads, and first bytes of 16."""
    held: int | None = None
    """Under which number the shared memory is held, when races are looked for."""


@dataclass(slots=True)
class Products:
    """What was issued and has not been waited for."""

    threads: int
    committed: npt.NDArray[np.int64] = field(init=False)
    """Groups that each thread's warpgroup has closed."""
    pending: list[Product] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committed = np.zeros(self.threads, np.int64)

    def issue(self, wave: Wave, product: Product) -> None:
        """A product starts."""
        races = wave.shared.races
        if races is not None:
            for threads, offsets in product.tiles:
                races.read_by(wave, threads, offsets, 16, product.instruction)
            product.held = races.hold([offsets for _, offsets in product.tiles], product.instruction)
        self.pending.append(product)

    def commit(self, wave: Wave) -> None:
        """The active warpgroups close their group."""
        self.committed[wave.index] += 1

    def wait(self, wave: Wave, allowed: int) -> None:
        """The active warpgroups wait until at most `allowed` of their groups are under way."""
        waiting = np.zeros(self.threads, np.bool_)
        waiting[wave.index] = True
        still: list[Product] = []
        for product in self.pending:
            done = waiting[product.threads] & (product.groups < self.committed[product.threads] - allowed)
            if done.any():
                still += self._end(wave, product, done)
            else:
                still.append(product)
        self.pending = still

    def _end(self, wave: Wave, product: Product, done: npt.NDArray[np.bool_]) -> list[Product]:
        """Some warpgroups' part is over: what is left of the product."""
        races = wave.shared.races
        ended = np.zeros(self.threads, np.bool_)
        ended[product.threads[done]] = True
        rest: list[tuple[Index, Index]] = []
        for threads, offsets in product.tiles:
            over = ended[threads]
            if races is not None and product.held is not None:
                races.release(offsets[over], product.held)
                races.read_by(wave, threads[over], offsets[over], 16, product.instruction)
            if not over.all():
                rest.append((threads[~over], offsets[~over]))
        if done.all():
            return []
        left = ~done
        return [
            Product(
                product.threads[left], product.groups[left], product.instruction, product.registers, rest, product.held
            )
        ]  # fmt: skip

    def writing(self, wave: Wave, registers: frozenset[int]) -> Product | None:
        """A product under way whose accumulator some active thread would see through one of these registers."""
        for product in self.pending:
            if product.registers & registers:
                members = np.zeros(self.threads, np.bool_)
                members[product.threads] = True
                if members[wave.index].any():
                    return product
        return None


def guard_accumulators(step: Step, registers: frozenset[int], instruction: Instruction) -> Step:
    """A step that uses accumulators: reported while a product that nothing has waited for may be writing them."""

    def guarded(wave: Wave) -> None:
        if wave.products.pending:
            product = wave.products.writing(wave, registers)
            if product is not None:
                line = product.instruction.line
                message = (
                    "race on registers: uses the result of the asynchronous `wgmma.mma_async`"
                    + (f" of line {line}" if line else "")
                    + ", which no wgmma.wait_group has waited for"
                )
                wave.launch.findings.add(wave.fault("race", message, instruction))
        step(wave)

    return guarded
