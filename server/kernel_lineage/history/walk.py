"""The walk over the history: commits in order → versions and the edges between them.

The state of a walk can be kept and continued, so that a new commit costs what it changed. It is plain data; the
decisions are in `matching` and what it asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, InstanceOf

from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.reference_graph import ReferenceGraph
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
        return [(p.path or self.path, p) for p in self.parts] + [
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
class Tip:
    """The state of the repository at one commit: its files, and which version each kernel of them is."""

    blobs: dict[str, str] = field(default_factory=dict)
    """path → blob."""
    living: dict[str, dict[str, int]] = field(default_factory=dict)
    """path → key → the version; the inner ones are replaced, not changed, so that branches can share them."""
    boundary: str | None = None
    """The commit that this is the state of, where it was not walked: its versions are made when they are asked for."""
    graph: Annotated[InstanceOf[ReferenceGraph] | None, Field(exclude=True)] = None
    """Worked out again, not kept."""

    def copy(self) -> Tip:
        """The same state, to be changed apart."""
        return Tip(dict(self.blobs), dict(self.living), self.boundary, self.graph)


@dataclass(slots=True)
class Walk:
    """Everything found so far, and what is needed to go on."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    last: dict[str, dict[str, int]] = field(default_factory=dict)
    """path → key → its last version, also of files and kernels that are gone."""
    tip: Tip = field(default_factory=Tip)
    """The state at the commit that is being walked, in the end at the last one."""
    boundary: set[str] = field(default_factory=set)
    """Parents of the first commits walked, which are not read themselves."""

    def place(self, path: str) -> dict[str, int]:
        """The versions of a file's kernels now, by key."""
        return self.tip.living.get(path, {})

    def add(self, node: Node) -> int:
        """Adds a version and makes it the last of its path and key."""
        index = len(self.nodes)
        self.nodes.append(node)
        self.settle(node.path, node.key, index)
        return index

    def settle(self, path: str, key: str, index: int) -> None:
        """Says which version a kernel of a file is now."""
        self.tip.living[path] = {**self.place(path), key: index}
        self.last.setdefault(path, {})[key] = index

    def is_alive(self, index: int) -> bool:
        """Whether the version is what its path holds now."""
        node = self.nodes[index]
        return self.place(node.path).get(node.key) == index


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
