"""The variables and the path at one point of a function that is read symbolically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Term
from kernel_lineage.code.cuda.names import Names
from kernel_lineage.code.integers import Site
from kernel_lineage.code.model import Access, Model
from kernel_lineage.code.setting import Setting
from kernel_lineage.code.values import Pointer, Value
from kernel_lineage.kernels.cuda_forms import text_of

_SHOWN = 60


@dataclass
class Scope:
    """Mutable while a function is read; branches save and restore it."""

    names: Names
    setting: Setting
    model: Model
    variables: dict[str, Value] = field(default_factory=dict)
    path: tuple[Term, ...] = ()
    depth: int = 0
    """Of inlined calls."""
    lines: Mapping[int, int] = field(default_factory=dict)
    """Lines of the text that was parsed → lines to report, where they differ."""
    at_line: int | None = None
    """The line to report for text that stands elsewhere: an expanded macro's."""
    returned: list[tuple[tuple[Term, ...], Value]] = field(default_factory=list)
    shared_scalars: set[str] = field(default_factory=set)
    """Variables of a block: what is read there may be another thread's."""
    busy: set[str] = field(default_factory=set)
    """Macros and constants that are being expanded."""

    def line(self, node: Node) -> int:
        """The line of a node in the source."""
        if self.at_line is not None:
            return self.at_line
        line = node.start_point[0] + 1
        return self.lines.get(line, line)

    @contextmanager
    def under(self, *conditions: Term) -> Iterator[None]:
        """What is read meanwhile happens only under these conditions."""
        before = self.path
        self.path = (*before, *(c for c in conditions if c != Num(1)))
        try:
            yield
        finally:
            self.path = before

    def access(
        self, node: Node, place: Pointer, *, reads: bool = False, writes: bool = False, atomic: bool = False
    ) -> None:
        """Note that memory is read or written."""
        if place.space == "local":
            return
        known = place.element.nbytes > 0
        self.model.accesses.append(
            Access(
                self.line(node),
                shown(node),
                place.root,
                place.space,
                place.offset if known else None,
                place.element.nbytes,
                reads,
                writes,
                self.path,
                atomic,
                place.arithmetic,
                "" if known else "the size of its type is not known",
            )
        )

    def problem(self, node: Node, what: str) -> None:
        """Note a construct in which accesses may hide."""
        self.model.problems.append((self.line(node), what))

    def site(self, node: Node) -> Site:
        """Where an operation stands."""
        return Site(self.model, self.line(node), shown(node))


def shown(node: Node) -> str:
    """A node's text on one line, cut where it is long."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
