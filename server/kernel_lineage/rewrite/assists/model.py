"""What an assist is: a deterministic rewrite of one kernel at one anchor.

Each file beside this one declares one `ASSIST`; `registry.py` collects them. Its examples are its tests and its
manual page: `tests/rewrite/assists/examples/ID.cu` (`.triton`) holds kernels before and after, and kernels where it
must refuse. Listing calls nothing but the anchor's pattern; `rewrite` is called only when a person or the loop chooses
it, and re-checks everything: the text may have moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.candidate import Candidate, Edit


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an assist does not apply here, in one line for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class Assist:
    """One deterministic rewrite."""

    id: str
    """snake_case verb and object, the same as the file's name: `vectorise_row_access`."""
    title: str
    skill: str
    """The built-in skill that it carries over."""
    pattern: str
    """The anchor pattern that it starts from."""
    rewrite: Callable[[Kernel, Anchor], Candidate | Refusal]

    def candidate(
        self,
        kernel: Kernel,
        edits: Iterable[Edit],
        *,
        explanation: str,
        guarded: bool = False,
        launch: Mapping[str, str] = MappingProxyType({}),
    ) -> Candidate:
        """What the rewrite gives: these edits, in order of the file."""
        return Candidate(
            skill=self.skill,
            kernel=kernel.name,
            edits=tuple(sorted(edits, key=lambda e: e.span.start)),
            by="assist",
            explanation=explanation,
            guarded=guarded,
            launch=dict(launch),
        )
