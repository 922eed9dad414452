"""Versions, transitions and lineages: what mining finds in a repository.

Invariants: values are immutable and derived; ids are stable (the same history gives the same ids); nothing here
knows skills, gates or editors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kernel_lineage.kernels.mechanisms.comparing import Change
from kernel_lineage.kernels.source import Language


class Intent(StrEnum):
    """Why a version follows another."""

    OPTIMISATION = "optimisation"
    FIX = "fix"
    REFACTOR = "refactor"
    FEATURE = "feature"
    REVERT = "revert"
    UNKNOWN = "unknown"


class TransitionKind(StrEnum):
    """What sort of edge a transition is."""

    EDIT = "edit"
    RENAME = "rename"
    VARIANT = "variant"
    REVERT = "revert"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True)
class Commit:
    """The part of a commit that mining uses."""

    sha: str
    parents: tuple[str, ...]
    author: str
    date: str
    """ISO 8601, with the author's offset."""
    subject: str
    body: str = ""


@dataclass(frozen=True, slots=True)
class GuardSeen:
    """A guard in a version: `Guard` without its place in bytes."""

    expr: str
    kind: str
    where: str
    line: int
    leaves: bool = False
    """Where it holds the function is left: what goes on comes past it."""


@dataclass(frozen=True, slots=True)
class Version:
    """One kernel's source at one place in history. Its launchers belong to it."""

    id: str
    path: str
    symbol: str
    commit: str | None
    """None for the working tree."""
    first_line: int
    last_line: int
    language: Language
    blob: str
    """The git blob id (a hash of the contents for the working tree)."""
    mechanisms: frozenset[str]
    guards: tuple[GuardSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class Risk:
    """Something that history says against a transition."""

    kind: str
    """`revert`, `bug`, `slower`, `no_difference` or `warning`."""
    message: str
    """What was said, in one line, from the message or the comment."""
    commit: str | None
    """The commit that says it."""
    transition: str | None = None
    """The transition that answers this one (its fix or its revert)."""


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A definition that is new, gone or different after a transition."""

    path: str
    name: str
    role: str
    """`kernel`, `device` or `host`."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One edge of a lineage, before → after."""

    id: str
    before: str
    after: str
    """Ids of versions."""
    kind: TransitionKind
    intent: Intent
    added: tuple[str, ...]
    removed: tuple[str, ...]
    """Ids of mechanisms, sorted."""
    commit: str | None
    compound: bool
    because: str
    """Why this intent: `adds vectorised_access`, `message: "fix …"`, …"""
    risk: tuple[Risk, ...] = ()
    answers: str | None = None
    """The earlier transition that this one fixes, guards or reverts."""
    guards_added: tuple[GuardSeen, ...] = ()
    guards_removed: tuple[GuardSeen, ...] = ()
    occurrences: tuple[Change, ...] = ()
    """What `added` and `removed` are made of: each occurrence that appeared, went, grew, shrank or moved."""
    mends: str | None = None
    """The version that brought in what this fix changes: that of the transition it answers, or a first version."""
    changed: tuple[ChangedPart, ...] = ()
    """The definitions that differ, those in other files than the kernel's too."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The graph of one kernel's versions."""

    id: str
    kernel: str
    """The name it has now, or had last."""
    language: Language
    versions: tuple[Version, ...]
    """In order of history; variants in order of their number."""
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Mined:
    """What one run of mining gives."""

    repository: str
    head: str | None
    commits: dict[str, Commit]
    """Those that a version or a risk names."""
    commits_read: int
    lineages: tuple[Lineage, ...]
    skipped: dict[str, int] = field(default_factory=dict)
    """Reason → how many blobs or commits were passed over (`missing blob`, `over 4 MiB`, `not UTF-8`)."""
    messages: tuple[str, ...] = ()
    """What the user should know of this run: a shallow history, a cache that was set aside."""
