"""What history says that a transition did, which is what replaying it looks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kernel_lineage.history.model import Intent, Lineage, Mined, Transition, Version


class Claim(StrEnum):
    """What is expected to be seen."""

    FASTER = "faster"
    """Both states compute the same; the later one is faster."""
    SAME = "same"
    """Both states compute the same."""
    FIXED = "fixed"
    """The earlier state fails where the later one is right."""
    UNDONE = "undone"
    """The earlier state is wrong or slower than what it was reverted to."""


_OF_INTENT = {
    Intent.OPTIMISATION: Claim.FASTER,
    Intent.FIX: Claim.FIXED,
    Intent.REVERT: Claim.UNDONE,
}
DEFAULT_INTENTS = frozenset(_OF_INTENT)
"""Those that claim something which running can show."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A transition with its lineage, its two versions and what is claimed of it."""

    transition: Transition
    lineage: Lineage
    before: Version
    after: Version
    claim: Claim

    @property
    def title(self) -> str:
        """`layernorm_forward_kernel2 → layernorm_forward_kernel3`, or the one name."""
        one, other = self.before.symbol, self.after.symbol
        return one if one == other else f"{one} → {other}"


_OTHER_DEVICES = re.compile(
    r"(?:^|[/_.-])(ascend|npu|rocm|hip|amd|gfx\d+|xpu|musa|mlu|hpu|gaudi|metal|mps)(?=[/_.-]|$)",
    re.IGNORECASE,
)


def made_for(path: str) -> str:
    """The maker or kind of device that a file is for, where its path names one that is not NVIDIA's; else ""."""
    match = _OTHER_DEVICES.search(path)
    return match[1].lower() if match is not None else ""


def claim_of(transition: Transition, path: str = "") -> Claim:
    """What a transition to a version of that path claims of the device that it is replayed on.

    An optimisation of which history says that it was slower, or that is for another maker's devices, claims no gain.
    """
    if transition.intent is Intent.OPTIMISATION and (
        any(r.kind == "slower" for r in transition.risk) or made_for(path)
    ):
        return Claim.SAME
    return _OF_INTENT.get(transition.intent, Claim.SAME)


def claimed(
    mined: Mined, *, intents: Collection[Intent] = DEFAULT_INTENTS, kernel: str | None = None
) -> Iterator[Claimed]:
    """The transitions of these intents in order of history, lineage by lineage.

    `kernel` narrows them to the lineages that hold a kernel of this name.
    """
    for lineage in mined.lineages:
        versions = {v.id: v for v in lineage.versions}
        if kernel is not None and kernel not in {lineage.kernel, *(v.symbol for v in lineage.versions)}:
            continue
        for step in lineage.transitions:
            if step.intent in intents:
                yield Claimed(
                    step,
                    lineage,
                    versions[step.before],
                    versions[step.after],
                    claim_of(step, versions[step.after].path),
                )
