"""What one file of one state of a repository says of kernels: values only; `units` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernel_lineage.history.outline import Role, digest


@dataclass(frozen=True, slots=True)
class Part:
    """One definition that belongs to a version; its text is kept under its digest."""

    role: Role
    name: str
    digest: str
    first_line: int
    last_line: int
    path: str = ""
    """Where it is defined, when that is not the kernel's own file."""


@dataclass(frozen=True, slots=True)
class KernelSeen:
    """One kernel of a file. `parts[0]` is the kernel itself."""

    symbol: str
    ordinal: int
    """Counts kernels of the same name in one file (overloads, `#if` branches) from 0."""
    digest: str
    """The hash of everything that makes the version."""
    parts: tuple[Part, ...]
    comment: str = ""

    @property
    def key(self) -> str:
        """What identifies it within its file."""
        return f"{self.symbol}#{self.ordinal + 1}" if self.ordinal else self.symbol

    @property
    def launchers(self) -> tuple[str, ...]:
        """Names of the host functions of its file that launch it."""
        return tuple(p.name for p in self.parts if p.role is Role.HOST)


@dataclass(frozen=True, slots=True)
class ForeignLaunch:
    """A launch of a kernel that another file defines."""

    digest: str
    parts: tuple[Part, ...]


def digest_of(parts: Iterable[Part]) -> str:
    """The digest of a version: of the kernel's text, and of those of the other parts in whatever order."""
    own: list[str] = []
    rest: list[str] = []
    for part in parts:
        (own if part.role is Role.KERNEL else rest).append(part.digest)
    return digest(*(d.encode() for d in [*own, *sorted(set(rest))]))
