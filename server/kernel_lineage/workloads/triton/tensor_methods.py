"""What a tensor's attributes and methods give, as far as shapes, dtypes and sizes go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.workloads.model import ZEROS
from kernel_lineage.workloads.triton.dtypes import ALIASES
from kernel_lineage.workloads.triton.elements import element_of, elements_of
from kernel_lineage.workloads.triton.tensor_shapes import (
    expanded,
    narrowed,
    permuted,
    rows_of,
    with_axis,
    without,
)
from kernel_lineage.workloads.triton.torch_made import made
from kernel_lineage.workloads.triton.values import (
    Dtype,
    External,
    Size,
    Tensor,
    Unknown,
    argument,
    packed,
    product,
    reshaped,
    stride_of,
    strides_of,
)

GRADIENT = "grad"
_ITSELF = frozenset(
    {"cpu", "cuda", "detach", "detach_", "pin_memory", "requires_grad_", "retain_grad", "share_memory_", "data_ptr",
     "npu", "xpu", "add_", "mul_", "div_", "sub_", "clamp_", "copy_", "masked_fill_", "neg_", "scatter_", "index_add_"}
)  # fmt: skip
DRAWN = {
    "fill_": "",
    "normal_": "",
    "zero_": "",
    "uniform_": "uniform(0, 1)",
    "exponential_": "positive",
    "log_normal_": "positive",
}
_PACKED = frozenset({"clone", "contiguous"})
_VIEWS = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "t", "expand",
                    "expand_as", "view_as", "reshape_as", "select", "narrow", "chunk", "split", "unbind", "movedim",
                    "swapaxes", "repeat", "repeat_interleave", "unflatten", "ravel", "reinterpret"})  # fmt: skip


def attribute(tensor: Tensor, name: str) -> object:
    """`x.shape` and the like; `Unknown` for what is not known of a tensor."""
    match name:
        case "shape" if tensor.shape is not None:
            return tensor.shape
        case "ndim" if tensor.shape is not None:
            return len(tensor.shape)
        case "dtype":
            return Dtype(tensor.dtype) if tensor.dtype else Unknown(f"the dtype of {tensor.name}")
        case "device":
            return External("device")
        case "is_cuda":
            return True
        case "is_sparse" | "is_quantized":
            return False
        case "requires_grad":
            return True
        case "itemsize" if tensor.dtype:
            return dtype_bytes(tensor.dtype)
        case "data":
            return tensor
        case "grad":
            return replace(packed(tensor), name="")
        case "T" | "mT" | "H" if tensor.shape is not None and len(tensor.shape) >= 2:
            rank = len(tensor.shape)
            return permuted(tensor, [*range(rank - 2), rank - 1, rank - 2])
    return Unknown(f"`{tensor.name or 'tensor'}.{name}`")


def gradient_name(name: str) -> str:
    """How a workload calls the gradient of a tensor."""
    return f"{name}_{GRADIENT}"


def method(tensor: Tensor, name: str, args: Sequence[object], named: Mapping[str, object]) -> object:
    """What a method gives; `Unknown` where it depends on elements, `MISSING` for those that are not known here."""
    floats = "float" in (tensor.dtype or "float")
    if "channels_last" in str(named.get("memory_format", "")):
        return Unknown(f"`{name}()` with the channels last")
    if name in _ITSELF:
        return tensor
    if name in DRAWN:
        cleared = replace(tensor, cleared=name == "zero_", values=ZEROS if name == "zero_" else "")
        return replace(cleared, values=DRAWN[name]) if floats else cleared
    if name in _PACKED:
        return packed(tensor)
    if name in ("to", "type", "type_as"):
        return _converted(tensor, args, named)
    if name in ALIASES or name == "bfloat16":
        return _as_dtype(tensor, ALIASES.get(name, name))
    if name == "stride" and len(args) == 1 and isinstance(args[0], int):
        return stride_of(tensor, args[0])
    if name == "is_contiguous":
        return tensor.strides is None or tensor.strides == strides_of(packed(tensor))
    if name in ("is_floating_point", "is_complex"):
        return name == "is_floating_point" and floats
    if name == "element_size" and tensor.dtype:
        return dtype_bytes(tensor.dtype)
    if name == "get_device" or (name == "storage_offset" and tensor.memory is None):
        return 0
    listed = args[0] if args and isinstance(args[0], (tuple, list)) else args
    if tensor.shape is None and name in ("view", "reshape") and -1 not in listed:
        tensor = replace(tensor, shape=())
    shape = tensor.shape
    if shape is None:
        return Unknown(f"the shape of {tensor.name}")
    match name:
        case "size":
            axis = argument(args, named, 0, "dim")
            if axis is None:
                return shape
            return (
                shape[axis]
                if isinstance(axis, int) and -len(shape) <= axis < len(shape)
                else Unknown("an axis")
            )
        case "numel" | "nelement":
            return product(shape)
        case "dim" | "ndimension":
            return len(shape)
        case "stride" if not args:
            return strides_of(tensor)
        case "new_empty" | "new_zeros" | "new_ones" | "new_full":
            outcome = made(name.removeprefix("new_"), args, named)
            is_own = isinstance(outcome, Tensor) and "dtype" not in named
            return replace(outcome, dtype=tensor.dtype) if is_own else outcome  # type: ignore[type-var]
        case "item":
            one = element_of(tensor)
            return one if one is not None else Unknown("an element")
        case "tolist":
            held = elements_of(tensor)
            return held if held is not None and len(shape) == 1 else Unknown("the elements")
        case "backward":
            return None
    return _view(tensor, name, args, listed, named) if name in _VIEWS else MISSING


MISSING = Unknown("a method")
"""For a method that is looked up among torch's functions next."""


def _converted(tensor: Tensor, args: Sequence[object], named: Mapping[str, object]) -> Tensor:
    dtype = next((g.name for g in (*args, *named.values()) if isinstance(g, Dtype)), None)
    other = next((g for g in args if isinstance(g, Tensor)), None)
    return _as_dtype(tensor, dtype or (other.dtype if other is not None else tensor.dtype))


def _as_dtype(tensor: Tensor, dtype: str | None) -> Tensor:
    if dtype == tensor.dtype:
        return tensor
    return replace(packed(tensor) if tensor.memory is not None else tensor, dtype=dtype)


def _axis(value: object, rank: int) -> int | None:
    return value % rank if type(value) is int and rank and -rank <= value < rank else None


def _view(
    tensor: Tensor, name: str, args: Sequence[object], listed: Sequence[object], named: Mapping[str, object]
) -> object:
    shape = tensor.shape or ()
    first = argument(args, named, 0, "dim", "dim0")
    second = argument(args, named, 1, "dim1", "index")
    axis = _axis(first, len(shape))

    def shaped(*extents: int | Size) -> Tensor:
        return replace(packed(tensor), shape=extents)

    match name:
        case "view" | "reinterpret" if isinstance(first, Dtype):
            return replace(tensor, dtype=first.name)
        case "view" | "reshape":
            target = reshaped(shape, listed)
            return target if isinstance(target, Unknown) else tensor if target == shape else shaped(*target)
        case "expand_as" if isinstance(first, Tensor) and first.shape is not None:
            return expanded(tensor, first.shape)
        case "view_as" | "reshape_as" if isinstance(first, Tensor):
            return replace(packed(tensor), shape=first.shape)
        case "flatten" | "ravel":
            ends = [a % len(shape) for a in (first, second) if type(a) is int and shape]
            start, stop = (*ends, *(0, len(shape) - 1)[len(ends) :])
            return shaped(*shape[:start], product(shape[start : stop + 1]), *shape[stop + 1 :])
        case "unflatten" if axis is not None:
            sizes = argument(args, named, 1, "sizes")
            inner = reshaped([shape[axis]], sizes if isinstance(sizes, (tuple, list)) else ())
            return inner if isinstance(inner, Unknown) else shaped(*shape[:axis], *inner, *shape[axis + 1 :])
        case "squeeze" if axis is not None:
            return without(tensor, axis) if shape[axis] == 1 else tensor
        case "squeeze" if first is None:
            for at in reversed([at for at, extent in enumerate(shape) if extent == 1]):
                tensor = without(tensor, at)
            return tensor
        case "unsqueeze" if type(first) is int:
            return with_axis(tensor, first)
        case "transpose" | "swapaxes" | "movedim" if axis is not None:
            other = _axis(second, len(shape))
            if other is None:
                return Unknown("the order of the axes")
            order = list(range(len(shape)))
            if name == "movedim":
                order.insert(other, order.pop(axis))
            else:
                order[axis], order[other] = order[other], order[axis]
            return permuted(tensor, order)
        case "t" if len(shape) == 2:
            return permuted(tensor, (1, 0))
        case "permute":
            return permuted(tensor, listed or list(named.get("dims") or ()))  # type: ignore[call-overload]
        case "expand":
            return expanded(tensor, listed)
        case "select" if axis is not None and isinstance(second, (int, Size)):
            place = shape[axis] + second if isinstance(second, int) and second < 0 else second
            return without(narrowed(tensor, axis, place, 1), axis)
        case "narrow" if (
            axis is not None and len(args) == 3 and all(isinstance(g, (int, Size)) for g in args[1:])
        ):
            return narrowed(tensor, axis, args[1], args[2])  # type: ignore[arg-type]
        case "split":
            return _parts(tensor, first, argument(args, named, 1, "dim", default=0))
        case "unbind":
            return rows_of(tensor, axis or 0) or Unknown("unbind")
        case "repeat":
            return _repeated(tensor, listed)
        case "repeat_interleave":
            along = _axis(argument(args, named, 1, "dim"), len(shape))
            if along is not None and isinstance(first, (int, Size)):
                return shaped(*shape[:along], shape[along] * first, *shape[along + 1 :])
    return Unknown(f"`{tensor.name or 'tensor'}.{name}(…)`")


def _repeated(tensor: Tensor, listed: Sequence[object]) -> object:
    shape = tensor.shape or ()
    times = [t for t in listed if isinstance(t, (int, Size))]
    if len(times) != len(listed) or len(times) < len(shape):
        return Unknown("how often it is repeated")
    own = (1,) * (len(times) - len(shape)) + shape
    return replace(packed(tensor), shape=tuple(a * b for a, b in zip(own, times, strict=True)))


def _parts(tensor: Tensor, sizes: object, dim: object) -> object:
    """The parts of some extents."""
    axis = _axis(dim, len(tensor.shape or ()))
    whole = [s for s in sizes if isinstance(s, (int, Size))] if isinstance(sizes, (tuple, list)) else []
    if axis is None or not isinstance(sizes, (tuple, list)) or len(whole) < len(sizes):
        return Unknown(f"`{tensor.name or 'tensor'}.split(…)`")
    starts: list[int | Size] = list(accumulate(whole, initial=0))
    return tuple(narrowed(tensor, axis, start, size) for start, size in zip(starts, whole, strict=False))
