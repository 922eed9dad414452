"""The variables and the path at one point of a function that is read symbolically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from kernel_gate.expr.terms import Var
from kernel_lineage.code.cuda.names import Names
from kernel_lineage.code.integers import Site
from kernel_lineage.code.model import Access, Address, Event
from kernel_lineage.code.paths import Path
from kernel_lineage.code.values import Element, Int, Pointer, Symbol, Value
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.words import short


@dataclass
class Scope(Path[Value]):
    """The variables, the path and the names at one point."""

    names: Names
    types: dict[str, str] = field(default_factory=dict)
    """Template parameters that are types, with their arguments, and aliases within functions."""
    lines: Mapping[int, int] = field(default_factory=dict)
    """Lines of the text that was parsed → lines to report, where they differ."""
    at_line: int | None = None
    """The line to report for text that stands elsewhere: an expanded macro's."""
    stands_for: tuple[int, tuple[int, int] | None] = (-1, None)
    """The node that a macro of the file expands to, by its id, and where the macro's call stands."""
    in_file: bool = True
    """Whether nodes stand in the kernel's file at the bytes that they tell."""
    shared_scalars: set[str] = field(default_factory=set)
    """Variables of a block: what is read there may be another thread's."""
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

    def element(self, written: str) -> Element:
        """The type of that name."""
        return self.names.element(written, self.types)

    def is_type(self, written: str) -> bool:
        """Whether a name is that of a type that is seen."""
        base = self.names.base(written, self.types)
        return bool(self.element(written).dtype) or base != written or self.names.struct(base) is not None

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

    def event(self, kind: str, name: str) -> None:
        """Note a barrier, an exchange, a copy or a call."""
        self.model.events.append(Event(kind, name))

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
    return short(text_of(node), 60)
