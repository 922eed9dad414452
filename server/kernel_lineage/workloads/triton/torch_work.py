"""What PyTorch works out of tensors for a host function of Triton kernels: formulas of elements, and reductions.

Shapes, types and strides are those that torch gives: an operand may be any view of its memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernel_gate.expressions import Number
from kernel_lineage.workloads.triton.tensor_shapes import wider
from kernel_lineage.workloads.triton.torch_formulas import KEPT, TO_BOOL
from kernel_lineage.workloads.triton.values import Size, Tensor, product, strides_of, text_of, value_at

_KINDS = {"bool": 0, "uint8": 1, "int8": 1, "int16": 1, "int32": 1, "int64": 1, "float16": 2, "bfloat16": 2,
          "float32": 2, "float64": 2}  # fmt: skip
"""Type → 0 for truth values, 1 for whole numbers, 2 for floats."""
Operand = Tensor | Size | int | float


class NotWorked(Exception):  # noqa: N818
    """Torch works out something that is not understood, as the message says."""


@dataclass(frozen=True, slots=True)
class Work:
    """One kernel of torch: what it makes of which."""

    name: str
    """The function of torch."""
    formula: str
    """What becomes of the operands at one place; "" for a reduction."""
    operands: tuple[Operand, ...]
    result: Tensor
    """Where it is written: all of a buffer, or a view of one."""
    computed: str
    """The type that it is computed in."""
    axes: tuple[int, ...] = ()
    """The axes of the operand that a reduction goes over."""
    picks: tuple[int | Size, int | Size] | None = None
    """The stride and the extent of the axis along which the first operand says where the second one's elements lie."""


class Host(Protocol):
    """Who reads the host function, and knows its memory."""

    sizes: dict[str, Number]
    any_sizes: Mapping[str, Number]
    """Sizes that nothing relates: what is the same at them is the same at all sizes."""

    def fresh(
        self, shape: tuple[int | Size, ...], dtype: str, strides: tuple[int | Size, ...] | None = None
    ) -> Tensor:
        """A tensor in memory of its own."""

    def does(self, work: Work) -> None:
        """Torch works something out here."""

    def holds(self, condition: str) -> None:
        """What is read holds where this condition over dims does."""


def computed_in(dtype: str | None) -> str:
    """The type that torch computes an element type in. Raises `NotWorked` for one without arithmetic here."""
    if dtype not in _KINDS:
        raise NotWorked(f"torch's work on {dtype or 'a tensor whose type nothing tells'}")
    return "int64" if _KINDS[dtype] < 2 else "float64" if dtype == "float64" else "float32"


def computed_with(*dtypes: str | None) -> str:
    """The type in which numbers of some types are all held. Raises `NotWorked`."""
    return max(map(computed_in, dtypes), key=("int64", "float32", "float64").index)


def is_float(dtype: str | None) -> bool:
    """Whether a type is one of floats."""
    return _KINDS.get(dtype or "", 0) == 2


class TorchWork:
    """Makes work of operations on tensors."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def elementwise(
        self,
        name: str,
        formula: str,
        operands: Sequence[Operand],
        dtype: str | None = None,
        into: Tensor | None = None,
        computed: str | None = None,
    ) -> Tensor:
        """What a formula gives, as `dtype`, by default the type that torch promotes the operands to.

        Written `into` a tensor, if there is one. Raises `NotWorked`.
        """
        tensors = [self.checked(o, name) for o in operands if isinstance(o, Tensor)]
        promoted = self.promoted(operands)
        computed = computed or computed_in(promoted)
        if into is None:
            shape = self._shape(tensors)
            into = self._host.fresh(shape, dtype or promoted, self.layout(tensors, shape))
        else:
            self.checked(into, name)
            self._check_into(into, tensors, name)
        if into.dtype == "bool" and name not in TO_BOOL:
            formula = f"({formula}) != 0"
        self._host.does(Work(name, formula, tuple(operands), into, computed))
        return into

    def copied(self, source: Operand, into: Tensor, name: str = "copy") -> Tensor:
        """The elements of a tensor, or a number, in another tensor. Raises `NotWorked`."""
        kinds = [source.dtype if isinstance(source, Tensor) else self.promoted([source, into]), into.dtype]
        return self.elementwise(name, KEPT, (source,), into=into, computed=computed_with(*kinds))

    def reduced(
        self, name: str, tensor: Tensor, axes: Sequence[int], keeps: bool, dtype: str | None = None
    ) -> Tensor:
        """A sum, a mean, a product or an extreme over some axes, () for all. Raises `NotWorked`."""
        shape = self.checked(tensor, name).shape or ()
        gone = tuple(sorted({axis % max(1, len(shape)) for axis in axes})) or tuple(range(len(shape)))
        left = tuple(
            1 if axis in gone else extent for axis, extent in enumerate(shape) if keeps or axis not in gone
        )
        if len(shape) - len(gone) > 1 and self.layout([tensor], shape) is not None:
            raise NotWorked(f"`{name}()` of a tensor whose axes lie in another order")
        dtype = dtype or tensor.dtype
        computed = computed_with(tensor.dtype, dtype)
        made = self._host.fresh(left, dtype or "", None)
        self._host.does(Work(name, "", (tensor,), made, computed, gone))
        return made

    def checked(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor of which all is told. Raises `NotWorked` for another."""
        if not tensor.buffer or tensor.shape is None:
            raise NotWorked(f"`{name}()` of a tensor that is not followed")
        computed_in(tensor.dtype)
        return tensor

    def promoted(self, operands: Sequence[Operand]) -> str:
        """The type that torch gives an operation on some: tensors come before ones of one element, and these before
        numbers, which count where they are of a higher kind. Raises `NotWorked`.
        """
        tensors = [o for o in operands if isinstance(o, Tensor)]
        groups: list[list[str | None]] = [
            [t.dtype for t in tensors if t.shape],
            [t.dtype for t in tensors if not t.shape],
            [self._number_type(o) for o in operands if not isinstance(o, Tensor)],
        ]
        best: str | None = None
        for group in groups:
            if {"uint8", "int8"} <= {*group}:
                raise NotWorked("torch's work on numbers with a sign and without one")
            dtype = wider(group) if group else None
            if dtype is not None and (best is None or _KINDS.get(dtype, 3) > _KINDS.get(best, 3)):
                best = dtype
        if best is None:
            raise NotWorked("torch's work on a tensor whose type nothing tells")
        return best

    def _number_type(self, number: Operand) -> str:
        value = value_at(number, self._host.sizes)
        return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"

    def same(self, one: int | Size, other: int | Size) -> None:
        """Two extents are one. Raises `NotWorked` where they are not."""
        generic = [value_at(extent, self._host.any_sizes) for extent in (one, other)]
        if text_of(one) == text_of(other) or (generic[0] is not None and generic[0] == generic[1]):
            return
        sizes = [value_at(extent, self._host.sizes) for extent in (one, other)]
        if None in sizes or sizes[0] != sizes[1]:
            raise NotWorked(f"torch's work on {text_of(one)} and {text_of(other)} elements")
        self._host.holds(f"{text_of(one)} == {text_of(other)}")

    def _shape(self, tensors: Sequence[Tensor]) -> tuple[int | Size, ...]:
        """The shape of what is combined; an extent that is 1 at all sizes stands for any other."""
        shapes = [t.shape or () for t in tensors]
        extents: list[int | Size] = []
        for axis in range(-max(map(len, shapes)), 0):
            wide = [s[axis] for s in shapes if len(s) >= -axis and s[axis] != 1]
            for other in wide[1:]:
                self.same(wide[0], other)
            extents.append(wide[0] if wide else 1)
        return tuple(extents)

    def _check_into(self, into: Tensor, tensors: Sequence[Tensor], name: str) -> None:
        """Raises `NotWorked` where operands do not fit what they are written to, or share its memory otherwise."""
        shape, steps = into.shape or (), strides_of(into)
        if any(text_of(step) == "0" and extent != 1 for step, extent in zip(steps, shape, strict=True)):
            raise NotWorked(f"`{name}()` into a tensor that is seen several times")
        for tensor in tensors:
            own = tensor.shape or ()
            if len(own) > len(shape):
                raise NotWorked(f"`{name}()` into a tensor of fewer axes")
            for axis in range(-len(own), 0):
                if own[axis] != 1:
                    self.same(own[axis], shape[axis])
            is_same = own == shape and steps == strides_of(tensor) and tensor.memory == into.memory
            if tensor.buffer == into.buffer and not is_same:
                raise NotWorked(f"`{name}()` of a tensor that overlaps what it is written to")

    def layout(
        self, tensors: Sequence[Tensor], shape: tuple[int | Size, ...]
    ) -> tuple[int | Size, ...] | None:
        """The strides that torch gives the result: axes lie in the order of the operands'; None for row-major."""
        if all(t.strides is None for t in tensors):
            return None
        sizes, steps = self._host.any_sizes, [broadcast_strides(t, shape) for t in tensors]
        numbers = [[value_at(s, sizes) for s in of] for of in steps]
        extents = [value_at(e, sizes) for e in shape]
        if None in (*extents, *(s for of in numbers for s in of)):
            raise NotWorked("torch's work on a tensor of which nothing tells how it lies in memory")
        order = _order([[s or 0 for s in of] for of in numbers], [e or 0 for e in extents])
        if order == sorted(order, reverse=True):
            return None
        strides: dict[int, int | Size] = {}
        for place, axis in enumerate(order):
            strides[axis] = product(shape[inner] for inner in order[:place])
        return tuple(strides[axis] for axis in range(len(shape)))


def any_sizes(names: Iterable[str]) -> dict[str, Number]:
    """A size for each dim, so that nothing relates them but what always does: multiples of 64 by different primes."""
    primes = (n for n in itertools.count(3, 2) if all(n % k for k in range(3, math.isqrt(n) + 1, 2)))
    return {name: 64 * prime for name, prime in zip(sorted(names), primes, strict=False)}


def broadcast_strides(tensor: Tensor, shape: Sequence[int | Size]) -> tuple[int | Size, ...]:
    """The strides of a tensor that is seen in a larger shape; an axis of 1 is seen again and again."""
    own, strides = tensor.shape or (), strides_of(tensor)
    more = len(shape) - len(own)
    return tuple(
        0 if axis < more or own[axis - more] == 1 else strides[axis - more] for axis in range(len(shape))
    )


def _order(strides: Sequence[Sequence[Number]], extents: Sequence[Number]) -> list[int]:
    """The axes from the fastest to the slowest, as torch sorts them: by the first operand that tells two apart."""
    order = list(reversed(range(len(extents))))

    def after(one: int, other: int) -> int:
        for steps in strides:
            if not steps[one] or not steps[other]:
                continue
            if steps[one] != steps[other]:
                return 1 if steps[one] > steps[other] else -1
            if extents[one] > extents[other]:
                return 1
        return 0

    for place in range(1, len(order)):
        at = place
        for before in reversed(range(place)):
            turn = after(order[before], order[at])
            if turn > 0:
                order[before], order[at], at = order[at], order[before], before
            elif turn < 0:
                break
    return order


def names_bound(
    signature: Sequence[str], args: Sequence[object], named: Mapping[str, object]
) -> dict[str, object] | None:
    """The arguments of a call by the names of a signature; None where it has others."""
    if len(args) > len(signature) or not named.keys() <= {*signature[len(args) :]}:
        return None
    return {**dict(zip(signature, args, strict=False)), **named}
