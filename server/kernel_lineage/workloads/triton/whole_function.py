"""A host function of Triton kernels read with all that PyTorch works out in it, as kernels that do the same.

Each operation is done where Python comes to it, once; what is read aside, and not done, leaves nothing behind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_gate.expressions import Number
from kernel_gate.program import Operand as Word
from kernel_gate.program import Value
from kernel_lineage.workloads.host_program import OfTorch
from kernel_lineage.workloads.triton.collector import NEW, SAME, SAME_IF_PACKED, SAME_IF_TYPED, Collector
from kernel_lineage.workloads.triton.guards import promised
from kernel_lineage.workloads.triton.objects import Frame
from kernel_lineage.workloads.triton.parts import SPLITS, within
from kernel_lineage.workloads.triton.tensor_shapes import indexed
from kernel_lineage.workloads.triton.torch_formulas import KEPT
from kernel_lineage.workloads.triton.torch_operations import IN_PLACE, TorchOperations
from kernel_lineage.workloads.triton.torch_places import reshaped_strides
from kernel_lineage.workloads.triton.torch_steps import TorchSteps, needed
from kernel_lineage.workloads.triton.torch_work import NotWorked, Work, any_sizes, computed_with
from kernel_lineage.workloads.triton.values import (
    Size,
    Tensor,
    argument,
    is_number,
    product,
    strides_of,
    text_of,
    value_at,
)

_FILLED = frozenset({"ones", "ones_like", "new_ones"})
_PARTS = frozenset({*SPLITS, "unbind"})
"""What gives several views of a tensor."""
_MADE = re.compile(r"#\d+")


@dataclass(slots=True)
class WholeFunction(Collector):
    """Reads a function at one shape, and collects what it and torch do."""

    any_sizes: Mapping[str, Number] = field(default_factory=dict)
    """Sizes of the same dims that nothing relates."""
    gave: object = None
    """What torch gave last: a tensor whose memory is followed."""
    torch: TorchSteps = field(init=False)
    operations: TorchOperations = field(init=False)

    def __post_init__(self) -> None:
        self.any_sizes = any_sizes(self.sizes)
        self.torch = TorchSteps(self.place, self._passed, self.fresh)
        self.operations = TorchOperations(self)

    @property
    def torch_kernels(self) -> OfTorch:
        """The kernels that do what torch works out."""
        return self.torch.made(self.done)

    def fresh(
        self, shape: tuple[int | Size, ...], dtype: str, strides: tuple[int | Size, ...] | None = None
    ) -> Tensor:
        """A tensor in memory of its own."""
        buffer = f"#{len(self.buffers)}"
        self.buffers[buffer] = Tensor("", shape, dtype, strides=strides, buffer=buffer)
        return self.buffers[buffer]

    def does(self, work: Work) -> None:
        """Torch works something out here. Raises `NotWorked` where an operand is another type than its memory."""
        for tensor in (work.result, *work.operands):
            if isinstance(tensor, Tensor) and tensor.dtype != self.buffers[tensor.buffer].dtype:
                raise NotWorked(f"`{work.name}()` of a tensor that is seen in another type")
        for step in self.torch.steps(work):
            for word in step.arguments:
                self._clear_first(word)
            self.done.append(step)

    def holds(self, condition: str) -> None:
        """What is read holds where this condition over dims does."""
        if condition not in self.promises:
            self.promises.append(condition)

    def _passed(self, number: Size, dtype: str) -> Word:
        return number.text if number.text in self.scalars else Value(number.text, dtype)

    def tried(self, node: ast.expr, frame: Frame) -> object:
        """What an expression would stand for; nothing of it is done."""
        before = list(self.done), list(self.handed), dict(self.worked_out), set(self.consumed)
        value = self.evaluate(node, frame)
        self.done[:], self.handed[:], self.worked_out, self.consumed = before
        return value

    def of_torch(
        self, name: str, args: Sequence[object], named: Mapping[str, object], value: object
    ) -> object:
        """What torch gives, in memory that is followed where that is understood."""
        parts = (p for a in (*args, *named.values()) for p in (a if isinstance(a, (tuple, list)) else (a,)))
        if isinstance(value, Tensor) or any(isinstance(part, Tensor) for part in parts):
            self.gave = self._followed(name, args, named, value)
            return self.gave
        return value

    def _followed(
        self, name: str, args: Sequence[object], named: Mapping[str, object], value: object
    ) -> object:
        last, first = name.rpartition(".")[2], args[0] if args else named.get("input")
        made: object = None
        try:
            if last in NEW | _FILLED and isinstance(value, Tensor):
                made = self._new(last, args, named, value)
            elif isinstance(first, Tensor) and (last in SAME | _PARTS or last in SAME_IF_PACKED):
                made = self._seen(last, first, args[1:], value)
            elif isinstance(first, Tensor) and last in SAME_IF_TYPED and isinstance(value, Tensor):
                made = self._typed(first, args[1:], named, value)
            elif last in ("zero_", "fill_") and isinstance(first, Tensor) and self._clears(last, args):
                self.done.append(self._cleared(first))
                made = first
            else:
                made = self.operations.gives(name, args, named)
        except NotWorked as why:
            if last.endswith("_"):
                self.stop(str(why))
        if made is None and last.endswith("_") and not last.endswith("__"):
            self.stop(f"torch changes a tensor by `{last}`")
        if isinstance(made, Tensor) and isinstance(value, Tensor) and last not in _PARTS:
            shapes = [[value_at(e, self.sizes) for e in t.shape or ()] for t in (made, value)]
            if value.shape is not None and shapes[0] != shapes[1]:
                self.stop(f"the shape of what `{last}` gives")
        return made if made is not None else _not_followed(value)

    def _clears(self, name: str, args: Sequence[object]) -> bool:
        """Whether a method makes all of a buffer zero."""
        tensor = args[0]
        assert isinstance(tensor, Tensor)
        whole = self.buffers.get(tensor.buffer)
        is_zero = name == "zero_" or (len(args) == 2 and args[1] == 0)
        return is_zero and whole is not None and tensor.strides is None and tensor.shape == whole.shape

    def _new(
        self, name: str, args: Sequence[object], named: Mapping[str, object], value: Tensor
    ) -> Tensor | None:
        """Memory that holds nothing, or one number."""
        layout = str(named.get("memory_format", ""))
        if value.shape is None or value.dtype is None or "channels_last" in layout:
            return None
        like = args[0] if name.endswith("_like") and args and isinstance(args[0], Tensor) else None
        strides = None
        if like is not None and "contiguous_format" not in layout:
            strides = self.operations.layout([like], value.shape)
        tensor = replace(self.fresh(value.shape, value.dtype, strides), cleared=value.cleared)
        self.buffers[tensor.buffer] = tensor
        if name in _FILLED:
            return self.operations.copied(1, tensor, "fill")
        if "full" in name and not value.cleared:
            number = argument(args, named, 2 if name == "new_full" else 1, "fill_value")
            if not is_number(number):
                return None
            return self.operations.copied(number, tensor, "fill")
        return tensor

    def _seen(self, name: str, first: Tensor, args: Sequence[object], value: object) -> object:
        """A view of a tensor; where torch can only copy it, the copy."""
        if name in SAME or name in _PARTS:
            return value
        if not isinstance(value, Tensor) or value.shape is None or not first.buffer:
            return None
        if name == "contiguous":
            strides = strides_of(replace(first, strides=None))
            if self._are_same(strides_of(first), strides, first):
                return replace(first, strides=None)
            return self.operations.gives(name, [first], {})
        if name == "view" and args and value.shape == first.shape and value.dtype != first.dtype:
            return None
        counts = [product(t.shape or ()) for t in (value, first)]
        if value_at(counts[0], self.sizes) != value_at(counts[1], self.sizes):
            raise NotWorked(f"`{name}()` to another number of elements")
        promised(self, " == ".join(map(text_of, counts)))
        if first.strides is None:
            return replace(value, strides=None, memory=first.memory)
        seen = reshaped_strides(first, value.shape, self.any_sizes)
        if seen is None:
            packed = self.operations.gives("contiguous", [first], {})
            assert packed is not None
            return replace(packed, shape=value.shape)
        memory = first.memory if first.memory is not None else product(first.shape or ())
        flat = replace(value, strides=None, memory=None)
        is_plain = self._are_same(seen, strides_of(flat), flat)
        return replace(value, strides=None if is_plain else seen, memory=memory)

    def _are_same(self, one: Sequence[int | Size], other: Sequence[int | Size], tensor: Tensor) -> bool:
        """Whether a tensor's strides are the others, where its axes have more than one element."""
        extents = [value_at(e, self.any_sizes) for e in tensor.shape or ()]
        numbers = [[value_at(s, self.any_sizes) for s in of] for of in (one, other)]
        return all(e == 1 or a == b for e, a, b in zip(extents, *numbers, strict=True))

    def _typed(
        self, first: Tensor, args: Sequence[object], named: Mapping[str, object], value: Tensor
    ) -> Tensor | None:
        """A tensor in another type, or itself."""
        like = next((a for a in args if isinstance(a, Tensor)), None)
        dtype = like.dtype if like is not None else value.dtype
        if dtype is None or first.dtype is None or "memory_format" in named:
            return None
        if dtype == first.dtype and named.get("copy") is not True:
            return first
        return self.operations.elementwise(
            "to", KEPT, (first,), dtype, computed=computed_with(first.dtype, dtype)
        )

    def stores(self, tensor: Tensor, at: object, value: object) -> None:
        """Elements of a tensor are set."""
        view = indexed(tensor, within(self, tensor, at if isinstance(at, tuple) else (at,)))
        if not isinstance(view, Tensor) or not view.buffer:
            self.stop(f"torch changes `{tensor.name or 'a tensor'}`")
        is_itself = isinstance(value, Tensor) and replace(value, name=view.name, values=view.values) == view
        if is_itself:
            return
        try:
            self.gave = self.operations.gives("copy_", [view, value], {})
        except NotWorked as why:
            self.stop(str(why))
        if self.gave is None:
            self.stop(f"torch changes `{tensor.name or 'a tensor'}`")

    def uses(self, name: str, of: object, args: list[object], named: Mapping[str, object]) -> None:
        """What a function that is not read is handed: work that is understood is done by `of_torch`."""
        if isinstance(of, Tensor) and name in IN_PLACE:
            return
        if of is None and isinstance(named.get("out"), Tensor) and named.get("inplace") is not True:
            named = {n: v for n, v in named.items() if n != "out"}
        Collector.uses(self, name, of, args, named)

    def _watch(self, _frame: Frame, _statement: ast.stmt) -> None:
        """Torch may change tensors: `of_torch` and `stores` say where that is not understood."""

    def reads(self, frame: Frame, statement: ast.Assign) -> str:
        """What a statement makes of what: the tensors that it reads by how they came about."""
        names = {n.id: frame.names.get(n.id) for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        tensors = {n: v for n, v in sorted(names.items()) if isinstance(v, Tensor)}
        read = Collector.reads(self, frame, statement)
        return "; ".join([read, *(f"{n}: {self._origin(t)}" for n, t in tensors.items())])

    def _origin(self, tensor: Tensor) -> str:
        if not tensor.buffer.startswith("#"):
            return f"{tensor.buffer} {tensor.strides}"
        made = self.torch.made(self.done).kernels
        steps = needed(self.done, made, {tensor.buffer})
        texts = [made.get(getattr(step, "entry", ""), "") for step in steps]
        places: dict[str, str] = {}
        return _MADE.sub(
            lambda m: places.setdefault(m[0], f"#{len(places)}"),
            f"{steps} {texts} {tensor.buffer} {tensor.strides}",
        )

    def in_its_buffer(self, value: Tensor, node: ast.expr, frame: Frame) -> Tensor:
        if value is self.gave or isinstance(node, ast.Subscript):
            return value
        return Collector.in_its_buffer(self, value, node, frame)


def _not_followed(value: object) -> object:
    """A value with tensors in memory that nobody follows."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_not_followed, value))
    return replace(value, buffer="") if isinstance(value, Tensor) else value
