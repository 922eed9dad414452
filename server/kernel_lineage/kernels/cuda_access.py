"""A load or store of a CUDA C++ kernel, and where it points: what `cuda_indexing.py` finds."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.linear_forms import Linear


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pointer expression points: the array it comes from, and how far into it."""

    root: str
    offset: Linear
    cast: str = ""
    """The element type of a pointer cast on the way (`float4`)."""


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store of an array element."""

    node: Node
    root: str
    """The array or pointer it comes from: a parameter, a shared array, a local one."""
    space: str
    """`global`, `shared`, `local` (registers or stack) or `unknown`."""
    index: Linear
    """The whole element index, with the pointer's own offset."""
    indices: tuple[Node, ...]
    """The index expressions as written, one per dimension; empty for `*p` and for `load128(p)`."""
    reads: bool
    writes: bool
    via: str = ""
    """The function that does it (`__ldcs`, `load128`), "" for a plain expression."""
    cast: str = ""
