"""The walk over the history: commits in order → versions and the edges between them.

The state of a walk can be kept and continued, so that a new commit costs what it changed. It is plain data; the
decisions are in `matching` and what it asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.outline import Role
from kernel_lineage.history.seen import KernelSeen, Part
from kernel_lineage.kernels.source import Language


@dataclass(slots=True)
class Node:
    """A version while it is being found."""

    path: str
    key: str
    """The symbol, with an ordinal where a file has several of the name."""
    symbol: str
    commit: str | None
    blob: str
    language: Language
    seen: str
    """The digest of what its own file says; together with `foreign` it tells whether two versions are the same."""
    parts: list[Part]
    comment: str = ""
    foreign: dict[str, list[Part]] = field(default_factory=dict)
    """Launchers in other files, by their path."""

    @property
    def body(self) -> str:
        """The digest of the kernel's own text."""
        return self.parts[0].digest

    @property
    def all_parts(self) -> list[tuple[str, Part]]:
        """(path, part): the kernel, what it reaches, and its launchers wherever they are."""
        return [(self.path, p) for p in self.parts] + [
            (f, p) for f, ps in sorted(self.foreign.items()) for p in ps
        ]


@dataclass(slots=True)
class Edge:
    """A transition while it is being found: indices of nodes, and how the match was made."""

    before: int
    after: int
    kind: TransitionKind
    note: str = ""
    commit: str | None = None


@dataclass(slots=True)
class Walk:
    """Everything found so far, and what is needed to go on."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    at: dict[str, dict[str, int]] = field(default_factory=dict)
    """`path NUL blob` → key → the version that this kernel of this blob is."""
    last: dict[str, dict[str, int]] = field(default_factory=dict)
    """path → key → its last version, also of files and kernels that are gone."""
    alive: dict[str, str] = field(default_factory=dict)
    """path → its last blob, of files that are there."""
    boundary: set[str] = field(default_factory=set)
    """Parents of the first commits walked, which are not read themselves."""

    def place(self, path: str, blob: str) -> dict[str, int]:
        """Versions by key, for one blob at one path; empty when it was not walked."""
        return self.at.get(f"{path}\0{blob}", {})

    def add(self, node: Node) -> int:
        """Adds a version and makes it the last of its path and key."""
        index = len(self.nodes)
        self.nodes.append(node)
        self.settle(node.path, node.blob, node.key, index)
        return index

    def settle(self, path: str, blob: str, key: str, index: int) -> None:
        """Says which version a kernel of a blob is."""
        self.at.setdefault(f"{path}\0{blob}", {})[key] = index
        self.last.setdefault(path, {})[key] = index

    def is_alive(self, index: int) -> bool:
        """Whether the version is what its path holds now."""
        node = self.nodes[index]
        blob = self.alive.get(node.path)
        return blob is not None and self.place(node.path, blob).get(node.key) == index


def node_of(kernel: KernelSeen, path: str, blob: str, commit: str | None, language: Language) -> Node:
    """A version for a kernel as seen in a blob."""
    return Node(
        path,
        kernel.key,
        kernel.symbol,
        commit,
        blob,
        language,
        kernel.digest,
        list(kernel.parts),
        kernel.comment,
    )


def to_state(walk: Walk) -> dict[str, Any]:
    """The walk as JSON."""
    return {
        "nodes": [
            [
                n.path,
                n.key,
                n.symbol,
                n.commit,
                n.blob,
                n.language,
                n.seen,
                [_part_row(p) for p in n.parts],
                n.comment,
                {f: [_part_row(p) for p in ps] for f, ps in n.foreign.items()},
            ]
            for n in walk.nodes
        ],
        "edges": [[e.before, e.after, e.kind, e.note, e.commit] for e in walk.edges],
        "at": walk.at,
        "last": walk.last,
        "alive": walk.alive,
        "boundary": sorted(walk.boundary),
    }


def from_state(state: Mapping[str, Any]) -> Walk:
    """The walk that `to_state` gave. Raises `KeyError`, `TypeError` or `ValueError` when it is something else."""
    return Walk(
        nodes=[
            Node(
                path,
                key,
                symbol,
                commit,
                blob,
                Language(language),
                seen,
                [_part(p) for p in parts],
                comment,
                {f: [_part(p) for p in ps] for f, ps in foreign.items()},
            )
            for path, key, symbol, commit, blob, language, seen, parts, comment, foreign in state["nodes"]
        ],
        edges=[Edge(b, a, TransitionKind(kind), note, commit) for b, a, kind, note, commit in state["edges"]],
        at=state["at"],
        last=state["last"],
        alive=state["alive"],
        boundary=set(state["boundary"]),
    )


def _part_row(part: Part) -> list[Any]:
    return [part.role, part.name, part.digest, part.first_line, part.last_line]


def _part(row: list[Any]) -> Part:
    return Part(Role(row[0]), *row[1:])
