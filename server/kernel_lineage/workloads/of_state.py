"""Drafts of the kernels of one state of a repository: a folder of files that nobody works in, such as an old commit's.

A state needs no `.git`, no user and no workload beside it: what is read lies below its root, and nothing else is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.state import State

__all__ = ["NoDraft", "State", "draft_for"]


@dataclass(frozen=True, slots=True)
class NoDraft:
    """Why the state does not tell how a kernel is run."""

    reasons: tuple[str, ...]
    """What is missing, or why the kernel could not be read; at least one."""
    draft: Draft | None = None
    """What is known all the same; None where the kernel could not even be read."""

    @property
    def reason(self) -> str:
        """All of it in one line."""
        return "; ".join(self.reasons)


def draft_for(
    state: State | Path, path: str, kernel: str, *, measure: bool = True, recorder: Recorder | None = None
) -> Draft | NoDraft:
    """The complete draft of a kernel's workload as one state of a repository tells it, or the reason why there is none.

    `state` is the folder that the state was written to, or a `State` of it, which reads each file once for many
    kernels; `path` is relative to it; `kernel` may be a host function that launches some. Launches, allocations, tests
    and headers of that state are read, nothing outside and nothing newer. With `measure`, shapes that no code tells are
    seen by running the kernel on the emulated device,
    which takes seconds; without, nothing is built or run. With a `recorder`, host code is run where what it says leaves
    something open. Never raises: a file that is not there or does not parse is
    a reason.

    `tried_draft(state.kernel(path, kernel), state.root / path, root=state.root)` drafts it too, and then proves that
    the draft can see a wrong kernel.
    """
    state = state if isinstance(state, State) else State(state)
    try:
        target = state.target(path, kernel)
    except ProgramError as error:
        return NoDraft((str(error),))
    draft = draft_of(target, state.root / path, state, measure=measure, recorder=recorder)
    return NoDraft(draft.missing, draft) if draft.missing else draft
