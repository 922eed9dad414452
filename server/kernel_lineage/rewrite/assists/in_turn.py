"""Kernels that are launched one right behind the other, made one as far as each next one can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from kernel_lineage.kernels.edits import differing_lines
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.candidate import Candidate

_MOST = 8
"""Kernels in a row that are joined."""


class InTurn(Protocol):
    """A kernel and the one that is launched right behind it."""

    @property
    def then(self) -> Kernel:
        """The second one."""

    @property
    def launcher(self) -> str:
        """The host function that launches both."""


_T = TypeVar("_T", bound=InTurn)


def joined_in_turn(
    assist: Assist, kernel: Kernel, with_next: Callable[[Kernel], tuple[Kernel, _T]], who: str
) -> Candidate:
    """The candidate in which a kernel does the work of those behind it. `with_next` makes one of a kernel and the next
    one, `who` is what goes on with what it has: a thread or a program. Raises `Refusal` where not even two are joined.
    """
    here, turn = with_next(kernel)
    names = [kernel.name, turn.then.name]
    while len(names) < _MOST:
        made = attempt(partial(with_next, here))
        if isinstance(made, Refusal):
            break
        here, further = made
        names.append(further.then.name)
    explanation = (
        f"{here.name} does what {', '.join(names[:-1])} and {names[-1]} did one behind the other: each {who} goes on "
        "with what it has, and one launch takes the place of several."
    )
    edits = differing_lines(data_of(here).decode(), data_of(kernel).decode())
    candidate = assist.candidate(kernel, edits, explanation=explanation)
    return replace(candidate, function=turn.launcher, becomes=here.name)
