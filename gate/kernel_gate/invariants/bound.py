"""Tags on one shape: which coordinates an element of a buffer has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.expressions import ExpressionError, Number, evaluate
from kernel_gate.invariants.grammar import InvariantError
from kernel_gate.invariants.model import Assertion, Statements, Tag

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tagged:
    """A buffer whose elements have coordinates."""

    tag: Tag
    shape: tuple[int, ...]
    itemsize: int
    names: Mapping[str, Number]
    """The workload's dims and scalars on this shape."""

    @property
    def elements(self) -> int:
        """How many."""
        return int(np.prod(self.shape, dtype=np.int64))

    def coordinate(self, name: str, elements: Index) -> Index | None:
        """The values of a coordinate at flat elements; None when this buffer has none of that name."""
        expression = dict(self.tag.coordinates).get(name)
        if expression is None:
            return None
        shape = self.shape if len(self.tag.indices) > 1 else (self.elements,)
        places: tuple[Any, ...] = np.unravel_index(np.minimum(elements, max(self.elements - 1, 0)), shape)
        values = {**self.names, **dict(zip(self.tag.indices, places, strict=True))}
        try:
            result = np.asarray(evaluate(expression, values))
        except ExpressionError as error:
            raise InvariantError(f"coordinate `{name}` of {self.tag.argument}: {error}") from error
        if result.dtype.kind not in "iub":
            raise InvariantError(f"coordinate `{name}` of {self.tag.argument} is no whole number; use //")
        return np.broadcast_to(result.astype(np.int64), elements.shape)

    def place(self, element: int) -> str:
        """`A[3, 17]`."""
        index = np.unravel_index(element, self.shape) if self.shape else ()
        return f"{self.tag.argument}[{', '.join(str(int(i)) for i in index)}]"


@dataclass(frozen=True, slots=True)
class Invariants:
    """What a launch watches for."""

    assertions: tuple[Assertion, ...]
    buffers: Mapping[str, Tagged]
    """By the name of the buffer."""
    coordinates: tuple[str, ...]
    """Those that are followed."""


def on_shape(
    statements: Statements,
    shapes: Mapping[str, tuple[tuple[int, ...], int]],
    names: Mapping[str, Number],
) -> Invariants:
    """The invariants of a program on one shape; `shapes`: extents and bytes of an element of every buffer.

    Raises `InvariantError` with the line.
    """
    buffers: dict[str, Tagged] = {}
    for tag in statements.tags:
        if tag.argument not in shapes:
            arguments = ", ".join(shapes) or "none"
            raise InvariantError(
                f"the workload has no buffer named {tag.argument}; it has {arguments}", tag.line
            )
        shape, itemsize = shapes[tag.argument]
        if len(tag.indices) not in (1, len(shape)):
            raise InvariantError(
                f"{tag.argument} has the {len(shape)} extents {shape} in the workload and {len(tag.indices)} indices "
                "here; give as many, or one for the flat element",
                tag.line,
            )
        tagged = Tagged(tag, shape, itemsize, names)
        try:
            for name, _ in tag.coordinates:
                tagged.coordinate(name, np.zeros(1, np.int64))
        except InvariantError as error:
            raise InvariantError(str(error), tag.line) from error
        buffers[tag.argument] = tagged
    return Invariants(statements.assertions, buffers, statements.asserted)
