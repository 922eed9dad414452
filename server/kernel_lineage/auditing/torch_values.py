"""What `torch.…` and a tensor's methods give, over NumPy."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kernel_gate.dtypes import DTYPES
from kernel_lineage.auditing.operations import OPERATIONS, whole_sizes
from kernel_lineage.auditing.tensors import (
    DTypeName,
    NotEvaluableError,
    Tensor,
    common_dtype,
    dtype_of,
    stored,
)

_SAME = frozenset({"contiguous", "cuda", "detach", "clone", "requires_grad_", "eval", "cpu", "pin_memory"})
_NEW = {"zeros": 0.0, "ones": 1.0, "empty": math.nan}


MOST_ELEMENTS = 1 << 17
"""The most of one tensor: what the emulated device runs in seconds."""


class TooLargeError(NotEvaluableError):
    """A tensor is larger than the emulated device takes."""


class Ranked(NamedTuple):
    """What `max`, `sort` and `topk` along an axis give."""

    values: Tensor
    indices: Tensor


@dataclass
class Layer:
    """A module of `torch.nn`: its parameters, and what it does to a tensor."""

    call: Callable[..., Any]
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass
class Torch:
    """Tensors of one run: `exact` keeps floats in float64, else each result is rounded to its type."""

    rng: np.random.Generator
    exact: bool
    most: int = MOST_ELEMENTS
    """The most elements of a tensor that is made."""

    def tensor(self, values: Any, dtype: str = "float32") -> Tensor:
        """A tensor of these values."""
        return Tensor(stored(np.asarray(values), dtype, exact=self.exact), dtype)

    def operate(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An operator of the table, on tensors. Raises `NotEvaluableError`."""
        operands = [*_flat(args), *_flat(kwargs.values())]
        if name not in OPERATIONS:
            raise NotEvaluableError(f"torch.{name}, which needs torch")
        try:
            made = OPERATIONS[name](*map(_bare, args), **{k: _bare(v) for k, v in kwargs.items()})
        except (TypeError, ValueError, IndexError, np.exceptions.AxisError) as error:
            raise NotEvaluableError(f"torch.{name}: {error}") from error
        wanted = kwargs.get("dtype")
        if isinstance(made, tuple):
            parts = [self._made(one, operands, None) for one in made]
            return Ranked(*parts) if len(parts) == 2 else tuple(parts)
        return self._made(made, operands, wanted if isinstance(wanted, DTypeName) else None)

    def _made(self, values: Any, operands: Sequence[Any], wanted: str | None) -> Tensor:
        array = np.asarray(values)
        dtype = wanted or common_dtype(operands, array)
        for operand in operands:
            if (
                isinstance(operand, Tensor)
                and operand.dtype == dtype
                and np.shares_memory(operand.values, array)
            ):
                return operand.sharing(array)
        return self.tensor(array, dtype)

    def method(self, tensor: Tensor, name: str) -> Callable[..., Any]:
        """A method of a tensor. Raises `NotEvaluableError` for one that is not known."""
        if name in _SAME:
            return lambda *_a, **_k: (
                Tensor(tensor.values.copy(order="C"), tensor.dtype)
                if (name == "clone" or (name == "contiguous" and not tensor.values.flags.c_contiguous))
                else tensor
            )
        if name == "view":
            return lambda *sizes: (
                self._reinterpreted(tensor, sizes[0])
                if sizes and isinstance(sizes[0], DTypeName)
                else self.operate("view", (tensor, *sizes), {})
            )
        if name in ("to", "type"):
            return lambda *args, **kwargs: self._to(tensor, [*args, *kwargs.values()])
        if (dtype := dtype_of(name)) is not None:
            return lambda *_a: self._to(tensor, [DTypeName(dtype)])
        answers: dict[str, Callable[..., Any]] = {
            "size": lambda dim=None: tensor.shape if dim is None else tensor.shape[dim],
            "numel": lambda: int(tensor.values.size),
            "dim": lambda: tensor.values.ndim,
            "ndimension": lambda: tensor.values.ndim,
            "element_size": lambda: DTYPES[tensor.dtype].itemsize,
            "stride": lambda dim=None: tensor.strides if dim is None else tensor.strides[dim],
            "is_contiguous": lambda *_a, **_k: bool(tensor.values.flags.c_contiguous),
            "numpy": lambda: _array_of(tensor),
            "record_stream": lambda _stream: None,
            "item": lambda: tensor.values.item(),
            "tolist": lambda: tensor.values.tolist(),
            "data_ptr": lambda: int(tensor.values.ctypes.data),
            "is_floating_point": lambda: DTYPES[tensor.dtype].is_float,
            "new_empty": lambda *sizes, **kwargs: self.create(
                "empty", sizes, {"dtype": DTypeName(tensor.dtype), **kwargs}
            ),
            "new_zeros": lambda *sizes, **kwargs: self.create(
                "zeros", sizes, {"dtype": DTypeName(tensor.dtype), **kwargs}
            ),
        }
        if name in answers:
            return answers[name]
        if name.endswith("_") and not name.endswith("__"):
            return lambda *args, **kwargs: self.in_place(tensor, name[:-1], args, kwargs)
        if name in OPERATIONS:
            return lambda *args, **kwargs: self.operate(name, (tensor, *args), kwargs)
        raise NotEvaluableError(f"the method .{name} of a tensor")

    def in_place(self, tensor: Tensor, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor:
        """The tensor with what an operator of the table gives. Raises `NotEvaluableError`."""
        if name == "zero":
            made: Any = np.zeros(tensor.shape)
        elif name in ("fill", "copy"):
            made = np.broadcast_to(np.asarray(_bare(args[0])), tensor.shape)
        elif name in OPERATIONS:
            made = self.operate(name, (tensor, *args), kwargs).values
        else:
            raise NotEvaluableError(f"the method .{name}_ of a tensor")
        tensor.values[...] = stored(np.asarray(made), tensor.dtype, exact=self.exact)
        tensor.changes[0] += 1
        return tensor

    def _to(self, tensor: Tensor, wanted: Sequence[Any]) -> Tensor:
        """In another type. Values are rounded to it where floats are exact too: it is what the program asks for."""
        dtype = next((w for w in wanted if isinstance(w, DTypeName)), tensor.dtype)
        if dtype == tensor.dtype:
            return tensor
        return Tensor(stored(tensor.values, dtype, exact=False), dtype)

    def _reinterpreted(self, tensor: Tensor, dtype: DTypeName) -> Tensor:
        """The same bits as another type: a copy that cannot be written where values are not kept as their bits."""
        old, new = DTYPES[tensor.dtype], DTYPES[dtype]
        if not old.is_float and not new.is_float and "bool" not in (old.name, new.name):
            return Tensor(tensor.values.view(new.storage), dtype, tensor.changes)
        values = np.ascontiguousarray(tensor.values)
        bits = old.narrow(values) if old.is_float else values.astype(old.storage)
        made = Tensor(stored(new.wide(bits.view(new.storage)), dtype, exact=False), dtype, tensor.changes)
        made.values.flags.writeable = False
        return made

    def create(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor | None:
        """A new tensor (`torch.zeros` and the like); None for a name that makes none."""
        wanted = kwargs.get("dtype")
        dtype = wanted if isinstance(wanted, DTypeName) else None
        if name.endswith("_like") and name.removesuffix("_like") in (*_NEW, "rand", "randn", "full"):
            like, rest = args[0], list(args[1:])
            return self.create(
                name.removesuffix("_like"),
                [list(like.shape), *rest],
                {"dtype": DTypeName(dtype or like.dtype), **_only(kwargs, "fill_value")},
            )
        if name in ("tensor", "as_tensor"):
            values = np.asarray(_bare(args[0]))
            own = dtype_of(str(values.dtype)) if isinstance(args[0], np.ndarray) else None
            return self.tensor(values, dtype or own or ("float32" if values.dtype.kind == "f" else "int64"))
        if name == "from_numpy":
            return self.tensor(args[0], dtype_of(str(args[0].dtype)) or "float32")
        if name == "full":
            value = args[1] if len(args) > 1 else kwargs["fill_value"]
            plain = "float32" if isinstance(value, float) else "int64"
            return self.tensor(np.full(whole_sizes(args[:1]), value), dtype or plain)
        if name == "arange":
            values = np.arange(*args)
            return self.tensor(values, dtype or ("float32" if values.dtype.kind == "f" else "int64"))
        if name in ("linspace", "logspace"):
            return self.tensor(getattr(np, name)(*args[:3]), dtype or "float32")
        if name == "randperm":
            return self.tensor(self.rng.permutation(args[0]), dtype or "int64")
        if name == "eye":
            return self.tensor(np.eye(*args), dtype or "float32")
        if name not in (*_NEW, "rand", "randn", "randint"):
            return None
        sizes = (
            () if name == "randint" else whole_sizes(args) if args else whole_sizes([kwargs.get("size", ())])
        )
        if math.prod(sizes) > self.most:
            raise TooLargeError(f"a tensor of shape {sizes}")
        if name in _NEW:
            held = _NEW[name] if dtype is None or DTYPES[dtype].is_float else int(name == "ones")
            return self.tensor(np.full(sizes, held), dtype or "float32")
        if name == "randn":
            return self.tensor(self.rng.standard_normal(sizes).astype(np.float32), dtype or "float32")
        if name == "rand":
            return self.tensor(self.rng.random(sizes, dtype=np.float32), dtype or "float32")
        if name == "randint":
            low, high, shape = (
                args if len(args) == 3 else (0, args[0], args[1] if len(args) > 1 else kwargs["size"])
            )
            return self.tensor(self.rng.integers(low, high, tuple(shape)), dtype or "int64")
        return None

    def layer(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A module of `torch.nn` with parameters drawn as torch draws them, but for the generator."""
        if name == "Parameter":
            return args[0]
        if name in ("Identity", "Dropout"):
            return Layer(lambda x: x)
        if name == "Linear":
            return self._linear(*args, **kwargs)
        if name in ("LayerNorm", "RMSNorm"):
            return self._norm(name, *args, **kwargs)
        if name == "Conv2d":
            return self._conv2d(*args, **kwargs)
        plain = {"ReLU": "relu", "GELU": "gelu", "SiLU": "silu", "Sigmoid": "sigmoid", "Tanh": "tanh", "ELU": "elu",
                 "Softmax": "softmax", "LogSoftmax": "log_softmax", "LeakyReLU": "leaky_relu", "Softplus": "softplus",
                 "Softsign": "softsign", "Hardtanh": "hardtanh", "Flatten": "flatten"}  # fmt: skip
        if name not in plain:
            raise NotEvaluableError(f"torch.nn.{name}")
        operation = OPERATIONS[plain[name]]
        names = [p for p in inspect.signature(operation).parameters if p != "input"]
        named = {**dict(zip(names, args, strict=False)), **kwargs}
        return Layer(lambda x: self.operate(plain[name], (x,), named))

    def _drawn(self, shape: Sequence[int], fan_in: int) -> Tensor:
        bound = 1 / math.sqrt(fan_in)
        return self.tensor(self.rng.uniform(-bound, bound, tuple(shape)).astype(np.float32))

    def _linear(self, in_features: int, out_features: int, bias: bool = True, **_rest: Any) -> Layer:
        weight = self._drawn((out_features, in_features), in_features)
        offset = self._drawn((out_features,), in_features) if bias else None
        call = lambda x: self.operate("linear", (x, weight, offset), {})  # noqa: E731
        return Layer(call, {"weight": weight, "bias": offset})

    def _norm(self, name: str, normalized_shape: Any, eps: float | None = None, **_rest: Any) -> Layer:
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        weight, bias = self.tensor(np.ones(shape)), self.tensor(np.zeros(shape))
        if name == "RMSNorm":
            return Layer(lambda x: self.operate("rms_norm", (x, shape, weight, eps), {}), {"weight": weight})
        call = lambda x: self.operate("layer_norm", (x, shape, weight, bias, eps or 1e-5), {})  # noqa: E731
        return Layer(call, {"weight": weight, "bias": bias, "eps": eps or 1e-5})

    def _conv2d(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True,
    ) -> Layer:  # fmt: skip
        size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        fan_in = in_channels // groups * size[0] * size[1]
        weight = self._drawn((out_channels, in_channels // groups, *size), fan_in)
        offset = self._drawn((out_channels,), fan_in) if bias else None
        more = (stride, padding, dilation, groups)
        return Layer(
            lambda x: self.operate("conv2d", (x, weight, offset, *more), {}),
            {"weight": weight, "bias": offset},
        )


def _only(kwargs: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: kwargs[name]} if name in kwargs else {}


def _array_of(tensor: Tensor) -> Any:
    """The NumPy array of a tensor. Raises `TypeError` for a type that NumPy lacks, as torch does."""
    kind = DTYPES[tensor.dtype]
    if kind.is_float and kind.storage.kind != "f":
        raise TypeError(f"NumPy has no {tensor.dtype}")
    return tensor.values.astype(kind.storage, copy=False)


def _bare(value: Any) -> Any:
    """Arrays for tensors, within lists too."""
    if isinstance(value, Tensor):
        return value.values
    if isinstance(value, list | tuple):
        return type(value)(_bare(v) for v in value)
    return value


def _flat(values: Any) -> list[Any]:
    return [v for value in values for v in (_flat(value) if isinstance(value, list | tuple) else [value])]
