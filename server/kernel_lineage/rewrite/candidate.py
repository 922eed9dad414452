"""A candidate: what a skill at an anchor would make of a file. Nothing is changed until a gate accepts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_lineage.kernels.edits import Edit, edited

__all__ = ["Candidate", "Edit"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed change of one file."""

    skill: str
    kernel: str
    """The kernel that is gated, by its name before the change."""
    edits: tuple[Edit, ...]
    """Disjoint, in order of the file."""
    by: str
    """`assist`, `model:<name>` or `handoff`."""
    explanation: str
    guarded: bool = False
    """The old code still runs where the condition fails."""
    alternatives: tuple[Candidate, ...] = ()
    """The same rewrite with other parameters (the shape of a tile, say), each a candidate of its own, in the order in
    which they are to be tried; the candidate itself comes first."""
    function: str = ""
    """The host function that is judged in the kernel's place, where the change joins kernels that it launches."""
    becomes: str = ""
    """The kernel's name after the change, where that is another one."""
    launch: Mapping[str, str] = field(default_factory=dict)
    """Changed launch expressions, by field of the workload's `[launch]`: {"block": "[256]"}."""

    def apply(self, data: bytes) -> bytes:
        """The file's contents with the edits made."""
        return edited(data, self.edits)
