"""The names of a host function while it is followed: numbers as expressions of the workload, pointers, grids."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_gate.expressions import ExpressionError, Number, evaluate
from kernel_gate.workload import Workload
from kernel_lineage.workloads.host_functions import line_of
from kernel_lineage.workloads.launch_expressions import NotExpressible, host_expression

POINTER = re.compile(
    r"(?:\([^()]*\*\s*\)\s*|(?:reinterpret|static)_cast\s*<[^<>]*>\s*)*\(?\s*&?\s*(\w+)\s*(?:\+(.*?))?\s*\)?",
    re.DOTALL,
)


class Unreadable(Exception):  # noqa: N818
    """A construct that cannot be followed, at a line of the file."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a pointer points."""

    buffer: str
    """"" for a pointer that nothing was allocated for yet."""
    dtype: str
    elements: str = "0"
    """Offset."""


@dataclass(slots=True)
class Scope:
    """The names of one function while it is followed."""

    workload: Workload
    constants: Mapping[str, str]
    values: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, Address] = field(default_factory=dict)
    grids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    """Locals whose values cannot be read, and what they were given."""

    def everywhere(self, node: Node | None, text: str) -> list[Number]:
        """An expression's value on every shape of the workload."""
        bare = text.strip()
        if node is not None and node.type == "condition_clause":
            bare = bare.removeprefix("(").removesuffix(")")
        written = self.read(node, bare)
        workload = self.workload
        try:
            return [
                evaluate(written, {**dims, **workload.scalars(dims)})
                for dims in itertools.chain(workload.shapes(), workload.profile_dims)
            ]
        except ExpressionError as error:
            raise Unreadable(line_of(node), f"`{text}` cannot be computed: {error}") from error

    def address(self, text: str) -> Address | None:
        """What a C++ expression points to; None where it is no pointer that is known."""
        match = POINTER.fullmatch(text.strip())
        if match is None or match[1] not in self.pointers:
            return None
        base = self.pointers[match[1]]
        if not match[2]:
            return base
        try:
            more = self.translated(match[2])
        except NotExpressible:
            return None
        elements = more if base.elements == "0" else f"{base.elements} + ({more})"
        return Address(base.buffer, base.dtype, elements)

    def translated(self, text: str) -> str:
        """A C++ expression over the workload's names. Raises `NotExpressible`."""
        return host_expression(text, self.values, self.constants)

    def read(self, node: Node | None, text: str) -> str:
        """The same. Raises `Unreadable` with the line of `node`."""
        try:
            return self.translated(text)
        except NotExpressible as error:
            name = str(error)
            from_what = f", which is given `{self.unread[name]}`" if name in self.unread else ""
            raise Unreadable(
                line_of(node), f"`{text}` cannot be read: `{name}`{from_what} is not known"
            ) from error
