"""Values of a Triton kernel: blocks of integers and of addresses, as terms over the lanes of the block.

A block of shape (M, N) is one term over `lane.0` and `lane.1`, which stand for the place within the block; a number has
no shape and no lanes. An axis of extent 1 has no lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernel_gate.expr.terms import ONE, ZERO, Num, Term, Var
from kernel_lineage.code.values import BOOL, INT32, INT64, Int, IntType, Pointer

Shape: TypeAlias = tuple[Term, ...]

LANES = "lane."
MOST_ELEMENTS = 1 << 20
"""The most elements of one block (triton.language.core, TRITON_MAX_TENSOR_NUMEL)."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Integers or truth values."""

    value: Int
    shape: Shape = ()
    weak: bool = False
    """A Python number: a literal or a `tl.constexpr`, which takes the type of what it meets."""

    @property
    def term(self) -> Term:
        """The value of one element."""
        return self.value.term


@dataclass(frozen=True, slots=True)
class Pointers:
    """Addresses in one buffer."""

    pointer: Pointer
    shape: Shape = ()


@dataclass(frozen=True, slots=True)
class BlockPointer:
    """What `tl.make_block_ptr` and `tl.make_tensor_descriptor` give: a window on a tensor."""

    base: Pointer
    extents: tuple[Int, ...]
    strides: tuple[Int, ...]
    offsets: tuple[Int, ...]
    block: Shape
    descriptor: bool = False
    """Accesses name their offsets and are cut at the tensor's bounds."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python value that is no integer: a text, None, a float, a data type by its name."""

    value: object


@dataclass(frozen=True, slots=True)
class Tuple:
    """Several values."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """Anything else: floating-point numbers, or what could not be modelled."""

    reason: str = ""
    shape: Shape | None = None
    """None where it is not known."""


Value: TypeAlias = Tile | Pointers | BlockPointer | Constant | Tuple | Other


def lane(axis: int) -> Var:
    """The place along one axis."""
    return Var(f"{LANES}{axis}")


def lane_at(axis: int, extent: Term) -> Term:
    """The place along one axis of that extent."""
    return ZERO if extent == ONE else lane(axis)


def number(value: int) -> Tile:
    """A Python integer."""
    return Tile(Int(Num(value), literal_type(value)), weak=True)


def truth(value: bool) -> Tile:
    """A Python truth value."""
    return Tile(Int(Num(int(value)), BOOL), weak=True)


def literal_type(value: int) -> IntType:
    """The type of a literal by itself."""
    return INT32 if INT32.least <= value <= INT32.most else INT64


def shape_of(value: Value) -> Shape | None:
    """The shape of a block; None where it is not known."""
    match value:
        case Tile(shape=shape) | Pointers(shape=shape) | Other(shape=shape):
            return shape
        case Constant():
            return ()
    return None


def why(value: Value) -> str:
    """Why a value is not known; "" where nothing is to be said."""
    return value.reason if isinstance(value, Other) else ""
