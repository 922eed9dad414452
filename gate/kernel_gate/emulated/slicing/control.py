"""Control dependence: which branches decide whether a basic block runs (Ferrante, Ottenstein and Warren, 1987)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kernel_gate.emulated.program import Block, DecodedKernel
from kernel_gate.emulated.slicing.operands import effect_of, stored_spaces
from kernel_gate.emulated.terminators import Branch, IndexedBranch


@dataclass(frozen=True, slots=True)
class Decided:
    """What the blocks do that run or do not by one branch."""

    writes: frozenset[int]
    """Registers."""
    stores: frozenset[str]
    """Spaces."""


@dataclass(frozen=True, slots=True)
class ControlFlow:
    """Instructions and the branches that decide over them, by their numbers in the flat body."""

    deciding: Mapping[int, tuple[int, ...]]
    """Instruction → branches that decide whether it runs."""
    decided: Mapping[int, Decided]
    """Branch → what it decides over."""

    @classmethod
    def of(cls, kernel: DecodedKernel) -> ControlFlow:
        """The control dependences of a kernel."""
        body, layout = kernel.flat.body, kernel.layout
        stops = list(accumulate(block.count for block in kernel.blocks))
        deciding: dict[int, tuple[int, ...]] = {}
        writes: dict[int, set[int]] = {}
        stores: dict[int, set[str]] = {}
        branches_of = deciding_branches(kernel.blocks)
        for block, stop, deciders in zip(kernel.blocks, stops, branches_of, strict=True):
            branches = tuple(stops[branch] - 1 for branch in deciders)
            for number in range(stop - block.count, stop):
                deciding[number] = branches
                for branch in branches:
                    writes.setdefault(branch, set()).update(effect_of(body[number], layout).writes)
                    stores.setdefault(branch, set()).update(stored_spaces(body[number]))
        for inner in sorted(writes, reverse=True) * 2:
            # What an inner branch decides over, the outer one does too; a loop's end lies behind its start.
            for outer in deciding[inner]:
                writes[outer] |= writes[inner]
                stores[outer] |= stores[inner]
        decided = {b: Decided(frozenset(writes[b]), frozenset(stores[b])) for b in writes}
        return cls(deciding, decided)


def deciding_branches(blocks: Sequence[Block]) -> list[tuple[int, ...]]:
    """For each basic block those whose branch decides whether it runs; a loop's own branch is among them."""
    successors = [_successors(number, block, len(blocks)) for number, block in enumerate(blocks)]
    next_common = _post_dominators(successors)
    by_block: list[dict[int, None]] = [{} for _ in blocks]
    for number, following in enumerate(successors):
        if len(following) < 2:
            continue
        for block in following:
            runner = block
            while runner != next_common[number] and runner < len(blocks):
                by_block[runner][number] = None
                step = next_common[runner]
                if step is None:
                    break
                runner = step
    return [tuple(branches) for branches in by_block]


def _successors(number: int, block: Block, end: int) -> tuple[int, ...]:
    """Block numbers; `end` stands for leaving the kernel."""
    leave = block.end
    if isinstance(leave, Branch):
        target = end if leave.target is None else leave.target
        return (target,) if leave.guard is None else tuple(dict.fromkeys((target, number + 1)))
    if isinstance(leave, IndexedBranch):
        targets = [end if t is None else t for t in leave.targets]
        return tuple(dict.fromkeys([*targets, *([number + 1] if leave.guard is not None else [])]))
    return (number + 1,)


def _post_dominators(successors: Sequence[Sequence[int]]) -> list[int | None]:
    """The first block that all ways from each block to the end share (Cooper, Harvey and Kennedy, 2001)."""
    end = len(successors)
    order = _from_the_end(successors)
    rank = {block: number for number, block in enumerate(order)}
    common: list[int | None] = [None] * (end + 1)
    common[end] = end
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            candidates = [s for s in successors[block] if s in rank and common[s] is not None]
            if not candidates:
                continue
            meeting = candidates[0]
            for other in candidates[1:]:
                meeting = _meet(meeting, other, common, rank)
            if common[block] != meeting:
                common[block] = meeting
                changed = True
    return common


def _meet(first: int, second: int, common: Sequence[int | None], rank: dict[int, int]) -> int:
    while first != second:
        while rank[first] > rank[second]:
            first = common[first]  # type: ignore[assignment]
        while rank[second] > rank[first]:
            second = common[second]  # type: ignore[assignment]
    return first


def _from_the_end(successors: Sequence[Sequence[int]]) -> list[int]:
    """Blocks that can reach the end, in reverse post-order of the reversed graph; the end itself first."""
    before: dict[int, list[int]] = {}
    for block, following in enumerate(successors):
        for successor in following:
            before.setdefault(successor, []).append(block)
    end = len(successors)
    order: list[int] = []
    seen = {end}
    waiting: list[tuple[int, int]] = [(end, 0)]
    while waiting:
        block, position = waiting.pop()
        preceding = before.get(block, [])
        if position < len(preceding):
            waiting.append((block, position + 1))
            if preceding[position] not in seen:
                seen.add(preceding[position])
                waiting.append((preceding[position], 0))
        else:
            order.append(block)
    return order[::-1]
