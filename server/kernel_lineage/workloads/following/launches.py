"""Launches of one kernel, by `<<<…>>>` or by a function of the runtime."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.calls import dim3
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.declarations import Declarations
from kernel_lineage.workloads.following.names import Names, fetched
from kernel_lineage.workloads.following.values import (
    FieldReference,
    KernelName,
    NotFollowed,
    Number,
    Opaque,
    Record,
    Reference,
    Value,
    plain,
)


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a launch."""

    value: Value
    written: str


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch as it was reached."""

    grid: tuple[Value, ...]
    block: tuple[Value, ...]
    shared: Value
    arguments: tuple[Given, ...]
    template: tuple[str, ...]
    function: str


class Reached(Exception):  # noqa: N818
    """The launch is reached."""

    def __init__(self, launch: Launched) -> None:
        super().__init__()
        self.launch = launch


class Launches(Declarations):
    """Follows host code up to a launch of its kernel."""

    kernel = ""

    def launched(self, callee: KernelName, node: Node, names: Names) -> Value:
        if callee.name != self.kernel:
            return plain(0)
        chevrons = next(c for c in node.children if c.type == "kernel_call_syntax")
        shape = [c for c in chevrons.named_children if c.type != "comment"]
        if len(shape) < 2:
            raise NotFollowed(f"`{text_of(chevrons)}`, which has no block")
        grid, block = (self._extents(self.either(n, names), text_of(n)) for n in shape[:2])
        shared = self.either(shape[2], names) if len(shape) > 2 else plain(0)
        listed = node.child_by_field_name("arguments")
        given = tuple(Given(self.either(n, names), text_of(n)) for n in arguments_of(listed))
        raise Reached(Launched(grid, block, shared, given, callee.template, self.function))

    @staticmethod
    def _extents(value: Value, written: str) -> tuple[Value, ...]:
        if isinstance(value, list):
            value = dim3(value)
        if isinstance(value, Number):
            return (value,)
        if isinstance(value, Record):
            found = [value.fields.get(axis, plain(1)) for axis in "xyz"]
            while (
                len(found) > 1
                and isinstance(found[-1], Number)
                and found[-1].is_constant
                and found[-1].value == 1
            ):
                found.pop()
            return tuple(found)
        return (value if isinstance(value, Opaque) else Opaque(f"`{written}`"),)

    def launched_by_function(self, name: str, given: list[Value], node: Node) -> bool:
        if name in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and len(given) >= 4:
            if not isinstance(given[0], KernelName) or given[0].name != self.kernel:
                return True
            listed = given[3]
            values = listed if isinstance(listed, list) else []
            arguments = tuple(
                Given(v if (v := _at(r)) is not None else Opaque("nothing"), "") for r in values
            )
            shared = given[4] if len(given) > 4 else plain(0)
            grid, block = (self._extents(v, text_of(node)) for v in given[1:3])
            raise Reached(Launched(grid, block, shared, arguments, given[0].template, self.function))
        if name in ("cudaLaunchKernelEx", "cudaLaunchKernelExC") and len(given) >= 2:
            config, callee = _at(given[0]), given[1]
            if (
                not isinstance(callee, KernelName)
                or callee.name != self.kernel
                or not isinstance(config, Record)
            ):
                return True
            values = (
                given[2:] if name == "cudaLaunchKernelEx" else given[2] if isinstance(given[2], list) else []
            )
            arguments = tuple(
                Given(v if (v := _at(r)) is not None else Opaque("nothing"), "") for r in values
            )
            grid, block = (
                self._extents(config.fields.get(f, Opaque(f"`{f}`")), f) for f in ("gridDim", "blockDim")
            )
            shared = config.fields.get("dynamicSmemBytes", plain(0))
            raise Reached(Launched(grid, block, shared, arguments, callee.template, self.function))
        return False


def _at(value: Value) -> Value | None:
    return fetched(value) if isinstance(value, (Reference, FieldReference)) else value
