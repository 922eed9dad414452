"""What the host code of a kernel is made of beside numbers and tensors, and how reading it ends."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.values import Unknown

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

Names = dict[str, object]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Which launch of a test counts beside its first."""

    picked: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    """Names of a loop → the one of its rounds that is read."""
    passes: int = 0
    """How many launches are passed over."""
    only_timed: bool = False
    """Whether those count alone that are timed."""


class Reached(Exception):  # noqa: N818
    """The launch is reached: the call, and where it stands."""

    def __init__(self, call: ast.Call, frame: Frame) -> None:
        super().__init__("launch")
        self.call, self.frame = call, frame


class Stopped(Exception):  # noqa: N818
    """The code ends before the launch: it raises, or takes too many steps."""


class Returned(Exception):  # noqa: N818
    """A function gives its value."""

    def __init__(self, value: object) -> None:
        super().__init__("return")
        self.value = value


class LeftLoop(Exception):  # noqa: N818
    """`break`, or `continue`."""

    def __init__(self, goes_on: bool) -> None:
        super().__init__("continue" if goes_on else "break")
        self.goes_on = goes_on


class Kept(dict[object, object]):
    """What lives longer than a call, as the state of an optimizer: a tensor that is zero at first holds anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the repository, or a lambda with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    module: HostModule
    around: Mapping[str, object] = field(default_factory=dict)
    of: Class | None = None
    """The class that it is a method of."""


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the repository."""

    node: ast.ClassDef
    module: HostModule

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name


@dataclass(slots=True, eq=False)
class Instance:
    """An object of a class, with the attributes that it was given; of a class that is not read, `of` is its name."""

    of: Class | str
    attributes: Names = field(default_factory=dict)


TENSOR_DESCRIPTOR = "TensorDescriptor"
"""The class of descriptors that the host makes."""


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A function bound to the object or the class that it was taken from."""

    function: Function
    of: object


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A method of a value that is no object of the repository: of a tensor, a list, a text."""

    of: object
    name: str


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the repository, as a name for it."""

    module: HostModule


@dataclass(frozen=True, slots=True)
class Frame:
    """A place of the host code: who reads it, the module that it is in, and what names stand for there."""

    reader: Reader
    module: HostModule
    names: Names

    def evaluate(self, node: ast.expr) -> object:
        """What an expression stands for."""
        return self.reader.evaluate(node, self)

    def named(self, keywords: Iterable[ast.keyword]) -> dict[str, object]:
        """The arguments that a call gives by name, those of `**values` among them."""
        named: dict[str, object] = {}
        for keyword in keywords:
            value = self.evaluate(keyword.value)
            more = {keyword.arg: value} if keyword.arg else value if isinstance(value, dict) else {}
            named.update({k: v for k, v in more.items() if isinstance(k, str)})
        return named

    def spread(self, part: ast.expr) -> list[object]:
        """An element of a list or an argument of a call, or all that `*values` stands for."""
        if not isinstance(part, ast.Starred):
            return [self.evaluate(part)]
        items = self.reader.items_of(self.evaluate(part.value))
        return items if items is not None else [Unknown(f"`{ast.unparse(part)}`")]
