"""Launches of one kernel, by `<<<…>>>` or by a function of the runtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.bodies import Frame
from kernel_lineage.workloads.following.calls import dim3
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.declarations import Declarations
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.library import ALLOCATORS, bare_pointer, buffer_at, note_write
from kernel_lineage.workloads.following.names import Names, fetched
from kernel_lineage.workloads.following.values import (
    Buffer,
    KernelName,
    NotFollowed,
    Number,
    Opaque,
    Place,
    Pointer,
    Record,
    Tensor,
    Value,
    plain,
)


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """One argument of a launch."""

    value: Value
    written: str


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch as it was reached."""

    callee: KernelName
    grid: tuple[Value, ...]
    block: tuple[Value, ...]
    shared: Value
    arguments: tuple[LaunchArgument, ...]
    frames: tuple[Frame, ...]
    """The functions on the way, the first one first."""

    @property
    def template(self) -> tuple[str, ...]:
        """The kernel's template arguments as they are written."""
        return self.callee.template

    @property
    def parts(self) -> tuple[Launched, ...]:
        """The launches of kernels that it is."""
        return (self,)

    @property
    def numbers(self) -> Iterator[Number]:
        """The numbers of all that is given, bytes and extents of buffers among them."""
        for value in (*self.grid, *self.block, self.shared, *(argument.value for argument in self.arguments)):
            yield from _numbers(value)


class Reached(Exception):  # noqa: N818
    """The launch is reached."""

    def __init__(self, launch: Launched) -> None:
        super().__init__()
        self.launch = launch


class Launches(Declarations):
    """Follows host code up to a launch of its kernel, or up to a function that is its target."""

    kernel = ""
    passes = 0
    """Launches that are passed over."""

    def is_wanted(self, _kernel: str, /) -> bool:
        """Whether a launch of this kernel is looked for."""
        return _kernel == self.kernel

    def _reached(self, launch: Launched) -> Value:
        if self.passes:
            self.passes -= 1
            return plain(0)
        raise Reached(launch)

    def entered(self, function: HostCode, names: Names) -> None:
        if function.name == self.kernel and self.kernel not in self.unit.kernels:
            one = (plain(1),)
            arguments = (
                LaunchArgument(names.get(p.name) or Opaque(f"`{p.name}`"), p.name)
                for p in function.parameters
            )
            callee, frames = KernelName(self.kernel), tuple(self.frames)
            self._reached(Launched(callee, one, one, plain(0), tuple(arguments), frames))

    def launched(self, callee: KernelName, node: Node, names: Names) -> Value:
        if not self.is_wanted(callee.name):
            for argument in arguments_of(node.child_by_field_name("arguments")):
                note_write(self.either(argument, names))
            return plain(0)
        chevrons = next(c for c in node.children if c.type == "kernel_call_syntax")
        shape = [c for c in chevrons.named_children if c.type != "comment"]
        if len(shape) < 2:
            raise NotFollowed(f"`{text_of(chevrons)}`, which has no block")
        grid, block = (self._extents(self.either(n, names), text_of(n)) for n in shape[:2])
        shared = self.either(shape[2], names) if len(shape) > 2 else plain(0)
        listed = node.child_by_field_name("arguments")
        arguments = tuple(LaunchArgument(self._argument(n, names), text_of(n)) for n in arguments_of(listed))
        return self._reached(Launched(callee, grid, block, shared, arguments, tuple(self.frames)))

    def _argument(self, node: Node, names: Names) -> Value:
        """An argument; of one that cannot be followed what the function around the launch allocates for it."""
        value = self.either(node, names)
        if not isinstance(value, Opaque):
            return value
        for call in inside(self.frames[-1].function.body):
            listed = arguments_of(call.child_by_field_name("arguments"))
            if call.type != "call_expression" or len(listed) < 2:
                continue
            is_its = bare_pointer(text_of(listed[0])) == bare_pointer(text_of(node))
            if is_its and text_of(call.child_by_field_name("function")) in ALLOCATORS:
                size = self.either(listed[1], names)
                return Pointer(Buffer(text_of(node), size if isinstance(size, Number) else None))
        return value

    @staticmethod
    def _extents(value: Value, written: str) -> tuple[Value, ...]:
        if isinstance(value, list):
            value = dim3(value)
        if isinstance(value, Number):
            return (value,)
        if isinstance(value, Record):
            extents = [value.fields.get(axis, plain(1)) for axis in "xyz"]
            while (
                len(extents) > 1
                and isinstance(extents[-1], Number)
                and extents[-1].is_constant
                and extents[-1].value == 1
            ):
                extents.pop()
            return tuple(extents)
        return (value if isinstance(value, Opaque) else Opaque(f"`{written}`"),)

    def launched_by_function(self, name: str, args: list[Value], node: Node) -> bool:
        if name in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and len(args) >= 4:
            if not isinstance(args[0], KernelName) or not self.is_wanted(args[0].name):
                return True
            listed = args[3]
            values = listed if isinstance(listed, list) else []
            arguments = tuple(
                LaunchArgument(v if (v := _at(r)) is not None else Opaque("nothing"), "") for r in values
            )
            shared = args[4] if len(args) > 4 else plain(0)
            grid, block = (self._extents(v, text_of(node)) for v in args[1:3])
            self._reached(Launched(args[0], grid, block, shared, arguments, tuple(self.frames)))
            return True
        if name in ("cudaLaunchKernelEx", "cudaLaunchKernelExC") and len(args) >= 2:
            config, callee = _at(args[0]), args[1]
            if (
                not isinstance(callee, KernelName)
                or not self.is_wanted(callee.name)
                or not isinstance(config, Record)
            ):
                return True
            values = (
                args[2:] if name == "cudaLaunchKernelEx" else args[2] if isinstance(args[2], list) else []
            )
            arguments = tuple(
                LaunchArgument(v if (v := _at(r)) is not None else Opaque("nothing"), "") for r in values
            )
            grid, block = (
                self._extents(config.fields.get(f, Opaque(f"`{f}`")), f) for f in ("gridDim", "blockDim")
            )
            shared = config.fields.get("dynamicSmemBytes", plain(0))
            self._reached(Launched(callee, grid, block, shared, arguments, tuple(self.frames)))
            return True
        return False


def _at(value: Value) -> Value | None:
    return fetched(value) if isinstance(value, Place) else value


def _numbers(value: Value) -> Iterator[Number]:
    if isinstance(value, Number):
        yield value
        return
    buffer = value.buffer if isinstance(value, Tensor) else buffer_at(value)
    if buffer is not None:
        yield from (n for n in (buffer.size, buffer.below) if n is not None)
        yield from buffer.tensor.sizes.values() if buffer.tensor is not None else ()
    for inner in value.fields.values() if isinstance(value, Record) else ():
        yield from _numbers(inner)
