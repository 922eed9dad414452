"""The order in which basic blocks run where threads have parted, so that these meet again at the first place they can.

The lowest block runs first, as compilers lay code out in that order: who is behind catches up. Where they put code that
is rarely run behind the kernel's end, from where it jumps back, another order takes the place of the layout's: a block
comes behind all that lead to it, but for the ends of its loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from kernel_gate.emulated.terminators import Branch, IndexedBranch, Terminator
from kernel_gate.emulated.wave import Index


class _Block(Protocol):
    @property
    def end(self) -> Terminator | None: ...


def meeting_order(blocks: Sequence[_Block]) -> Index | None:
    """Block → its place in the order; None where the layout is one."""
    successors = [tuple(dict.fromkeys(_after(blocks, number))) for number in range(len(blocks))]
    finished, jumps_back = _walked(successors)
    if not jumps_back:
        return None
    unreached = [number for number in range(len(blocks)) if number not in finished]
    order = np.zeros(len(blocks), np.int64)
    order[[*reversed(finished), *unreached]] = np.arange(len(blocks))
    return order


def _walked(successors: Sequence[Sequence[int]]) -> tuple[dict[int, None], bool]:
    """The blocks in the order in which a walk in depth leaves them, and whether one leads to an earlier one of the
    layout that is no loop around it.
    """
    finished: dict[int, None] = {}
    inside = {0}
    jumps_back = False
    # What lies far off comes first: of a loop and the code behind it, the code behind is left first.
    waiting = [(0, iter(sorted(successors[0], reverse=True)))] if successors else []
    while waiting:
        number, left = waiting[-1]
        following = next(left, None)
        if following is None:
            waiting.pop()
            inside.discard(number)
            finished[number] = None
            continue
        jumps_back = jumps_back or (following <= number and following not in inside)
        if following not in finished and following not in inside:
            inside.add(following)
            waiting.append((following, iter(sorted(successors[following], reverse=True))))
    return finished, jumps_back


def _after(blocks: Sequence[_Block], number: int) -> Iterator[int]:
    end = blocks[number].end
    falls_through = not isinstance(end, (Branch, IndexedBranch)) or end.guard is not None
    if falls_through and number + 1 < len(blocks):
        yield number + 1
    if isinstance(end, Branch) and end.target is not None:
        yield end.target
    if isinstance(end, IndexedBranch):
        yield from (target for target in end.targets if target is not None)
