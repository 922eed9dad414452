"""A host function that launches kernels, followed exactly over a workload, with what its parameters are there."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from math import prod

from tree_sitter import Node

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.expressions import Number as Plain
from kernel_gate.program import LaunchStep, MemsetStep, Operand, Scratch
from kernel_gate.workload import Workload
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.copies import Copies
from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.functions import HostCode, HostParameter
from kernel_lineage.workloads.following.launch_site import parts_of
from kernel_lineage.workloads.following.launches import LaunchArgument
from kernel_lineage.workloads.following.library import ALLOCATORS, buffer_at, library_call
from kernel_lineage.workloads.following.memory_formats import with_channels_last
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.torch_work import TorchWork, row_by_row
from kernel_lineage.workloads.following.types import cpp_type_of, dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    NOTHING,
    Buffer,
    KernelName,
    NotFollowed,
    Number,
    Opaque,
    Record,
    Reference,
    Tensor,
    Value,
    plain,
)
from kernel_lineage.workloads.following.values import Pointer as Address
from kernel_lineage.workloads.host_copies import copy_kernels
from kernel_lineage.workloads.host_launchers import STREAM, Reading
from kernel_lineage.workloads.host_program import OfTorch, Unclear
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.names_before import NamesBefore
from kernel_lineage.workloads.promises import says_nothing
from kernel_lineage.workloads.torch_steps import TorchSteps

_MADE = frozenset({"empty", "zeros", "empty_like", "zeros_like", "empty_strided"})
"""Functions of torch that make memory which holds nothing, or zeros."""
_LIES = re.compile(r"\b(?:is_contiguous|stride)\s*\(")
"""What asks how a tensor lies in memory."""
_ELSEWHERE = frozenset({"cuda", "cpu", "to_dense", "requires_grad_", "set_requires_grad"})
"""Methods of tensors that move data, or that ask for gradients."""


@dataclass(slots=True)
class LauncherEnd:
    """What a function came to."""

    steps: list[LaunchStep | MemsetStep]
    scratch: list[Scratch]
    gives: list[str]
    """The buffers that it returns, "" for what is none."""
    unread: list[str] = field(default_factory=list)
    """What it returns besides that no launch has written, or that is not followed."""
    conditions: list[str] = field(default_factory=list)
    calls: int = 1
    of_torch: OfTorch = field(default_factory=OfTorch)
    copies: tuple[str, ...] = ()
    """What it copies to arguments of the workload, and from them."""


class LauncherReading(Copies, Reading):
    """Follows a launcher exactly, with what its names were before a change."""

    def __init__(
        self, source: SourceFile, unit: Unit, file: Unit, workload: Workload, bound: NamesBefore
    ) -> None:
        super().__init__(source, unit, file, workload)
        self.bound, self._conditions = bound, dict[str, None]()
        self._streams: set[str] = set()
        self.torch = TorchSteps(self)
        self.copies: dict[str, None] = {}
        """What is copied to the arguments of the workload, and from them, as it is told."""
        # What is timed comes first: where other sizes take another way, it is the one that counts.
        self.shapes = [workload.numbers(dims) for dims in (*workload.profile_dims, *workload.shapes())]

    def end(self, function: HostCode, *, is_called_again: bool = False) -> LauncherEnd:
        """What a function does; with `is_called_again`, in a later call too. Raises `Unreadable`."""
        self.function = function.name
        self.outside.values |= self._outside()
        for name, stands_for in self.bound.template.items():
            if stands_for.lstrip("-").isdigit():
                self.outside.values[name] = plain(int(stands_for))
            else:
                self.outside.types[name] = stands_for
        values = self._parameters(function)
        result = (self.called_again if is_called_again else self.to_end)(function, values)
        parts = [self._row_by_row(part) for part in (result if isinstance(result, list) else [result])]
        gives = [self._name_of(part) for part in parts]
        unread = [p.why for p in parts if isinstance(p, Opaque) and p != NOTHING]
        tensors = [p for p, name in zip(parts, gives, strict=True) if isinstance(p, Tensor) and not name]
        unread += [p.as_view or f"`{p.buffer.name or 'a tensor'}`, which torch works out," for p in tensors]
        of_torch = self.torch.made()
        return LauncherEnd(
            self.steps,
            self.scratch,
            gives,
            unread,
            list(self._conditions),
            self.calls,
            replace(of_torch, kernels={**of_torch.kernels, **copy_kernels(self.steps)}),
            tuple(sorted(self.copies)),
        )

    def _row_by_row(self, part: Value | None) -> Value | None:
        """What the function gives, so that results compare whatever their format: channels that lie last are moved."""
        is_made = (
            isinstance(part, Tensor)
            and part.channels_last
            and not self.workload.argument(self.memory.get(part.buffer, ""))
        )
        return self.worked_out(row_by_row(part)) if isinstance(part, Tensor) and is_made else part

    def _outside(self) -> dict[str, Value]:
        """Variables outside of functions, as they are when the program begins."""
        self._is_static = True
        variables = self.unit.globals.items()
        values = {
            n: self.unset(kind, stars, n) for n, (kind, stars) in variables if n not in self.unit.constants
        }
        self._is_static = False
        return values

    def _parameters(self, function: HostCode) -> dict[str, Value]:
        values = {p.name: self.parameter_before(p) for p in function.parameters if p.name}
        return values | self.object_of(function, values)

    def parameter_before(self, parameter: HostParameter) -> Value:
        """What a parameter is, as it was before the change."""
        name, bound = parameter.name, self.bound
        argument = bound.buffers.get(name)
        if argument is not None:
            of_workload = self.workload.argument(argument)
            dtype = cpp_type_of(of_workload.dtype) if of_workload is not None else ""
            kind = self.outside.with_types(parameter.type)
            buffer = Buffer(argument, dtype=kind if parameter.stars else "")
            self.memory[buffer] = argument
            if parameter.stars:
                return Address(buffer, kind)
            extents = tuple(map(self._over_workload, bound.extents[name]))
            buffer.tensor = Tensor(buffer, dict(enumerate(extents)), len(extents), dtype)
            return self._seen(buffer.tensor, bound.views.get(name))
        fields = self.unit.fields_of(alias_of(parameter.type, self.unit)) if not parameter.stars else ()
        if any(f"{name}.{field.name}" in bound.fields for field in fields):
            return Record(parameter.type, {f.name: self._field(f"{name}.{f.name}", f) for f in fields})
        if name in bound.meanings and not parameter.stars:
            return self._over_workload(bound.meanings[name])
        if parameter.type == STREAM:
            return plain(0)
        if re.match(r"(?:std::)?(?:vector|array|span)\b", parameter.type):
            return Opaque(f"`{name}`, a caller's list,")
        if isinstance(usual := self._default(parameter, Names()), Number):
            return usual
        return self.unset(parameter.type, 0, name) if parameter.stars <= 1 else Opaque(f"`{name}`")

    def _seen(self, whole: Tensor, view: View | None) -> Tensor:
        """A tensor as the function is given it."""
        if view is None:
            return whole
        if view.channels_last:
            return with_channels_last(whole, self.sizes)
        extents, strides = (tuple(map(self._over_workload, one)) for one in (view.extents, view.strides))
        return Tensor(whole.buffer, dict(enumerate(extents)), len(extents), whole.dtype, strides, whole)

    def _field(self, written: str, field: HostParameter) -> Value:
        """A field of a structure that the function is given, which is an argument of the workload."""
        argument = self.workload.argument(self.bound.fields.get(written, ""))
        if argument is None:
            return Opaque(f"`{written}`")
        if not argument.is_pointer:
            return self._over_workload(argument.name)
        buffer = Buffer(argument.name, dtype=field.type)
        self.memory[buffer] = argument.name
        return Address(buffer, field.type)

    def decided(self, number: Number) -> Plain:
        """A number that a way depends on: that of the sizes that are timed, and a condition on others."""
        if number.is_constant:
            return number.value
        text = self.expression(number)
        value = evaluate(text, self.shapes[0])
        if isinstance(value, bool):
            tree = tree_of(text if value else f"not ({text})")
        else:
            tree = tree_of(f"{text} == {value}")
        parts = map(ast.unparse, parts_of([tree]))
        self._conditions |= dict.fromkeys(part for part in parts if not says_nothing(part))
        return value

    def launched(self, callee: KernelName, node: Node, names: Names) -> Value:
        """A launch by `<<<…>>>`. Raises `NotFollowed` for one on another stream than the one before it."""
        chevrons = next(c for c in node.children if c.type == "kernel_call_syntax")
        shape = [text_of(c) for c in chevrons.named_children if c.type != "comment"]
        self._streams.add(shape[3] if len(shape) > 3 else "0")
        if len(self._streams) > 1:
            raise NotFollowed("a launch on another stream than the one before it")
        return super().launched(callee, node, names)

    def check(self, name: str, listed: Node | None, names: Names) -> None:
        """A check of how a tensor lies is asked where one lies apart: raises `NotFollowed` where it does not hold."""
        condition = next(iter(arguments_of(listed)), None) if self.bound.views else None
        if condition is not None and _LIES.search(text_of(condition)) and not self._holds(condition, names):
            raise NotFollowed(f"a call that `{name}({text_of(condition)})` refuses")

    def runtime(self, name: str, args: list[Value]) -> bool:
        """Also what a function allocates itself for an argument of the workload."""
        place = args[0] if args else None
        if name in ALLOCATORS and isinstance(place, Reference) and place.name in self.bound.buffers:
            library_call(name, args, self.sizes)
            buffer = buffer_at(place)
            if buffer is not None:
                buffer.cleared = False
                self.memory[buffer] = self.bound.buffers[place.name]
            return True
        return super().runtime(name, args)

    def launched_by_function(self, name: str, args: list[Value], node: Node) -> bool:
        return self._is_copied(name, args, node) or super().launched_by_function(name, args, node)

    def _is_copied(self, name: str, args: list[Value], node: Node) -> bool:
        """Whether a call copies to an argument of the workload before the launches, or from one behind them.

        Raises `NotFollowed` where it does so at another time.
        """
        if not name.startswith("cudaMemcpy") or len(args) < 3 or "Symbol" in name:
            return False
        into, origin = (self.memory.get(b, "") if (b := buffer_at(a)) is not None else "" for a in args[:2])
        if bool(into) == bool(origin) or {into, origin} & {one.name for one in self.scratch}:
            return False
        launched = any(isinstance(step, LaunchStep) for step in self.steps)
        if launched == bool(into):
            raise NotFollowed(f"`{name}()` of `{into or origin}` {'between' if into else 'before'} launches")
        first, second, size = (
            "".join(text_of(n).split()) for n in arguments_of(node.child_by_field_name("arguments"))[:3]
        )
        count = args[2].text if isinstance(args[2], Number) else size
        self.copies[f"{into} {origin} {second if into else first} {count}"] = None
        return True

    def made_by_torch(self, name: str, args: list[Value]) -> Value | None:
        """A tensor that holds nothing, or zeros, or what is worked out. Raises `NotFollowed` for other contents."""
        tensor = super().made_by_torch(name, args)
        if isinstance(tensor, Tensor) and name not in _MADE and tensor.buffer not in self.memory:
            raise NotFollowed(f"`{name}()`, which torch works out,")
        return tensor

    def worked_out(self, work: TorchWork) -> Tensor:
        """What an operation of torch gives, by a kernel that does the same. Raises `NotFollowed`."""
        self.steps += self.torch.steps(work)
        return work.result

    def of_tensor(self, tensor: Tensor, name: str, args: list[Value], template: str) -> Value:
        """What a method of a tensor gives. Raises `NotFollowed` for one that works out other values."""
        if name == "get_device":
            return plain(0)
        if name in _ELSEWHERE:
            raise NotFollowed(f"`{name}()`, which torch works out,")
        if name == "zero_":
            self.steps.append(MemsetStep(self.kept(tensor, name)))
        return super().of_tensor(tensor, name, args, template)

    def kept(self, tensor: Tensor, written: str) -> str:
        """The name of a tensor's memory. For a view it is that which it is of."""
        tensor.buffer.tensor = tensor.buffer.tensor or tensor.whole or tensor
        tensor.buffer.name = tensor.buffer.name or written
        return self._kept(tensor.buffer, written)

    def passed_number(self, number: Number, dtype: str) -> Operand:
        """A number as a launch passes it."""
        return super()._operand(LaunchArgument(number, number.text), dtype)

    def _operand(self, operand: LaunchArgument, kind: str | None) -> Operand:
        buffer = buffer_at(operand.value)
        if buffer is not None and buffer not in self.memory:
            self._kept(buffer, operand.written)
        return super()._operand(operand, kind)

    def _kept(self, buffer: Buffer | None, written: str) -> str:
        """The name of a buffer; that of a tensor which is made here is one of the program's own."""
        tensor = buffer.tensor if buffer is not None else None
        if buffer is None or buffer in self.memory or tensor is None:
            return super()._kept(buffer, written)
        shape, kind = (tensor.shape, dtype_of(tensor.dtype)) if tensor is not None else (None, None)
        if shape is None or kind is None:
            raise NotFollowed(f"`{written}`, whose shape and type nothing tells,")
        name = f"{buffer.name}_{len(self.scratch)}"
        self.memory[buffer] = name
        self.scratch.append(Scratch(name, kind, tuple(map(self.expression, shape)) or ("1",)))
        if buffer.cleared:
            self.steps.append(MemsetStep(name))
        return name

    def _name_of(self, value: Value | None) -> str:
        buffer = value.buffer if isinstance(value, Tensor) and value.strides is None else None
        return self.memory.get(buffer, "") if buffer is not None else ""


def check_same(scratch: Scratch, output: str, workload: Workload) -> None:
    """Raises `Unclear` where a buffer is not as large as the workload's, or of another type."""
    argument = workload.argument(output)
    assert argument is not None
    if scratch.dtype != argument.dtype:
        raise Unclear(f"`{output}` is {scratch.dtype}, the workload's is {argument.dtype}")
    for dims in workload.shapes():
        numbers = workload.numbers(dims)
        try:
            lengths = {
                prod(evaluate(str(e), numbers) for e in shape or ())
                for shape in (scratch.shape, argument.shape)
            }
        except ExpressionError as error:
            raise Unclear(f"`{output}`: {error}") from error
        if len(lengths) > 1:
            raise Unclear(f"`{output}` has another shape")
