"""What the host code of a kernel is made of beside numbers and tensors, and how reading it ends."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_lineage.rewrite.drafting.triton.modules import HostModule

Names = dict[str, object]


class Reached(Exception):  # noqa: N818
    """The launch is reached: what names stand for there, and the module it is in."""

    def __init__(self, names: Names, module: HostModule) -> None:
        super().__init__("launch")
        self.names, self.module = names, module


class Stopped(Exception):  # noqa: N818
    """The code ends before the launch: it raises, or takes too many steps."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the repository, or a lambda with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    module: HostModule
    around: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the repository that has a `forward`."""

    name: str
    module: HostModule


@dataclass(slots=True, eq=False)
class Instance:
    """An object of a class, with the attributes that `__init__` gave it."""

    of: Class
    attributes: Names = field(default_factory=dict)
