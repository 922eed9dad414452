"""The transition graph as a picture: a self-contained SVG, or DOT for Graphviz.

One lane per direction; in it its strategies, the most frequent first. Arrows are the most frequent edges: what came
directly after what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_gate.cleaning import cleaned, for_xml
from kernel_lineage.skills.graph.model import REJECTED, START, TAKEN_BACK, Edge, Graph, Strategy, direction_of

_MOST_EDGES = 36
_LANE = 74
_LABEL = 200
_GAP = 14
_CHARACTER = 7.3
_BOX = 34
_STYLE = """
svg { font: 13px/1.3 system-ui, sans-serif; background: var(--ground); color: var(--ink);
  --ground: #fff; --ink: #1c2430; --soft: #667085; --lane: #f4f6f9; --box: #fff; --line: #c5ccd6; --edge: #2f6feb;
  --risk: #c4320a }
@media (prefers-color-scheme: dark) { svg { --ground: #12161c; --ink: #e6eaf0; --soft: #98a2b3; --lane: #1a2029;
  --box: #222a35; --line: #3b4553; --edge: #7aa7ff; --risk: #ff9c66 } }
text { fill: var(--ink) } .soft { fill: var(--soft); font-size: 12px } .lane { fill: var(--lane) }
.box { fill: var(--box); stroke: var(--line) } .box.risky { stroke: var(--risk); stroke-width: 2 }
.edge { fill: none; stroke: var(--edge) } .tip { fill: var(--edge) }
"""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A box: its left and top corner and width."""

    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def svg(graph: Graph, title: str) -> str:
    """The drawing. Titles on boxes and arrows say counts, effects and risks."""
    used = [s for s in graph.strategies.values() if s.transitions]
    lanes: dict[str, list[Strategy]] = {}
    for node in sorted(used, key=lambda s: (-len(s.transitions), s.id)):
        lanes.setdefault(node.direction, []).append(node)
    ordered = sorted(lanes, key=lambda d: (-sum(len(s.transitions) for s in lanes[d]), d))
    places: dict[str, _Placed] = {}
    body: list[str] = []
    for row, direction in enumerate(ordered):
        top = 56 + row * (_LANE + _GAP)
        x: float = _LABEL + row * 16  # so that arrows between lanes do not lie on each other
        for node in lanes[direction]:
            width = _CHARACTER * len(node.id) + 26
            places[node.id] = _Placed(x, top + (_LANE - _BOX) / 2, width)
            x += width + _GAP
    right = max((p.x + p.width for p in places.values()), default=_LABEL) + 24
    for row, direction in enumerate(ordered):
        top = 56 + row * (_LANE + _GAP)
        total = sum(len(s.transitions) for s in lanes[direction])
        body.append(f'<rect class="lane" x="8" y="{top}" width="{right - 16:.0f}" height="{_LANE}" rx="8"/>')
        body.append(f'<text x="20" y="{top + 33}" font-weight="600">{for_xml(direction)}</text>')
        body.append(f'<text class="soft" x="20" y="{top + 51}">{total} steps</text>')
    body += [_arrow(edge, places) for edge in _shown(graph, places)]
    body += [_box(node, places[node.id]) for node in used]
    height = 56 + len(ordered) * (_LANE + _GAP) + 12
    said = f"{graph.observations} observed steps; arrows: the {_MOST_EDGES} most frequent followers, thicker = more often; red: in a tenth of its steps taken back, slower or rejected"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right:.0f}" height="{height}" '
        f'viewBox="0 0 {right:.0f} {height}" role="img" aria-label="{for_xml(title)}">\n'
        f"<title>{for_xml(title)}</title><style>{_STYLE}</style>\n"
        f'<rect width="100%" height="100%" fill="var(--ground)"/>\n'
        f'<text x="12" y="24" font-size="16" font-weight="600">{for_xml(title)}</text>'
        f'<text class="soft" x="12" y="43">{for_xml(said)}</text>\n' + "\n".join(body) + "\n</svg>\n"
    )


def dot(graph: Graph, title: str) -> str:
    """The same edges for Graphviz, every strategy in the cluster of its direction."""
    lines = [f"digraph {_quoted(title)} {{", "  rankdir=LR; node [shape=box, style=rounded];"]
    used = [s for s in graph.strategies.values() if s.transitions]
    for number, direction in enumerate(sorted({s.direction for s in used})):
        lines.append(f"  subgraph cluster_{number} {{ label={_quoted(direction)};")
        for node in used:
            if node.direction == direction:
                lines.append(f"    {_quoted(node.id)} [label={_quoted(f'{node.id} ({len(node.transitions)})')}];")
        lines.append("  }")
    for edge in graph.edges.values():
        if edge.times and edge.before != START:
            lines.append(f"  {_quoted(edge.before)} -> {_quoted(edge.after)} [label={edge.times}];")
    return "\n".join([*lines, "}"]) + "\n"


def _shown(graph: Graph, places: dict[str, _Placed]) -> list[Edge]:
    drawn = [e for e in graph.edges.values() if e.times and e.before in places and e.after in places]
    return sorted(drawn, key=lambda e: (-e.times, e.before, e.after))[:_MOST_EDGES]


def _arrow(edge: Edge, places: dict[str, _Placed]) -> str:
    one, other = places[edge.before], places[edge.after]
    width = min(6.0, 1.0 + edge.times / 6)
    down = other.y > one.y
    if one.y == other.y:  # an arc above the lane's boxes
        start, end = (one.middle, one.y), (other.middle, other.y)
        bend = f"{one.middle:.0f},{one.y - 34:.0f} {other.middle:.0f},{other.y - 34:.0f}"
        tip = 1
    else:
        start = (one.middle, one.y + (_BOX if down else 0))
        end = (other.middle, other.y + (0 if down else _BOX))
        reach = (end[1] - start[1]) * 0.45
        bend = f"{start[0]:.0f},{start[1] + reach:.0f} {end[0]:.0f},{end[1] - reach:.0f}"
        tip = 1 if down else -1
    said = f"{edge.before} → {edge.after}: {edge.times} times{_more(edge.risks, len(edge.effects))}"
    x, y = end
    return (
        f'<g opacity="{min(0.9, 0.25 + edge.times / 30):.2f}"><title>{for_xml(said)}</title>'
        f'<path class="edge" stroke-width="{width:.1f}" d="M{start[0]:.0f},{start[1]:.0f} C{bend} {x:.0f},{y:.0f}"/>'
        f'<path class="tip" d="M{x:.0f},{y:.0f} l-5,{-9 * tip} h10 z"/></g>'
    )


def _box(node: Strategy, place: _Placed) -> str:
    count = len(node.transitions)
    said = f"{node.id} ({direction_of(node.id)}): {count} steps{_more(node.risks, len(node.effects))}"
    risky = " risky" if sum(node.risks.get(kind, 0) for kind in (*TAKEN_BACK, REJECTED)) * 10 >= count else ""
    return (
        f'<g><title>{for_xml(said)}</title><rect class="box{risky}" x="{place.x:.0f}" y="{place.y:.0f}" '
        f'width="{place.width:.0f}" height="{_BOX}" rx="6"/>'
        f'<text x="{place.x + 9:.0f}" y="{place.y + 16:.0f}">{for_xml(node.id)}</text>'
        f'<text class="soft" x="{place.x + 9:.0f}" y="{place.y + 29:.0f}" font-size="11">{count}×</text></g>'
    )


def _more(risks: Mapping[str, int], effects: int) -> str:
    said = [f"{count} {kind.replace('_', ' ')}" for kind, count in risks.items()]
    if effects:
        said.append(f"{effects} measured")
    return f" ({', '.join(said)})" if said else ""


def _quoted(text: str) -> str:
    return '"' + cleaned(text, "terminal").replace("\\", "\\\\").replace('"', '\\"') + '"'
