"""The values of host code that is followed: numbers over dims, buffers, tensors, and what else a launch is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernel_gate.expressions import Number as Plain
from kernel_gate.workload import address_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernel_lineage.workloads.following.names import Names


_MOST_TEXT = 2000
"""Characters of one expression: a sum of sums doubles with each statement."""
_MOST = 1 << 64


class NotFollowed(Exception):  # noqa: N818
    """Something that the host code does and that cannot be followed; the message names it."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as a product: its constant factor, its other factors as expressions over dims, and its value here.

    Raises `NotFollowed` for one beyond 64 bits, or of more text than a person writes.
    """

    value: Plain
    factors: tuple[str, ...] = ()
    constant: Plain = 1
    """The constant factor; the value itself where there is no other factor."""

    def __post_init__(self) -> None:
        if any(isinstance(n, int) and abs(n) >= _MOST for n in (self.value, self.constant)):
            raise NotFollowed("a number of more than 64 bits")
        if sum(map(len, self.factors)) > _MOST_TEXT:
            raise NotFollowed(f"an expression of more than {_MOST_TEXT} characters")

    @property
    def text(self) -> str:
        """The number as an expression of a workload."""
        if not self.factors:
            return str(int(self.value) if isinstance(self.value, bool) else self.value)
        parts = [*self.factors, *([str(self.constant)] if self.constant != 1 else [])]
        return " * ".join(parts)

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at all sizes."""
        return not self.factors

    @property
    def whole(self) -> bool:
        """Whether it is a whole number, as C++ types it."""
        return not isinstance(self.value, float)


def plain(value: Plain) -> Number:
    """A constant."""
    return Number(value, (), value)


def selected(test: Number, then: Number, otherwise: Number) -> Number:
    """One number where another holds, else a third."""
    taken = then if test.value else otherwise
    return made(taken.value, f"({then.text} if {test.text} else {otherwise.text})")


def dim(name: str, value: int) -> Number:
    """A number that is a dim."""
    return Number(value, (name,))


def _atom(text: str) -> str:
    return text if text.replace("_", "a").isalnum() or (text.endswith(")") and _closed(text)) else f"({text})"


def _closed(text: str) -> bool:
    """Whether a text that ends with a bracket is one call or one pair of brackets."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")" and at < len(text) - 1:
            return False
        if depth == 0 and not (character.isalnum() or character in "_)"):
            return False
    return True


def made(value: Plain, text: str) -> Number:
    """A number that an expression gives."""
    return Number(value, (_atom(text),))


def times(a: Number, b: Number) -> Number:
    """The product."""
    if a.is_constant and b.is_constant:
        return plain(a.value * b.value)
    if any(n.is_constant and n.value == 0 for n in (a, b)):
        return plain(0)
    constant = (a.value if a.is_constant else a.constant) * (b.value if b.is_constant else b.constant)
    return Number(a.value * b.value, (*a.factors, *b.factors), constant)


def divided(a: Number, b: Number) -> Number:
    """C++'s quotient: of whole numbers the whole part. Raises `NotFollowed` for a division by zero."""
    if b.value == 0:
        raise NotFollowed("a division by zero")
    whole = a.whole and b.whole
    value = a.value // b.value if whole else a.value / b.value
    if a.is_constant and b.is_constant:
        return plain(value)
    top = a.value if a.is_constant else a.constant
    bottom = b.value if b.is_constant else b.constant
    left = list(a.factors)
    if all(left.count(f) >= b.factors.count(f) for f in b.factors) and whole and top % bottom == 0:
        for factor in b.factors:
            left.remove(factor)
        return Number(value, tuple(left), top // bottom) if left else plain(value)
    return made(value, f"{_atom(a.text)} {'//' if whole else '/'} {_atom(b.text)}")


_PYTHON: Mapping[str, tuple[str, Callable[[Plain, Plain], Plain]]] = {
    "+": ("+", lambda a, b: a + b),
    "-": ("-", lambda a, b: a - b),
    "%": ("%", lambda a, b: int(math.fmod(a, b))),
    "<": ("<", lambda a, b: a < b),
    "<=": ("<=", lambda a, b: a <= b),
    ">": (">", lambda a, b: a > b),
    ">=": (">=", lambda a, b: a >= b),
    "==": ("==", lambda a, b: a == b),
    "!=": ("!=", lambda a, b: a != b),
    "&&": ("and", lambda a, b: bool(a and b)),
    "||": ("or", lambda a, b: bool(a or b)),
}


def combined(operator: str, a: Number, b: Number) -> Number:
    """What an operator of C++ gives of two numbers. Raises `NotFollowed` for one that workloads do not have."""
    if operator == "*":
        return times(a, b)
    if operator == "/":
        return divided(a, b)
    if operator in ("<<", ">>") and b.is_constant and 0 <= int(b.value) < 64:
        power = plain(1 << int(b.value))
        return times(a, power) if operator == "<<" else divided(a, power)
    if operator in ("&", "|", "^") and a.is_constant and b.is_constant:
        x, y = int(a.value), int(b.value)
        return plain({"&": x & y, "|": x | y, "^": x ^ y}[operator])
    if operator == "&" and b.is_constant:
        return _masked(a, int(b.value))
    if operator == "|" and any(address_name("") in n.text for n in (a, b)):
        # `((uintptr_t)x | (uintptr_t)y | pitch * 4) % 16 == 0` asks for all at once.
        return called("bit_or", a, b)
    if operator not in _PYTHON:
        raise NotFollowed(f"`{operator}` of {a.text} and {b.text}")
    if operator == "%" and b.value == 0:
        raise NotFollowed("a remainder of a division by zero")
    python, compute = _PYTHON[operator]
    value = compute(a.value, b.value)
    if a.is_constant and b.is_constant:
        return plain(value)
    if operator in ("+", "-") and b.is_constant and b.value == 0:
        return a
    if operator == "+" and a.is_constant and a.value == 0:
        return b
    return made(value, f"{_atom(a.text)} {python} {_atom(b.text)}")


def _masked(a: Number, mask: int) -> Number:
    """`a & 7` is `a % 8`, and `a & ~7` rounds down to a multiple of 8. Raises `NotFollowed` for other masks."""
    if mask > 0 and mask & (mask + 1) == 0:
        return combined("%", a, plain(mask + 1))
    step = -mask
    if mask < 0 and step & (step - 1) == 0:
        return times(divided(a, plain(step)), plain(step))
    raise NotFollowed(f"`{a.text} & {mask}`")


def called(name: str, *numbers: Number) -> Number:
    """A function of the workload's language: `min`, `max`, `ceil_div`, `next_power_of_2`, `bit_or` …"""
    from kernel_gate.expressions import FUNCTIONS

    value = FUNCTIONS[name](*(n.value for n in numbers))
    if all(n.is_constant for n in numbers):
        return plain(value)
    return made(value, f"{name}({', '.join(n.text for n in numbers)})")


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory of the device or the host."""

    name: str
    size: Number | None = None
    """Bytes; None where nothing tells."""
    tensor: Tensor | None = None
    """Whose memory it is, where a tensor was asked for its address."""
    dtype: str = ""
    """As it was declared or asked for; "" unknown."""
    cleared: bool = False
    cleared_bytes: Value | None = None
    """So many of its bytes, from the first, are cleared; None for all, and no number where nothing tells how many."""
    cleared_in: int = 0
    """The loops that lead to the launch, around where it is cleared."""
    below: Number | None = None
    """What all its values, whole numbers from 0, are smaller than."""
    untold: str = ""
    """What nothing tells of its bytes, where they are not told."""
    values: str = ""
    """How a caller draws its elements, as a workload says it; "" where nothing tells."""
    within: frozenset[str] = frozenset()
    """The sizes for which it is allocated each time that a caller comes to the next one of its list."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address in a buffer."""

    buffer: Buffer | None
    """None for a null pointer."""
    dtype: str = ""
    offset: Number | None = None
    """Elements, where it does not point to the first one."""
    place: str = ""
    """The variable or field that a null pointer was read from, a field with a dot before it."""


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor of PyTorch: one that lies row by row in its memory, or a view with `strides` of its own."""

    buffer: Buffer
    sizes: dict[int, Number] = field(default_factory=dict)
    """Extents that were asked for, by their indices."""
    rank: int | None = None
    dtype: str = ""
    strides: tuple[Number, ...] | None = None
    """Elements from one to the next along each extent of a view that does not lie row by row; None for another one."""
    whole: Tensor | None = None
    """The tensor that such a view is of, which lies row by row."""
    channels_last: bool = False
    """Whether it fills its memory with the channels of each pixel next to each other, as PyTorch's format is."""

    @property
    def as_view(self) -> str:
        """How such a view is told; "" for a tensor that lies row by row."""
        return (
            f"a view of `{self.buffer.name}` that does not lie row by row" if self.strides is not None else ""
        )

    @property
    def shape(self) -> tuple[Number, ...] | None:
        """All extents; None where some were never asked for."""
        if self.rank is None or any(i not in self.sizes for i in range(self.rank)):
            return None
        return tuple(self.sizes[i] for i in range(self.rank))


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type, as C++ writes it."""

    name: str
    of: Tensor | None = field(default=None, compare=False)
    """The tensor that was asked for it, of which nothing else tells it."""


@dataclass(frozen=True, slots=True)
class MemoryFormat:
    """An order in which PyTorch lays out a tensor, by the name of its enumerator."""

    name: str


@dataclass(slots=True, eq=False)
class Record:
    """A struct of plain fields, or a `dim3` by its `x`, `y` and `z`."""

    type: str
    fields: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel, with the template arguments that it was named with."""

    name: str
    template: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function of the host, with the template arguments that it was named with."""

    name: str
    template: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Lambda:
    """A function without a name, and the names around it."""

    node: Node
    names: Names


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a value is kept: what `&x` gives."""

    names: Names
    name: str


@dataclass(frozen=True, slots=True)
class FieldReference:
    """A field of a struct."""

    record: Record
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ElementReference:
    """An element of an array."""

    elements: list[Value]
    at: int
    array: str
    """How the array is called."""

    @property
    def name(self) -> str:
        """What the element is called: `dev_0` of `dev[0]`."""
        return f"{self.array}_{self.at}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of which nothing is known."""

    why: str


NOTHING = Opaque("nothing")
"""What a function gives that returns without a value."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string, or an enumerator by its last name."""

    text: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A word that a program gets from whoever runs it, and that is what the program asks for."""


Place = Reference | FieldReference | ElementReference
"""Where a value is kept."""
Value = (
    Number | Buffer | Pointer | Tensor | TypeName | Record | KernelName | FunctionName | Lambda | Reference
    | FieldReference | ElementReference | Opaque | Text | Typed | MemoryFormat | list["Value"]
)  # fmt: skip


def product(numbers: tuple[Number, ...]) -> Number:
    """The product of extents."""
    result = plain(1)
    for number in numbers:
        result = times(result, number)
    return result


def strides_of_rows(extents: Sequence[Number]) -> tuple[Number, ...]:
    """Elements from one to the next along each extent of a tensor that lies row by row."""
    return tuple(product(tuple(extents[at + 1 :])) for at in range(len(extents)))
