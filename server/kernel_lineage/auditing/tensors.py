"""Tensors without torch: values in float64 or whole numbers, rounded to their type where a program stores them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kernel_gate.dtypes import DTYPES

Array = npt.NDArray[Any]
_NAMES = {
    "float": "float32", "half": "float16", "double": "float64", "long": "int64", "int": "int32", "short": "int16",
}  # fmt: skip
_FLOATS = ("float64", "float32", "bfloat16", "float16")
"""From the one that others give way to."""
_WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")


class NotEvaluableError(Exception):
    """Something that cannot be worked out without torch; the message names it."""

    noted: ClassVar[list[str] | None] = None
    """What was said so far, in a process that runs foreign code: that may catch an error and go another way."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if NotEvaluableError.noted is not None:
            NotEvaluableError.noted.append(message)


class DTypeName(str):
    """`torch.float32` as a value: one object for each type, so that `x.dtype is torch.float32` holds."""

    __slots__ = ()
    _made: ClassVar[dict[str, DTypeName]] = {}

    def __new__(cls, name: str) -> DTypeName:
        """The type of this name."""
        return cls._made.setdefault(name, super().__new__(cls, name))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return DTYPES[self].itemsize

    @property
    def is_floating_point(self) -> bool:
        """Whether its elements are floats."""
        return DTYPES[self].is_float


class Shape(tuple[int, ...]):
    """The extents of a tensor."""

    __slots__ = ()

    def numel(self) -> int:
        """How many elements it has."""
        return math.prod(self)


@dataclass(eq=False, slots=True)
class Tensor:
    """Values and the type that they are stored as. Views share their values with what they are views of."""

    values: Array
    dtype: str
    changes: list[int] = field(default_factory=lambda: [0])
    """How often what it shares its memory with was changed in place: one counter for all views."""

    def __post_init__(self) -> None:
        self.dtype = DTypeName(self.dtype)

    @property
    def shape(self) -> Shape:
        """Its extents."""
        return Shape(self.values.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Its strides, in elements."""
        return tuple(stride // self.values.itemsize for stride in self.values.strides)

    def sharing(self, values: Array) -> Tensor:
        """A tensor of the same type that shares its memory: `values` is a view of the tensor's own."""
        return Tensor(values, self.dtype, self.changes)

    def memory(self) -> Array:
        """What lies between its first and its last element, shape `(span,)`: more than its values for a strided view.

        Raises `NotEvaluableError` for a view that runs backwards.
        """
        if self.values.flags.c_contiguous:
            return self.values.reshape(-1)
        return np.lib.stride_tricks.as_strided(
            self.values, (span(self.shape, self.strides),), (self.values.itemsize,)
        )


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements lie between the first and the last of a tensor, both included; strides in elements.

    Raises `NotEvaluableError` for a stride below 0.
    """
    if min(strides, default=0) < 0:
        raise NotEvaluableError("a view that runs backwards")
    return (
        1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
        if all(shape)
        else 0
    )


def dtype_of(name: str) -> str | None:
    """The gate's name of torch's type; None when it is no type."""
    name = _NAMES.get(name, name)
    return name if name in DTYPES else None


def stored(values: Array, dtype: str, *, exact: bool) -> Array:
    """Values as a tensor of this type holds them; floats stay in float64 where the arithmetic is exact."""
    kind = DTYPES[dtype]
    if not kind.is_float:
        return values.astype(np.bool_ if dtype == "bool" else kind.storage)
    wide = values.astype(np.float64)
    return wide if exact else np.asarray(kind.wide(kind.narrow(wide)))


def common_dtype(operands: Sequence[object], result: Array) -> str:
    """The type that torch's promotion gives to a result of these operands; Python's numbers give way to tensors."""
    if result.dtype == np.bool_:
        return "bool"
    types = [o.dtype for o in operands if isinstance(o, Tensor)]
    of_result = _FLOATS if result.dtype.kind == "f" else _WHOLE
    return next((t for t in of_result if t in types), "float32" if result.dtype.kind == "f" else "int64")
