"""The host functions of a torch extension (`load_inline`), followed without running them: buffers and launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_gate.program import LaunchSpec, Program
from kernel_lineage.auditing.emulation import Emulation, Scalar
from kernel_lineage.auditing.operations import OPERATIONS
from kernel_lineage.auditing.tensors import DTypeName, NotEvaluableError
from kernel_lineage.auditing.tensors import Tensor as Held
from kernel_lineage.auditing.torch_values import Torch
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.sequence import Sequence as HostSequence
from kernel_lineage.workloads.following.sequence import Unreadable
from kernel_lineage.workloads.following.tensors import OPTIONS
from kernel_lineage.workloads.following.torch_work import OPERATORS
from kernel_lineage.workloads.following.types import cpp_type_of, dtype_of
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Pointer,
    Record,
    Tensor,
    Text,
    TypeName,
    Value,
    plain,
)
from kernel_lineage.workloads.preprocessed import active_text

_OF_SHAPE = frozenset(
    {"size", "sizes", "numel", "dim", "ndimension", "element_size", "itemsize", "scalar_type", "dtype", "type",
     "options", "data_ptr", "mutable_data_ptr", "const_data_ptr", "is_cuda", "defined", "has_value"}
)  # fmt: skip
"""Methods of tensors for which their shapes and types are enough."""


@dataclass(slots=True, eq=False)
class _Array(Tensor):
    """A tensor with its values."""

    held: Held | None = None


def call_host_function(
    source: str, name: str, arguments: Sequence[Any], torch: Torch, emulation: Emulation, label: str
) -> Any:
    """What a host function of an extension gives. Its launches run on `emulation`.

    Raises `NotEvaluableError`, and `KernelFault` from its launches.
    """
    calls = _Calls(source, torch, emulation, label)
    function = next((f for f in calls.unit.functions.get(name, ()) if f.of_host), None)
    if function is None:
        raise NotEvaluableError(f"the extension has no function {name}")
    names = [p.name for p in function.parameters]
    if len(names) != len(arguments):
        raise NotEvaluableError(f"{name} takes {len(names)} arguments, and is given {len(arguments)}")
    try:
        values = dict(zip(names, map(calls.value_of, arguments), strict=True))
        return calls.python_of(calls.to_end(function, values))
    except Unreadable as error:
        raise NotEvaluableError(f"host code of the extension, {error}") from error
    except NotFollowed as error:
        raise NotEvaluableError(f"{name} gives or takes {error}") from error


class _Calls(HostSequence):
    """Follows the host functions of one source with tensors at hand; each launch runs when it is reached."""

    def __init__(self, source: str, torch: Torch, emulation: Emulation, label: str) -> None:
        super().__init__(unit_of(active_text(source)), unit_of(source))
        self._source = read(source.encode(), Language.CUDA)
        self._torch, self._emulation, self._label = torch, emulation, label

    def value_of(self, held: Any) -> Value:
        """A value of Python as the host has it. Raises `NotFollowed`."""
        if isinstance(held, Held):
            shape = dict(enumerate(map(plain, held.shape)))
            return _Array(Buffer(""), shape, len(shape), cpp_type_of(held.dtype) or held.dtype, held=held)
        if isinstance(held, bool | int | float | np.number):
            return plain(held.item() if isinstance(held, np.number) else held)
        if isinstance(held, DTypeName):
            return TypeName(cpp_type_of(held) or held)
        if isinstance(held, list | tuple):
            return [self.value_of(h) for h in held]
        if isinstance(held, str):
            return Text(held)
        if held is None:
            return Pointer(None)
        raise NotFollowed(f"a value of {type(held).__name__}")

    def python_of(self, value: Value | None) -> Any:
        """The value of the host as Python has it. Raises `NotFollowed`."""
        if isinstance(value, _Array):
            return value.held
        if isinstance(value, Number):
            return value.value
        if isinstance(value, list):
            return [self.python_of(v) for v in value]
        if isinstance(value, Record) and value.type == OPTIONS:
            value = value.fields.get("dtype")
        if isinstance(value, TypeName):
            return DTypeName(dtype_of(value.name) or value.name)
        if value is None or (isinstance(value, Pointer) and value.buffer is None):
            return None
        raise NotFollowed(getattr(value, "why", f"a {type(value).__name__.lower()}"))

    def made_by_torch(self, name: str, args: list[Value]) -> Value | None:
        values = [self.python_of(v) for v in args]
        types = [v for v in values if isinstance(v, DTypeName)]
        rest = [v for v in values if not isinstance(v, DTypeName) and v is not None]
        made = self._torch.create(name, rest, {"dtype": types[0]} if types else {})
        if made is None and name in OPERATIONS:
            made = self._torch.operate(name, values, {})
        return self.value_of(made) if made is not None else None

    def of_tensor(self, tensor: Tensor, name: str, args: list[Value], template: str) -> Value:
        if name in ("device", "get_device"):
            return Text(name)
        if name in _OF_SHAPE or not isinstance(tensor, _Array) or tensor.held is None:
            return super().of_tensor(tensor, name, args, template)
        if name == "to":
            args = [v for v in args if isinstance(v, TypeName)]  # there is one device
        made = self._torch.method(tensor.held, name)(*(self.python_of(v) for v in args))
        return tensor if made is tensor.held else self.value_of(made)

    def operated(self, operator: str, left: Value, right: Value, written: str) -> Value:
        if operator in OPERATORS and (isinstance(left, _Array) or isinstance(right, _Array)):
            pair = self.python_of(left), self.python_of(right)
            return self.value_of(self._torch.operate(OPERATORS[operator], pair, {}))
        return super().operated(operator, left, right, written)

    def runtime(self, _name: str, _arguments: list[Value]) -> bool:
        return False

    def _reached(self, launch: Launched) -> Value:
        callee, arguments = launch.callee, launch.arguments
        kernel = self._source.kernel(callee.name)
        if kernel is None:
            raise NotFollowed(f"the launch of `{callee.name}`, which the extension does not define,")
        names = [p.name for p in kernel.parameters]
        if len(names) != len(arguments):
            raise NotFollowed(f"a launch of `{callee.name}` without all its arguments")
        values = {
            p.name: self._passed(str(p.type), a.value)
            for p, a in zip(kernel.parameters, arguments, strict=True)
        }
        blocks, threads = (
            tuple(str(int(self.python_of(v))) for v in part) for part in (launch.grid, launch.block)
        )
        spec = LaunchSpec(blocks, threads, str(int(self.python_of(launch.shared))))
        cut = device_slice(self._source, (callee.name,), lambda _name: None, self._label, callee.template, "")
        program = Program(
            "cuda", cut.text, callee.name, spec, template_arguments=callee.template, name=self._label
        )
        self._emulation.launch(program, names, values)
        return plain(0)

    def _passed(self, parameter: str, value: Value) -> object:
        """An argument of a launch: the values that a pointer points to, or a number as the parameter has it."""
        buffer = buffer_at(value)
        array = buffer.tensor if buffer is not None else None
        if isinstance(value, Pointer) and isinstance(array, _Array) and array.held is not None:
            offset = int(value.offset.value) if value.offset is not None else 0
            if not offset:
                return array.held
            return Held(array.held.values.reshape(-1)[offset:], array.held.dtype)
        held = self.python_of(value)
        if not isinstance(held, int | float):
            raise NotFollowed("an argument that is neither a tensor's memory nor a number")
        kind = parameter.replace("const", "").replace("&", "").strip()
        dtype = dtype_of(kind) or DTYPES.get(kind, "int32" if isinstance(held, int) else "float32")
        return Scalar(float(held) if "float" in dtype else int(held), dtype)
