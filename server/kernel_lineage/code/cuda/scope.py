"""The variables and the path at one point of a function that is read symbolically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.names import Names
from kernel_lineage.code.integers import Site
from kernel_lineage.code.model import Access, Address, Event, Model
from kernel_lineage.code.setting import Setting
from kernel_lineage.code.values import Element, Int, Pointer, Symbol, Value
from kernel_lineage.kernels.cuda_forms import text_of

_SHOWN = 60


@dataclass
class Scope:
    """Mutable while a function is read; branches save and restore it."""

    names: Names
    setting: Setting
    model: Model
    types: dict[str, str] = field(default_factory=dict)
    """Template parameters that are types, with their arguments, and aliases within functions."""
    variables: dict[str, Value] = field(default_factory=dict)
    path: tuple[Term, ...] = ()
    depth: int = 0
    """How deep calls are inlined."""
    lines: Mapping[int, int] = field(default_factory=dict)
    """Lines of the text that was parsed → lines to report, where they differ."""
    at_line: int | None = None
    """The line to report for text that stands elsewhere: an expanded macro's."""
    stands_for: tuple[int, tuple[int, int] | None] = (-1, None)
    """The node that a macro of the file expands to, by its id, and where the macro's call stands."""
    in_file: bool = True
    """Whether nodes stand in the kernel's file at the bytes that they tell."""
    returned: list[tuple[tuple[Term, ...], Value]] = field(default_factory=list)
    shared_scalars: set[str] = field(default_factory=set)
    """Variables of a block: what is read there may be another thread's."""
    busy: set[str] = field(default_factory=set)
    """Macros and constants that are being expanded."""
    loops: tuple[str, ...] = ()
    """The loops around this point, by their `Loop.round`."""
    calls: tuple[int, ...] = ()
    """Lines of the calls that led into the function that is read, outermost first."""
    function: str = ""
    """The text of the function that is read."""

    def line(self, node: Node) -> int:
        """The line of a node in the source."""
        if self.at_line is not None:
            return self.at_line
        line = node.start_point[0] + 1
        return self.lines.get(line, line)

    def at(self, node: Node) -> tuple[int, int] | None:
        """Where a node stands in the file; None in an expanded macro."""
        return (node.start_byte, node.end_byte) if self.in_file and self.at_line is None else None

    def called_at(self, node: Node) -> tuple[int, int] | None:
        """Where an access stands in the file; in an expanded macro, where the call does that is this access alone."""
        return self.at(node) or (self.stands_for[1] if self.stands_for[0] == node.id else None)

    @contextmanager
    def under(self, *conditions: Term) -> Iterator[None]:
        """What is read meanwhile happens only under these conditions."""
        before = self.path
        self.path = (*before, *(c for c in conditions if c != Num(1)))
        try:
            yield
        finally:
            self.path = before

    def element(self, written: str) -> Element:
        """The type of that name."""
        return self.names.element(written, self.types)

    def access(
        self,
        node: Node,
        place: Pointer,
        *,
        reads: bool = False,
        writes: bool = False,
        atomic: bool = False,
        via: str = "",
        why: str = "",
    ) -> None:
        """Note that memory is read or written; `why` says what is not known of the address."""
        if place.space == "local":
            return
        reason = why or ("" if place.element.nbytes else "the size of its type is not known")
        self.model.accesses.append(
            Access(
                self.line(node),
                shown(node),
                place.root,
                place.space,
                None if reason and (why or not self.setting.is_open) else place.offset,
                place.element.nbytes,
                reads,
                writes,
                self.path,
                atomic,
                place.arithmetic,
                reason,
                place.element.name or place.element.dtype,
                self.loops,
                self.called_at(node),
                via,
                self.calls,
            )
        )

    def reached(self, node: Node, value: Value) -> None:
        """Note what an expression of the kernel's own is where it is first reached."""
        at = self.at(node) if not self.calls else None
        if at is None:
            return
        if isinstance(value, Int):
            self.model.values.setdefault(at, value.term)
        elif isinstance(value, Symbol):
            self.model.values.setdefault(at, Var(value.path))
        elif isinstance(value, Pointer) and at not in self.model.addresses:
            element = value.element
            self.model.addresses[at] = Address(
                value.root, value.space, value.offset, element.nbytes, element.name or element.dtype
            )

    def event(self, node: Node, kind: str, name: str) -> None:
        """Note a barrier, an exchange, a copy or a call."""
        self.model.events.append(Event(kind, name, self.line(node), self.path, self.loops, self.at(node)))

    def problem(self, node: Node, what: str) -> None:
        """Note a construct in which accesses may hide."""
        self.model.problems.append((self.line(node), what))

    def site(self, node: Node) -> Site:
        """Where an operation stands."""
        return Site(self.model, self.line(node), shown(node))

    def sized(self, pointer: Pointer, nbytes: int) -> Pointer:
        """A pointer at so many bytes."""
        return replace(pointer, element=Element("", nbytes, f"{nbytes} bytes"), extents=())


def shown(node: Node) -> str:
    """A node's text on one line, cut where it is long."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
