"""The arguments of a Triton launch as a draft has them: buffers, numbers, and what is known when it is compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kernel_lineage.kernels.source import Parameter
from kernel_lineage.workloads.model import DESCRIPTOR, UNRANGED, UNSHAPED, UNTYPED, ZEROS, DraftArgument, View
from kernel_lineage.workloads.triton.objects import TENSOR_DESCRIPTOR, Instance
from kernel_lineage.workloads.triton.values import (
    Dtype,
    External,
    Open,
    Size,
    Stride,
    Tensor,
    Unknown,
    is_number,
    product,
    stride_of,
    strides_of,
    text_of,
    value_at,
)
from kernel_lineage.workloads.triton.ways import Reading

_INDEX_DTYPE = "int64"
_NUMBER = re.compile(r"(?<!integers\()\b\d+\b")
"""A number in the values of a buffer, but for the first of a range: no extent is that one."""
_CONSTANTS = re.compile(r"integers\(\d+, \d+\)")
_LONGEST = 480
"""Characters of an expression that a workload takes."""

Defaults = Mapping[str, tuple[float, str]]
"""Name → the number that functions of the repository have for a parameter of this name, and where."""


Tensors = Mapping[str, Tensor | None]
"""Pointer parameter → what it is given."""


def why_unknown(value: object) -> str:
    """Why a value cannot stand in a workload."""
    match value:
        case Unknown(why=why):
            return f"nothing tells {why}"
        case Open(name=name) | External(name=name):
            return f"nothing tells {name}"
        case Instance(of=of) if of == TENSOR_DESCRIPTOR:
            return DESCRIPTOR
        case None | str():
            return f"it is {value!r}, which a workload cannot give"
        case Size(text=text) if len(text) > _LONGEST:
            return "its expression over the dims is too long for a workload"
    return "it is no number"


def is_expression(value: object) -> bool:
    """Whether a value can be written into a workload as a number."""
    return is_number(value) and (not isinstance(value, Size) or 0 < len(value.text) <= _LONGEST)


def constant(
    parameter: Parameter, value: object, tensors: Tensors, defaults: Defaults, reading: Reading
) -> str | None:
    """What a parameter is when the kernel is compiled: a number, None, a text or a dtype; None with what is missing."""
    value = _with_default(_stride(value, tensors), defaults, reading)
    text = constant_text(value)
    if text is None:
        reading.missing.append(f"the constexpr {parameter.name}: {why_unknown(value)}")
    return text


def constant_text(value: object) -> str | None:
    """A value as a workload writes it that is known when the kernel is compiled; None for others."""
    if is_expression(value):
        return text_of(value)
    if value is None or isinstance(value, str):
        return repr(value)
    return f"tl.{value.name}" if isinstance(value, Dtype) else None


def buffer(
    name: str, tensor: Tensor | None, value: object, role: str, indices: bool, reading: Reading
) -> DraftArgument:
    """A pointer by its parameter's name; `indices` says that the kernel computes addresses with its elements."""
    dtype = tensor.dtype if tensor is not None else None
    if tensor is not None and indices and dtype == reading.taken.floats:
        dtype = _of_index(tensor.name, reading)
    if dtype is None:
        dtype = _INDEX_DTYPE if indices else reading.taken.floats
        reading.said.append(f"{UNTYPED}{name}; {dtype} is assumed")
    if tensor is None:
        reading.missing.append(f"{UNSHAPED}{name}: {why_unknown(value)}")
        return DraftArgument(name, role, dtype)
    if tensor.shape is None:
        reading.unshaped.add(tensor.name)
        reading.missing.append(
            f"{UNSHAPED}{name}: no test of the repository gives it, nor does the kernel alone"
        )
        if role == "input" and not dtype.startswith(("float", "bfloat")):
            reading.missing.append(f"{UNRANGED}{name}")
        return DraftArgument(name, role, dtype)
    values = tensor.values if role != "output" and _fits(tensor.values, dtype) else ""
    if values.startswith("listed("):
        values = _listed(values, reading)
    elif dtype == "bool":
        values = values if _CONSTANTS.fullmatch(values) else "integers(0, 2)" if role != "output" else ""
    else:
        # A test that says how large a shape is by number says so of its indices too.
        values = _NUMBER.sub(lambda m: text_of(reading.reader.example_of(int(m[0]))), values)
    exact = not dtype.startswith(("float", "bfloat"))
    if role == "input" and exact and not values:
        reading.missing.append(f"{UNRANGED}{name}")
    if role == "inout" and tensor.cleared:
        values = ZEROS
        reading.said.append(f"{name} is cleared before the launch")
    elif role == "inout" and exact and not values:
        values = ZEROS
        reading.said.append(f"{name} is taken to be zero before")
    view = None
    if tensor.memory is not None or tensor.strides is not None:
        view = View(tuple(map(text_of, tensor.shape)), tuple(map(text_of, strides_of(tensor))))
    return DraftArgument(name, role, dtype, _extents(tensor), values, view=view)


def _of_index(tensor: str, reading: Reading) -> str:
    """The dtype of a tensor whose elements make addresses: where that of floats was a guess, it is one of indices."""
    guess, better = (
        f"{UNTYPED}{tensor}; {dtype} is assumed" for dtype in (reading.taken.floats, _INDEX_DTYPE)
    )
    if guess in reading.said:
        reading.said[reading.said.index(guess)] = better
    return _INDEX_DTYPE if better in reading.said else reading.taken.floats


def _listed(values: str, reading: Reading) -> str:
    """Numbers that a test writes out, so that they hold at other sizes than the test's too.

    Numbers up to a dim's size, as offsets are, are parts of that dim; those below one, as indices are, are any below
    it. Others hold at the test's sizes alone.
    """
    numbers = [n.strip() for n in values.removeprefix("listed(").removesuffix(")").split(",")]
    if not all(n.isdigit() for n in numbers):
        # One below 0, as of a place that is left out, is no part of a size.
        reading.fixed |= any(n.startswith("-") and n[1:].isdigit() for n in numbers)
        return values
    whole = [int(n) for n in numbers]
    most, sizes = max(whole), reading.reader.sizes
    if most == min(whole):
        return f"integers({most}, {most + 1})"
    dim = next((name for name, size in sizes.items() if size == most), None)
    if dim is not None:
        return f"listed({', '.join(_part(n, most, dim) for n in whole)})"
    dim = next((name for name, size in sizes.items() if size == most + 1), None)
    if dim is not None and whole != sorted(whole):
        return f"integers(0, {dim})"
    reading.fixed = True
    return values


def _part(number: int, whole: int, dim: str) -> str:
    return "0" if number == 0 else dim if number == whole else f"{dim} * {number} // {whole}"


def _fits(values: str, dtype: str) -> bool:
    exact = not dtype.startswith(("float", "bfloat"))
    of_integers = values.startswith(("integers(", "ascending(", "listed(", "permutation(", "steps("))
    return of_integers if exact else not of_integers


def _extents(tensor: Tensor) -> tuple[str, ...]:
    shape = tensor.shape or ()
    if tensor.strides is not None:
        return (text_of(tensor.memory if tensor.memory is not None else product(shape)),)
    return tuple(text_of(e) for e in shape) or ("1",)


def scalar(
    parameter: Parameter,
    value: object,
    tensors: Tensors,
    defaults: Defaults,
    reading: Reading,
) -> DraftArgument:
    """A number."""
    name = parameter.name
    value = _with_default(_stride(value, tensors), defaults, reading)
    if not is_expression(value):
        reading.missing.append(f"the value of {name}: {why_unknown(value)}")
        return DraftArgument(name, "scalar", "int32")
    number = value_at(value, reading.reader.sizes)
    if number is None:
        reading.missing.append(f"the value of {name}: nothing tells the sizes in `{text_of(value)}`")
    dtype = "float32" if isinstance(number, float) else "int32"
    if isinstance(number, int) and abs(number) >= 1 << 31:
        dtype = "int64"
    return DraftArgument(name, "scalar", dtype, value=text_of(value))


def _stride(value: object, tensors: Tensors) -> object:
    """A stride of a tensor whose shape was not known where it was asked for."""
    if not isinstance(value, Stride) or value.text:
        return value
    tensor = next((t for t in tensors.values() if t is not None and t.name == value.tensor and t.shape), None)
    return stride_of(tensor, value.axis) if tensor is not None else Unknown(f"the shape of {value.tensor}")


def _with_default(value: object, defaults: Defaults, reading: Reading) -> object:
    """A number that no caller gives, as functions of the repository have it for a parameter of this name."""
    if isinstance(value, (Open, External)):
        asked = value.name.rpartition(".")[2]
    elif isinstance(value, Unknown) and re.fullmatch(r"`?(\w+\.)*\w+`?", value.why):
        asked = value.why.strip("`").rpartition(".")[2]
    else:
        return value
    number, where = defaults.get(asked, (None, ""))
    if number is None:
        return value
    reading.said.append(f"{asked} is {number}, its default in {where}")
    return number


def as_tensor(value: object, reading: Reading) -> Tensor | None:
    """What a launch gives as a tensor, with the numbers of a test as dims; None for what is none."""
    if isinstance(value, Open):
        return reading.reader.tensor_of(value.name, False) or Tensor(value.name, None)
    if isinstance(value, Tensor) and value.shape is not None:
        return replace(value, shape=tuple(reading.reader.example_of(e) for e in value.shape))
    return value if isinstance(value, Tensor) else None
