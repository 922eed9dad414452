"""The host code of Triton kernels read to its end: each launch, each buffer that it makes, each one that it clears.

What reading for one launch may guess is an error here: the steps are what a program does, and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Pointer, Value
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.device_size import ASKED_OF_TORCH, counts_multiprocessors
from kernel_lineage.workloads.host_program import OfTorch, Unclear, buffer_of
from kernel_lineage.workloads.triton.arguments import constant_text, is_expression, why_unknown
from kernel_lineage.workloads.triton.grid import grid_of, option_of
from kernel_lineage.workloads.triton.guards import keep, takes_rounds
from kernel_lineage.workloads.triton.host import Reader
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.launch_arguments import given_at
from kernel_lineage.workloads.triton.objects import Attribute, Class, Frame, Function, Method, Names
from kernel_lineage.workloads.triton.tensor_methods import gradient_name
from kernel_lineage.workloads.triton.values import (
    Size,
    Stride,
    Tensor,
    Unknown,
    packed,
    product,
    size_of,
    strides_of,
    text_of,
    tree_of,
    value_at,
)
from kernel_lineage.workloads.triton.ways import Reading

NEW = frozenset({"empty", "zeros", "full", "empty_like", "zeros_like", "full_like", "new_empty", "new_zeros",
                  "new_full"})  # fmt: skip
"""Functions of torch that make a buffer which holds nothing, or one value."""
SAME = frozenset({"detach", "data", "T", "mT", "H", "squeeze", "unsqueeze", "transpose", "permute", "t", "swapaxes",
                   "movedim", "expand", "expand_as", "narrow", "select", "requires_grad_"})  # fmt: skip
"""What gives another view of the same memory."""
SAME_IF_PACKED = frozenset(
    {"contiguous", "view", "reshape", "flatten", "view_as", "reshape_as", "unflatten", "ravel"}
)
SAME_IF_TYPED = frozenset(
    {"to", "type", "type_as", "float", "half", "bfloat16", "double", "int", "long", "cuda"}
)
_PURE = ("torch.", "triton.", "math.", "operator.", "functools.", "warnings.")
"""Packages whose functions leave what they are handed as it is, but for those whose names say otherwise."""
_ASKS = frozenset({"len", "isinstance", "type", "id", "print", "getattr", "hasattr", "enumerate", "zip", "reversed",
                   "list", "tuple", "iter", "next"})  # fmt: skip
"""Functions of Python that change nothing."""
_READS = frozenset({"item", "tolist", "cpu", "numpy"})
"""Methods that give a tensor's elements to the host."""
_ROUNDS_OF = frozenset({"range", "arange"})
_ORDERS = frozenset({"Stream", "stream", "Event", "CUDAGraph", "graph"})
_WIDEST = 1 << 31
_MOST_ROUNDS = 16
"""Rounds of a loop that is read as an expression."""


@dataclass(slots=True)
class Collector(Reader):
    """Reads one function at one shape, and collects what it does."""

    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    """The kernels of its own module."""
    own: HostModule | None = None
    scalars: Collection[str] = ()
    """The scalars of the workload."""
    done: list[LaunchStep | MemsetStep] = field(default_factory=list)
    buffers: dict[str, Tensor] = field(default_factory=dict)
    """Buffer → its whole tensor: those of the workload, and those that the function makes."""
    bound: dict[str, object] = field(default_factory=dict)
    """What the workload says that host names are."""
    parameters: Collection[str] = ()
    """Names of `bound` that the function is given: what it makes of them under the same name is another tensor."""
    invents: bool = False
    """Whether what torch works out before the first launch becomes an input of a workload that is being drafted."""
    prepared: dict[tuple[str, str], object] = field(default_factory=dict)
    """Host name and what it is set to, which is not read → what the workload says that it is."""
    types: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Host name and how its buffer is made, where that does not tell a type → the type that it has in the workload."""
    untyped: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Buffer of which the code does not tell a type → its name, and how it is made."""
    set_by: dict[str, str] = field(default_factory=dict)
    """Host name → what last set it, as it is read."""
    strides: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Tensor and axis → the scalar of the workload that is its stride."""
    worked_out: dict[str, None] = field(default_factory=dict)
    """What torch works out of buffers that were launched with, as it is written."""
    consumed: set[str] = field(default_factory=set)
    """These buffers."""
    learns: bool = False
    """Whether it is the code that the workload is of, so that its names are as the workload says."""
    handed: list[tuple[object, ...]] = field(default_factory=list)
    """For each launch what it passes, as the host code has it."""
    widest: Mapping[str, float] = field(default_factory=dict)
    """The largest sizes that a workload has: they tell the width of whole numbers."""
    used: list[Tensor] = field(default_factory=list)
    """The tensors that steps are given."""
    line: int = 0
    """The statement that is being read."""

    def gradient(self, tensor: Tensor) -> object:
        return self.bound.get(gradient_name(tensor.buffer))

    @property
    def torch_kernels(self) -> OfTorch:
        """The kernels that do what torch works out: none, as that is not read."""
        return OfTorch()

    def stop(self, why: str) -> NoReturn:
        """End the reading, as something is not understood."""
        raise Unclear(f"line {self.line}: {why}")

    def say(self, what: str) -> None:
        """Nothing is taken for granted."""
        self.stop(what)

    def dim(self, wanted: str, size: int, why: str) -> Size:
        """A device's number of multiprocessors, by the one name that torch has for it: a dim in `sizes`."""
        named = ASKED_OF_TORCH if counts_multiprocessors(wanted) and wanted not in self.sizes else wanted
        return Reader.dim(self, named, size, why)

    def uncertain(self, test: ast.expr) -> None:
        """A condition that is not known leads nowhere."""
        self.stop(f"nothing tells `{ast.unparse(test)}`")

    def begins(self, _function: ast.FunctionDef, _module: HostModule, _names: Names) -> None:
        """No call ends the reading."""

    def is_target(self, value: object) -> bool:
        """Whether this is a kernel."""
        return self._kernel(value) is not None

    def _kernel(self, value: object) -> Kernel | None:
        if not (
            isinstance(value, Function) and isinstance(value.node, ast.FunctionDef) and self.own is not None
        ):
            return None
        return self.kernels.get(value.node.name) if value.module.path == self.own.path else None

    def launches(self, _node: ast.AST, _names: Names) -> bool:
        """No branch is taken because it launches."""
        return False

    def block(self, frame: Frame, body: list[ast.stmt]) -> None:
        """Some statements, one after the other: none that writes to a tensor otherwise than by a launch."""
        for statement in body:
            self.line = statement.lineno
            self._watch(frame, statement)
            read = self.reads(frame, statement) if isinstance(statement, ast.Assign) else ""
            Reader.block(self, frame, [statement])
            if isinstance(statement, ast.Assign):
                self.set_by |= {
                    n.id: read for n in ast.walk(statement) if _is_set(n) and isinstance(n, ast.Name)
                }
                self._take_prepared(frame, statement, read)

    def reads(self, frame: Frame, statement: ast.Assign) -> str:
        """What a statement makes of what: names that are not understood by how they were set."""
        names = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        unread = [n for n in sorted(names & self.set_by.keys()) if isinstance(frame.names.get(n), Unknown)]
        return "; ".join([ast.unparse(statement), *(f"{n}: {self.set_by[n]}" for n in unread)])

    def decides(self, frame: Frame, test: ast.expr, holds: bool) -> None:
        """A loop that goes on, or ends, at these sizes is a condition on others."""
        keep(frame, test, holds)

    def unrolled(self, frame: Frame, statement: ast.While) -> bool:
        """Whether a loop that only works out numbers was read as expressions of sizes, as `while s < n: s *= 2` with a
        limit is; else each test of it is a condition.
        """
        names = {
            n.id for part in statement.body for n in ast.walk(part) if _is_set(n) and isinstance(n, ast.Name)
        }
        plain = all(isinstance(part, (ast.Assign, ast.AugAssign)) for part in statement.body)
        before = {name: frame.names.get(name) for name in names}
        if not plain or not all(map(is_expression, before.values())):
            return False
        states, tests = [before], list[object]()
        while (test := self.evaluate(statement.test, frame)) is not False:
            if len(tests) == _MOST_ROUNDS or not isinstance(test, (bool, Size)):
                frame.names.update(before)
                return False
            self.block(frame, statement.body)
            states.append({name: frame.names.get(name) for name in names})
            tests.append(test)
        for name in names:
            value = states[-1][name]
            for test, state in zip(reversed(tests), reversed(states[:-1]), strict=True):
                if isinstance(test, Size):
                    value = size_of(ast.IfExp(tree_of(test), tree_of(value), tree_of(state[name])))
            frame.names[name] = value
        return True

    def _take_prepared(self, frame: Frame, statement: ast.Assign, read: str) -> None:
        """What is not read stands for the workload's own, where the code before the change sets it the same way."""
        for node in (n for target in statement.targets for n in ast.walk(target)):
            name = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""
            value = frame.names.get(name)
            key = name, read
            if isinstance(value, Tensor) and value.buffer.startswith("#") and value.dtype is None:
                self.untyped.setdefault(value.buffer, key)
                frame.names[name] = self.buffers[value.buffer] = replace(value, dtype=self.types.get(key))
            if not isinstance(value, Unknown) and not (isinstance(value, Tensor) and not value.buffer):
                continue
            if name in self.parameters:
                continue
            if self.invents and not self.handed and isinstance(value, Tensor) and value.shape is not None:
                self.bound[name] = self.buffers[name] = replace(value, name=name, buffer=name)
            if (self.learns or self.invents) and name in self.bound:
                self.prepared[key] = self.bound[name]
            if key in self.prepared and self.handed and not (self.learns or self.invents):
                self.stop(f"`{name}` is worked out by torch after a launch")
            if key in self.prepared:
                frame.names[name] = self.prepared[key]

    def _watch(self, frame: Frame, statement: ast.stmt) -> None:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name)) if isinstance(frame.names.get(name), Tensor):
                self.stop(f"torch changes `{name}`")
            case ast.Assign(targets=[*targets]):
                for target in targets:
                    of = target.value if isinstance(target, ast.Subscript) else None
                    if isinstance(of, ast.expr) and isinstance(self.evaluate(of, frame), Tensor):
                        self.stop(f"torch changes `{ast.unparse(of)}`")
            case ast.AugAssign(target=ast.Subscript(value=of)):
                if isinstance(self.evaluate(of, frame), Tensor):
                    self.stop(f"torch changes `{ast.unparse(of)}`")

    def evaluate(self, node: ast.expr, frame: Frame) -> object:
        """What an expression stands for, a tensor with the buffer that it lies in."""
        value = Reader.evaluate(self, node, frame)
        if not isinstance(value, Tensor):
            return value
        value = self.in_its_buffer(value, node, frame)
        if not value.buffer:
            self._note(node, frame)
        return value

    def _note(self, node: ast.expr, frame: Frame) -> None:
        """Note what torch works out of buffers that were launched with, or of what it has made of them."""
        named = (frame.names.get(n.id) for n in ast.walk(node) if isinstance(n, ast.Name))
        tensors = [t for t in named if isinstance(t, Tensor)]
        launched = {
            buffer_of(word) for step in self.done if isinstance(step, LaunchStep) for word in step.arguments
        }
        read = {t.buffer for t in tensors if t.buffer in launched}
        if read or (self.handed and not all(t.buffer for t in tensors)):
            self.worked_out[ast.unparse(node)] = None
            self.consumed |= read

    def in_its_buffer(self, value: Tensor, node: ast.expr, frame: Frame) -> Tensor:
        """A tensor with the buffer that it lies in, none where torch works it out."""
        match node:
            case ast.Name() | ast.IfExp() | ast.BoolOp() | ast.NamedExpr():
                return value
            case ast.Attribute(attr=attr) if attr in SAME or value is self.bound.get(value.buffer):
                return value
            case ast.Attribute(value=ast.Name(id=name)) if not isinstance(frame.names.get(name), Tensor):
                return value
            case ast.Subscript(value=of):
                is_name = isinstance(of, (ast.Name, ast.Attribute))
                held = Reader.evaluate(self, of, frame) if is_name else None
                return value if held is not None else replace(value, buffer="")
            case ast.Call(func=func):
                return self._of_call(value, func, frame)
        return replace(value, buffer="")

    def _of_call(self, value: Tensor, func: ast.expr, frame: Frame) -> Tensor:
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name in NEW and (not name.startswith(("full", "new_full")) or value.cleared):
            buffer = f"#{len(self.buffers)}"
            tensor = replace(value, buffer=buffer, name="")
            self.buffers[buffer] = tensor
            return tensor
        of = self._receiver(func, frame)
        if name in SAME or (isinstance(func, ast.Name) and self._is_own(func, frame)):
            return value
        if isinstance(func, ast.Attribute) and not isinstance(of, Tensor) and self._is_own(func, frame):
            return value
        if name in SAME_IF_PACKED and isinstance(of, Tensor):
            return value if of.strides in (None, strides_of(packed(of))) else replace(value, buffer="")
        if name in SAME_IF_TYPED and isinstance(of, Tensor):
            return value if of.dtype == value.dtype else replace(value, buffer="")
        return replace(value, buffer="")

    def _receiver(self, func: ast.expr, frame: Frame) -> object:
        """The tensor that a method is called of, by its name or as views of a named one; None for all others."""
        match func:
            case ast.Attribute(value=ast.Name(id=name)):
                return frame.names.get(name)
            case ast.Attribute(value=of) if _is_view(of):
                return self.evaluate(of, frame)
        return None

    def _is_own(self, func: ast.expr, frame: Frame) -> bool:
        """Whether a call is of a function of the repository, whose statements are read."""
        plain = func
        while isinstance(plain, ast.Attribute):
            plain = plain.value
        called = Reader.evaluate(self, func, frame) if isinstance(plain, ast.Name) else None
        if isinstance(called, Attribute):
            return isinstance(called.of, Class)
        return isinstance(called, (Function, Method, Class))

    def uses(self, name: str, of: object, args: list[object], named: Mapping[str, object]) -> None:
        """What a function that is not read is handed: one that may change a tensor is not passed over."""
        if isinstance(of, Tensor):
            if name in _READS and of.buffer:
                self.worked_out[f"{of.name}.{name}"] = None
                self.consumed.add(of.buffer)
            if name in ("zero_", "fill_") and (name == "zero_" or args[:1] == [0]):
                self.done.append(self._cleared(of))
            elif name.endswith("_") and not name.endswith("__") and name not in SAME:
                self.stop(f"torch changes a tensor by `{name}`")
            return
        if of is not None:
            return
        if name.startswith("torch.cuda.") and name.rpartition(".")[2] in _ORDERS:
            self.stop(f"`{name}` decides in which order launches run")
        over_size = name in _ROUNDS_OF and any(isinstance(value, Size) for value in args)
        if over_size and (name != "range" or not takes_rounds(self, args, _MOST_ROUNDS)):
            self.stop(f"`{name}` goes over a size")
        last = name.rpartition(".")[2]
        tensors = any(isinstance(value, Tensor) for value in (*args, *named.values()))
        changes = last.endswith("_") or "out" in named or named.get("inplace") is True or ".ops." in name
        if tensors and name not in _ASKS and (changes or not name.startswith(_PURE)):
            self.stop(f"`{name}` may change a tensor")

    def reach(self, node: ast.Call, frame: Frame, kernel: object) -> None:
        """Note a launch, and go on."""
        launched, sizes = self._kernel(kernel), dict(self.sizes)
        assert launched is not None and self.own is not None
        reading = Reading(node, frame, launched.name)
        passed, options = given_at(launched, self.own, reading)
        constexpr: dict[str, str] = {}
        operands: list[Operand] = []
        values: list[object] = []
        for parameter in launched.parameters:
            if parameter.name not in passed:
                self.stop(f"nothing gives `{parameter.name}` of `{launched.name}`")
            value = passed[parameter.name]
            if not parameter.constexpr and value is not None:
                values.append(value)
                operands.append(self._operand(value, f"`{parameter.name}` of `{launched.name}`"))
                continue
            text = constant_text(value)
            if text is None:
                self.stop(f"`{parameter.name}` of `{launched.name}`: {why_unknown(value)}")
            constexpr[parameter.name] = text
        grid = grid_of(reading, constexpr, passed)
        warps, stages = (
            option_of(options[name], name, reading) if name in options else getattr(LaunchSpec(()), name)
            for name in ("num_warps", "num_stages")
        )
        if not grid or reading.missing:
            self.stop("; ".join(reading.missing) or f"the grid of `{launched.name}`")
        for word in operands:
            self._clear_first(word)
        spec = LaunchSpec(grid, ("128",), "0", constexpr, warps, stages)
        self.done.append(LaunchStep(launched.name, spec, tuple(operands)))
        self.handed.append(tuple(values))
        self.sizes = sizes

    def _clear_first(self, word: Operand) -> None:
        """A buffer that is zero when it is made is cleared before the first launch that has it."""
        name = buffer_of(word)
        tensor = self.buffers.get(name)
        if tensor is not None and tensor.cleared:
            self.buffers[name] = replace(tensor, cleared=False)
            self.done.append(MemsetStep(name))

    def _operand(self, value: object, what: str) -> Operand:
        if isinstance(value, Tensor):
            return self._pointer(value, what)
        if isinstance(value, bool) or not is_expression(value):
            self.stop(f"{what}: {why_unknown(value)}")
        text = text_of(value)
        stride = self.strides.get((value.tensor, value.axis)) if isinstance(value, Stride) else None
        if stride is not None and self.sizes.get(stride) == value_at(value, self.sizes):
            return stride
        if text in self.scalars:
            return text
        number = value_at(value, self.sizes)
        if number is None:
            self.stop(f"{what}: nothing tells `{text}`")
        most = value_at(value, self.widest)
        if isinstance(number, float):
            return Value(text, "float32")
        is_wide = abs(number) >= _WIDEST or (most is not None and abs(most) >= _WIDEST)
        return Value(text, "int64" if is_wide else "int32")

    def _pointer(self, tensor: Tensor, what: str) -> str | Pointer:
        """A tensor by its buffer, and how far behind the buffer's start it begins."""
        buffer, behind = self.place(tensor, what)
        if behind == 0:
            return buffer
        dtype = self.buffers[buffer].dtype
        if dtype is None:
            self.stop(f"{what} is a part of a tensor")
        return Pointer(buffer, text_of(behind * dtype_bytes(dtype)))

    def place(self, tensor: Tensor, what: str) -> tuple[str, int | Size]:
        """The buffer in which a tensor lies, and the elements before it."""
        if not tensor.buffer:
            self.stop(f"{what} is worked out by torch")
        self.used.append(tensor)
        whole = self.buffers[tensor.buffer]
        lengths = [value_at(_length(t), self.sizes) for t in (whole, tensor)]
        if None in lengths:
            self.stop(f"{what}: nothing tells where it begins")
        if lengths[0] == lengths[1]:
            return tensor.buffer, 0
        if tensor.memory is None:
            self.stop(f"{what} is a part of a tensor")
        return tensor.buffer, _length(whole) - tensor.memory

    def _cleared(self, tensor: Tensor) -> MemsetStep:
        """A memset of a whole tensor."""
        name = self._pointer(tensor, "what is cleared")
        if not isinstance(name, str) or tensor.strides is not None:
            self.stop("a part of a tensor is cleared")
        return MemsetStep(name)


def _length(tensor: Tensor) -> int | Size:
    """Elements from a tensor's first one to the end of its memory."""
    return tensor.memory if tensor.memory is not None else product(tensor.shape or ())


def _is_view(node: ast.expr) -> bool:
    """Whether an expression takes views of something that has a name, which it does not change by being read again."""
    match node:
        case ast.Name():
            return True
        case ast.Call(func=ast.Attribute(value=of, attr=attr)):
            return attr in SAME | SAME_IF_PACKED | SAME_IF_TYPED and _is_view(of)
        case ast.Attribute(value=of, attr=attr):
            return attr in SAME and _is_view(of)
    return False


def _is_set(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)
