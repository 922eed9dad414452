"""What a mutation is: one small, typical mistake, made on purpose in a kernel that is right.

Each file beside this one declares one `MUTATION`; `registry.py` collects them. Its examples are its tests and its
manual page, `tests/mutation_examples.py`: pairs of whole files, and files in which there is nothing to mutate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kernel_lineage.kernels.edits import Edit
from kernel_lineage.workloads.mutants.ground import Ground


@dataclass(frozen=True, slots=True)
class Mutation:
    """One kind of mistake."""

    title: str
    """The mistake in a few words, as a person would say it: `boundary guard dropped`."""
    mutate: Callable[[Ground], Iterator[tuple[Edit, ...]]]
    """Every place of the kernel where the mistake can be made, in the order of the text; each makes one mutant."""
    may_survive: str = ""
    """Why a mutant of this kind can compute the same as the kernel; "" when it cannot but for odd code."""
    id: str = ""
    """The name of its file, `dropped_guard`, which the registry puts in."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong version of a kernel's file."""

    id: str
    """The kind, the line, and a number where a line has several: `off_by_one_bound:12`, `off_by_one_bound:12.2`."""
    kind: str
    title: str
    line: int
    """1-based line of the file that is changed first."""
    before: str
    """The changed lines as they were, without indentation."""
    after: str
    source: bytes
    """The whole file."""
    may_survive: str
