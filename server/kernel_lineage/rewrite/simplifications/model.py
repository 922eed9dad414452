"""What a simplification is: one mechanism of a kernel taken back, so that what it computes stays.

Each file beside this one declares one `SIMPLIFICATION`; `registry.py` collects them. Its examples are its tests:
`tests/rewrite/simplifications/examples/ID.cu` (`.triton`).
Whether the result is right is the gate's to say, as for every other change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit


@dataclass(frozen=True, slots=True)
class Simplification:
    """One way to take an optimisation back."""

    title: str
    """What is done, in a few words: `__restrict__ taken off the parameters`."""
    weakens: str
    """The id of the mechanism."""
    languages: frozenset[Language]
    simplify: Callable[[Kernel], tuple[Edit, ...]]
    """All edits together; none where the kernel has nothing of it."""
    id: str = ""
    """The name of its file, which the registry puts in."""
