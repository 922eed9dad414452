"""How a basic block ends: a branch, an exit or a barrier of the block of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.registry import Unsupported
from kernel_gate.emulated.site import Read, Site, Write
from kernel_gate.emulated.types import TYPES

WAIT = 1 << 28
"""Block number of a thread that waits at a barrier."""
END = WAIT + 1
"""Block number of a thread that has left the kernel."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Threads whose guard holds go to the target block; None: they leave the kernel."""

    instruction: Instruction
    guard: Read | None
    target: int | None


@dataclass(frozen=True, slots=True)
class IndexedBranch:
    """`brx.idx`: each thread goes to the block that its index names."""

    instruction: Instruction
    guard: Read | None
    index: Read
    targets: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Reduction:
    """`bar.red`: what the barrier computes over the predicates of all its threads."""

    op: Literal["popc", "and", "or"]
    predicate: Read
    result: Write


@dataclass(frozen=True, slots=True)
class Barrier:
    """`bar.sync`, `bar.arrive`, `bar.red` and their `barrier.cta` spellings."""

    instruction: Instruction
    number: int
    """The instruction's number: it tells barriers at different places apart."""
    guard: Read | None
    name: Read
    """Which of the sixteen barriers."""
    expected: Read | None
    """Threads that take part; None: all of the block."""
    arrive_only: bool
    reduction: Reduction | None


@dataclass(frozen=True, slots=True)
class ClusterWait:
    """`barrier.cluster.wait`; it stands alone in its basic block, so that a thread can try again."""

    instruction: Instruction
    guard: Read | None


Terminator: TypeAlias = Branch | IndexedBranch | Barrier | ClusterWait


def indexed_branch(site: Site, guard: Read | None, targets: list[int | None]) -> IndexedBranch:
    """Decode `brx.idx index, table`."""
    return IndexedBranch(site.instruction, guard, site.read(0, TYPES["u32"]), tuple(targets))


def barrier(site: Site, guard: Read | None) -> Barrier:
    """Decode a barrier. Raises `Unsupported` for forms that are not known."""
    u32, pred = TYPES["u32"], TYPES["pred"]
    if not site.has("sync", "arrive", "red"):
        raise Unsupported(site.instruction.opcode)
    if not site.has("red"):
        expected = site.read(1, u32) if site.operand_count > 1 else None
        return Barrier(
            site.instruction, site.number, guard, site.read(0, u32), expected, site.has("arrive"), None
        )
    op = site.first("popc", "and", "or")
    if op is None:
        raise Unsupported(site.instruction.opcode)
    kind = TYPES["u32"] if op == "popc" else pred
    reduction = Reduction(
        op,  # type: ignore[arg-type]
        site.read(site.operand_count - 1, pred),
        site.write(0, kind),
    )
    expected = site.read(2, u32) if site.operand_count > 3 else None
    return Barrier(
        site.instruction,
        site.number,
        guard,
        site.read(1, u32),
        expected,
        arrive_only=False,
        reduction=reduction,
    )
