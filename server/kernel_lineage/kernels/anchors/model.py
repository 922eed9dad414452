"""What an anchor is: a place in a kernel where a skill applies, found by a named pattern.

Each file beside this one declares one `PATTERN`; `registry.py` collects them. Its examples are files of kernels named
after it, in `tests/kernels/anchors/`. A skill on disk names its pattern; an assist of `rewrite` starts from the anchor
that the pattern found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_lineage.kernels.source import Language, Span
from kernel_lineage.kernels.units import Reader


@dataclass(frozen=True, slots=True)
class Anchor:
    """One match of a pattern."""

    span: Span
    detail: str
    """In a few words, for people: `scalar loads of inp along C`."""
    bindings: Mapping[str, str] = field(default_factory=dict)
    """The pattern's own names (`x`, `C`, `tile`) → the names that this kernel uses (`inp`, `OC`, `sdata`)."""
    pattern: str = ""
    """The pattern's id, which `anchors_of` puts in: a pattern knows of no other."""


@dataclass(frozen=True, slots=True)
class AnchorPattern:
    """A named way to find anchors."""

    title: str
    names: Mapping[str, str]
    """Each name that a match binds, and what it stands for."""
    find: Reader[Anchor]
    id: str = ""
    """The name of its file, which the registry puts in."""

    @property
    def languages(self) -> frozenset[Language]:
        """Those in which it can match."""
        return self.find.languages
