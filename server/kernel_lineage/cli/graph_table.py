"""The transition graph as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from kernel_lineage.cli import terminal
from kernel_lineage.skills.graph.document import NextDocument, direction_edges
from kernel_lineage.skills.graph.model import START, Graph

_FOLLOWERS = 3


def print_graph(graph: Graph, name: str, following: Sequence[NextDocument] = ()) -> None:
    """Directions with what follows them, strategies with counts, effects, risks and followers, what is offered next."""
    console = terminal.console()
    sources = ", ".join(f"{count} {source}" for source, count in graph.sources.items()) or "none"
    console.print(f"{name}: {graph.observations} steps that add a strategy ({sources})\n", soft_wrap=True)
    if not graph.observations:
        console.print("No transition of this history adds a mechanism; `klineage mine` shows its lineages.")
        return
    console.print(_directions(graph))
    console.print()
    console.print(_strategies(graph))
    for one in following:
        console.print(f"\nNext for {one.kernel} in {one.path}", style="bold", soft_wrap=True)
        came = " → ".join(one.history) or "nothing yet"
        console.print(f"came so far: {came}", style="dim", soft_wrap=True)
        for place, ranked in enumerate(one.strategies, 1):
            said = ranked.not_now or ranked.reason
            console.print(f"{place:3}. {ranked.strategy} ({ranked.direction}): {said}", soft_wrap=True)


def _directions(graph: Graph) -> Table:
    table = _table(("direction", "left"), ("steps", "right"))
    table.add_column("then", overflow="fold")
    edges = direction_edges(graph)
    totals: dict[str, int] = {}
    for node in graph.strategies.values():
        if node.transitions:
            totals[node.direction] = totals.get(node.direction, 0) + len(node.transitions)
    for direction, count in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        after = sorted(((-n, to) for (before, to), n in edges.items() if before == direction))
        said = ", ".join(f"{to} {-n}×" for n, to in after[:_FOLLOWERS])
        table.add_row(direction, str(count), said)
    return table


def _strategies(graph: Graph) -> Table:
    table = _table(("strategy", "left"), ("steps", "right"), ("effects", "left"), ("said against it", "left"))
    table.add_column("then", overflow="fold")
    used = [s for s in graph.strategies.values() if s.transitions]
    for node in sorted(used, key=lambda s: (-len(s.transitions), s.id)):
        after = sorted(
            (-e.times, e.after) for e in graph.edges.values() if e.before == node.id != START and e.times
        )
        speeds = [e.speedup for e in node.effects]
        effects = f"{min(speeds):.2f}–{max(speeds):.2f}×" if speeds else "not measured"
        risks = ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in node.risks.items())
        said = ", ".join(f"{to} {-n}×" for n, to in after[:_FOLLOWERS])
        table.add_row(node.id, str(len(node.transitions)), effects, risks, said)
    return table


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table
