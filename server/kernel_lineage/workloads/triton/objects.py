"""What the host code of a kernel is made of beside numbers and tensors, and how reading it ends."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kernel_gate.expressions import Number
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.values import Size

Names = dict[str, object]


class Reached(Exception):  # noqa: N818
    """The launch is reached: the call, what names stand for there, and the module it is in."""

    def __init__(self, call: ast.Call, names: Names, module: HostModule) -> None:
        super().__init__("launch")
        self.call, self.names, self.module = call, names, module


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


def unwrapped(launched: ast.expr) -> ast.expr:
    """The kernel of `torch.library.wrap_triton(kernel)[grid](…)`; another expression as it is."""
    match launched:
        case ast.Call(func=ast.Name(id="wrap_triton") | ast.Attribute(attr="wrap_triton"), args=[kernel]):
            return kernel
    return launched


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


class Reads(Protocol):
    """What reading a statement or an expression needs of the one who reads."""

    modules: Modules
    sizes: dict[str, Number]
    called_as: dict[str, str]
    decided: list[str]
    promises: list[str]
    """What every caller keeps, over dims that are chosen."""
    typed: set[str]
    """Tensors of which a check tells the dtype."""
    chooses: bool
    """Whether sizes are chosen, as no caller is known."""
    said: list[str]
    perhaps: list[list[object]]
    applied: list[tuple[Instance, object]]
    dims_down_to: int
    shaping: frozenset[str]
    forced: bool
    """Whether a branch that leads to the launch is read although its condition does not hold."""
    depth: int

    def run(self, function: ast.FunctionDef, module: HostModule, names: Names) -> object:
        """What a function returns."""

    def block(self, body: list[ast.stmt], module: HostModule, names: Names) -> None:
        """Some statements, one after the other."""

    def evaluate(self, node: ast.expr, module: HostModule, names: Names) -> object:
        """What an expression stands for."""

    def enter(self, function: Function, given: list[object], named: Mapping[str, object]) -> object:
        """What a function gives when it is called."""

    def spend_round(self) -> None:
        """Count a round of a comprehension or a call of a function. Raises `Stopped` after too many."""

    def is_target(self, value: object) -> bool:
        """Whether this is the kernel whose launch is looked for."""

    def launches(self, node: ast.AST) -> bool:
        """Whether the launch that is looked for stands in some code."""

    def truth(self, value: object) -> bool | None:
        """Whether a value is true; None when that is not known."""

    def global_value(self, name: str, module: HostModule) -> object:
        """What a name stands for that no function defines."""

    def attribute_of(self, value: object, attr: str) -> object:
        """`value.attr`."""

    def opened(self, value: object, attr: str) -> object:
        """A parameter of which nothing is known, as the tensor that it is used as."""

    def makes_dims(self, module: HostModule) -> bool:
        """Whether numbers of the function that is being read are examples of sizes."""

    def example(self, value: object) -> object:
        """A number of a test, where it stands in a shape, as a dim of its own."""

    def example_extent(self, extent: int | Size) -> int | Size:
        """The same for one extent."""

    def named_example(self, name: str, number: int) -> int | Size:
        """The same for a number that the test has a name for: a dim of that name, though others are of its size."""

    def dim(self, wanted: str, size: int, why: str) -> Size:
        """A dim of this name, or of one like it."""
