"""A finished walk → lineages: the connected parts of the graph of versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kernel_lineage.history.difference import guards_seen
from kernel_lineage.history.facts import Facts
from kernel_lineage.history.groups import Groups
from kernel_lineage.history.model import Lineage, Transition, Version
from kernel_lineage.history.outline import Role, digest
from kernel_lineage.history.transitions import version_id
from kernel_lineage.history.variants import number_in
from kernel_lineage.history.walk import Node, Walk


def lineages_of(
    walk: Walk, transitions: Sequence[Transition], facts_of: Callable[[Node], Facts]
) -> tuple[Lineage, ...]:
    """The lineages, those with most versions first."""
    groups = _connected(walk)
    by_group: dict[int, list[Transition]] = {}
    for edge, transition in zip(walk.edges, transitions, strict=True):
        by_group.setdefault(groups[edge.after], []).append(transition)
    members: dict[int, list[int]] = {}
    for index in range(len(walk.nodes)):
        members.setdefault(groups[index], []).append(index)
    lineages = []
    for group, indices in members.items():
        nodes = [walk.nodes[i] for i in indices]
        last = _last_name(walk, indices)
        lineages.append(
            Lineage(
                id=digest(b"lineage", version_id(nodes[0]).encode())[:12],
                kernel=last.symbol,
                language=last.language,
                versions=tuple(_version(n, facts_of(n)) for n in _in_order(nodes)),
                transitions=tuple(by_group.get(group, ())),
            )
        )
    return tuple(sorted(lineages, key=lambda line: (-len(line.versions), line.kernel, line.id)))


def _version(node: Node, facts: Facts) -> Version:
    return Version(
        id=version_id(node),
        path=node.path,
        symbol=node.symbol,
        commit=node.commit,
        first_line=node.parts[0].first_line,
        last_line=node.parts[0].last_line,
        language=node.language,
        blob=node.blob,
        mechanisms=frozenset(facts.mechanisms),
        guards=guards_seen(node, facts),
    )


def _connected(walk: Walk) -> list[int]:
    """For each version the smallest index in its connected part."""
    groups = Groups(range(len(walk.nodes)))
    for edge in walk.edges:
        groups.join(edge.before, edge.after)
    return [groups.of(i) for i in range(len(walk.nodes))]


def _in_order(nodes: Sequence[Node]) -> list[Node]:
    """In order of history; variants that came with one commit in order of their number."""
    order: dict[tuple[str | None, str], int] = {}
    for position, node in enumerate(nodes):
        order.setdefault((node.commit, node.path), position)

    def place(node: Node) -> tuple[int, int, int]:
        launchers = [p.name for p in node.parts if p.role is Role.HOST]
        number = number_in(node.symbol, launchers)
        return order[node.commit, node.path], -1 if number is None else number, node.parts[0].first_line

    return sorted(nodes, key=place)


def _last_name(walk: Walk, indices: Sequence[int]) -> Node:
    """The version that names the lineage: of those that live, the name that most versions had."""
    living = [i for i in indices if walk.is_alive(i)] or list(indices)
    counts = Counter(walk.nodes[i].symbol for i in indices)
    return walk.nodes[max(living, key=lambda i: (counts[walk.nodes[i].symbol], i))]
