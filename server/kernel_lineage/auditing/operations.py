# ruff: noqa: A002, A006, ARG001, ARG005 - names and parameters are torch's
"""Torch's operators in NumPy, by name: what a reference computes, in float64.

The first argument of a method is the tensor itself, so that `torch.exp(x)`, `F.softmax(x, dim=-1)` and `x.sum(1)` share
one table. Parameters have torch's names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernel_lineage.auditing.tensors import Array, NotEvaluableError

Dims = int | Sequence[int] | None


def _axes(dim: Dims) -> int | tuple[int, ...] | None:
    return tuple(dim) if isinstance(dim, list | tuple) else dim  # type: ignore[return-value]


def whole_sizes(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Sizes that are given one by one, or as a list."""
    flat = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes
    return tuple(int(s) for s in flat)


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def sigmoid(input: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * input)))


def softmax(input: Array, dim: int = -1, dtype: object = None) -> Array:
    """exp(x) / sum(exp(x)), less the maximum first."""
    raised = np.exp(input - input.max(axis=dim, keepdims=True))
    return np.asarray(raised / raised.sum(axis=dim, keepdims=True))


def log_softmax(input: Array, dim: int = -1, dtype: object = None) -> Array:
    """The logarithm of softmax."""
    less = input - input.max(axis=dim, keepdims=True)
    return np.asarray(less - np.log(np.exp(less).sum(axis=dim, keepdims=True)))


def gelu(input: Array, approximate: str = "none") -> Array:
    """By the error function, or by its approximation with tanh."""
    if approximate == "tanh":
        return np.asarray(0.5 * input * (1 + np.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input**3))))
    return np.asarray(0.5 * input * (1 + _erf(input / math.sqrt(2))))


def layer_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
    """Less the mean and over the deviation of the last dims."""
    axes = tuple(range(-len(normalized_shape), 0))
    mean, var = input.mean(axis=axes, keepdims=True), input.var(axis=axes, keepdims=True)
    out = (input - mean) / np.sqrt(var + eps)
    out = out * weight if weight is not None else out
    return np.asarray(out + bias if bias is not None else out)


def rms_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    eps: float | None = None,
) -> Array:
    """Over the root of the mean square of the last dims."""
    axes = tuple(range(-len(normalized_shape), 0))
    scale = np.sqrt((input**2).mean(axis=axes, keepdims=True) + (2.0**-23 if eps is None else eps))
    return np.asarray(input / scale if weight is None else input / scale * weight)


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """X Wᵀ + b."""
    out = input @ weight.T
    return np.asarray(out + bias if bias is not None else out)


def conv2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Array:
    """Cross-correlation of [N, C, H, W] with [K, C / groups, R, S]."""
    (sy, sx), (py, px), (dy, dx) = (
        (v, v) if isinstance(v, int) else tuple(v) for v in (stride, padding, dilation)
    )
    padded = np.pad(input, ((0, 0), (0, 0), (py, py), (px, px)))
    n, channels, high, wide = padded.shape
    kernels, per_group, r, s = weight.shape
    out_h, out_w = (high - dy * (r - 1) - 1) // sy + 1, (wide - dx * (s - 1) - 1) // sx + 1
    out = np.zeros((n, kernels, out_h, out_w))
    each = kernels // groups
    if per_group * groups != channels:
        raise NotEvaluableError("a convolution whose channels do not match its weight")
    for g in range(groups):
        read = padded[:, g * per_group : (g + 1) * per_group]
        for y in range(r):
            for x in range(s):
                window = read[:, :, y * dy : y * dy + sy * out_h : sy, x * dx : x * dx + sx * out_w : sx]
                out[:, g * each : (g + 1) * each] += np.einsum(
                    "nchw,kc->nkhw", window, weight[g * each : (g + 1) * each, :, y, x]
                )
    return out if bias is None else np.asarray(out + bias[None, :, None, None])


def _reduced(function: Callable[..., Array]) -> Callable[..., Array]:
    def reduce(input: Array, dim: Dims = None, keepdim: bool = False, dtype: object = None) -> Array:
        return np.asarray(function(input, axis=_axes(dim), keepdims=keepdim))

    return reduce


def _deviation(function: Callable[..., Array]) -> Callable[..., Array]:
    def deviate(
        input: Array,
        dim: Dims = None,
        unbiased: bool = True,
        correction: int | None = None,
        keepdim: bool = False,
    ) -> Array:
        less = int(unbiased) if correction is None else correction
        return np.asarray(function(input, axis=_axes(dim), ddof=less, keepdims=keepdim))

    return deviate


def _extreme(
    best: Callable[..., Array], place: Callable[..., Array], two: Callable[..., Array]
) -> Callable[..., Any]:
    def extreme(input: Array, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, np.ndarray):
            return two(input, dim)
        if dim is None:
            return np.asarray(best(input))
        return np.asarray(best(input, axis=dim, keepdims=keepdim)), np.asarray(
            place(input, axis=dim, keepdims=keepdim)
        )

    return extreme


def _topk(input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    order = np.argsort(-input if largest else input, axis=dim, kind="stable")
    chosen = np.take(order, np.arange(k), axis=dim)
    return np.take_along_axis(input, chosen, axis=dim), chosen


def _sort(input: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return _topk(input, input.shape[dim], dim, largest=descending)


def _parts(input: Array, size: int | Sequence[int], dim: int) -> tuple[Array, ...]:
    """An array cut along an axis: pieces of `size`, the last one smaller, or pieces of these sizes. Views."""
    ends = range(size, input.shape[dim], size) if isinstance(size, int) else np.cumsum(size)[:-1]
    return tuple(np.split(input, list(ends), axis=dim))


def _expanded(input: Array, *sizes: Any) -> Array:
    wanted = whole_sizes(sizes)
    own = (1,) * (len(wanted) - input.ndim) + input.shape
    return np.broadcast_to(input, [e if s == -1 else s for s, e in zip(wanted, own, strict=True)])


def _swapped(input: Array, dim0: int, dim1: int) -> Array:
    return np.swapaxes(input, dim0, dim1)


def _flatten(input: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    shape = input.shape
    last = end_dim % len(shape)
    return input.reshape(*shape[:start_dim], -1, *shape[last + 1 :])


def _norm(input: Array, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Array:
    if p not in ("fro", 1, 2, 1.0, 2.0):
        raise NotEvaluableError(f"a norm of order {p}")
    if p in (1, 1.0):
        return np.asarray(np.abs(input).sum(axis=_axes(dim), keepdims=keepdim))
    return np.asarray(np.sqrt((input**2).sum(axis=_axes(dim), keepdims=keepdim)))


def _divided(input: Array, other: Any, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return np.asarray(input / other)
    return np.asarray(np.floor_divide(input, other) if rounding_mode == "floor" else np.trunc(input / other))


def _scaled(sign: int) -> Callable[..., Array]:
    return lambda input, other, alpha=1: np.asarray(input + sign * alpha * other)


def _diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal of two axes as the last one: a view that can be written, as torch gives it."""
    moved = np.moveaxis(input, (dim1, dim2), (-2, -1))
    moved = moved[..., max(-offset, 0) :, max(offset, 0) :]
    edge = min(moved.shape[-2:])
    view: Array = np.einsum("...ii->...i", moved[..., :edge, :edge])
    return view


OPERATIONS: dict[str, Callable[..., Any]] = {
    "matmul": np.matmul, "mm": np.matmul, "bmm": np.matmul, "mv": np.matmul, "dot": np.dot,
    "einsum": lambda equation, *operands: np.einsum(equation, *operands),
    "add": _scaled(1), "sub": _scaled(-1), "mul": np.multiply, "div": _divided, "pow": np.power, "neg": np.negative,
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda input: 1 / np.sqrt(input), "abs": np.abs,
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "erf": _erf, "square": np.square, "reciprocal": np.reciprocal,
    "floor": np.floor, "ceil": np.ceil, "exp2": np.exp2, "log2": np.log2, "log1p": np.log1p, "expm1": np.expm1,
    "sigmoid": sigmoid, "relu": lambda input, inplace=False: np.maximum(input, 0),
    "gelu": gelu, "silu": lambda input, inplace=False: input * sigmoid(input),
    "leaky_relu": lambda input, negative_slope=0.01, inplace=False: np.where(input > 0, input, negative_slope * input),
    "elu": lambda input, alpha=1.0, inplace=False: np.where(input > 0, input, alpha * np.expm1(np.minimum(input, 0))),
    "softplus": lambda input, beta=1.0, threshold=20.0: np.logaddexp(0, beta * input) / beta,
    "softsign": lambda input: input / (1 + np.abs(input)),
    "hardtanh": lambda input, min_val=-1.0, max_val=1.0, inplace=False: np.clip(input, min_val, max_val),
    "softmax": softmax, "log_softmax": log_softmax, "layer_norm": layer_norm, "rms_norm": rms_norm,
    "linear": linear, "conv2d": conv2d, "norm": _norm,
    "sum": _reduced(np.sum), "mean": _reduced(np.mean), "prod": _reduced(np.prod), "amax": _reduced(np.max),
    "amin": _reduced(np.min), "any": _reduced(np.any), "all": _reduced(np.all),
    "var": _deviation(np.var), "std": _deviation(np.std),
    "max": _extreme(np.max, np.argmax, np.maximum), "min": _extreme(np.min, np.argmin, np.minimum),
    "maximum": np.maximum, "minimum": np.minimum,
    "argmax": lambda input, dim=None, keepdim=False: np.asarray(np.argmax(input, axis=dim, keepdims=keepdim)),
    "argmin": lambda input, dim=None, keepdim=False: np.asarray(np.argmin(input, axis=dim, keepdims=keepdim)),
    "cumsum": lambda input, dim: np.cumsum(input, axis=dim),
    "cumprod": lambda input, dim: np.cumprod(input, axis=dim),
    "clamp": lambda input, min=None, max=None: np.clip(input, min, max),
    "round": np.rint, "clamp_min": np.maximum, "clamp_max": np.minimum,
    "masked_fill": lambda input, mask, value: np.where(mask, value, input),
    "where": np.where, "tril": lambda input, diagonal=0: np.tril(input, diagonal),
    "triu": lambda input, diagonal=0: np.triu(input, diagonal),
    "topk": _topk, "sort": _sort, "gather": lambda input, dim, index: np.take_along_axis(input, index, axis=dim),
    "sign": np.sign, "index_select": lambda input, dim, index: np.take(input, index, axis=dim),
    "floor_divide": np.floor_divide, "remainder": np.mod, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
    "bitwise_xor": np.bitwise_xor, "bitwise_not": np.invert, "logical_not": np.logical_not,
    "logical_and": np.logical_and, "logical_or": np.logical_or,
    "isfinite": np.isfinite, "isnan": np.isnan, "isinf": np.isinf, "outer": np.outer,
    "logsumexp": lambda input, dim, keepdim=False: np.logaddexp.reduce(input, axis=_axes(dim), keepdims=keepdim),
    "mish": lambda input, inplace=False: input * np.tanh(np.logaddexp(0, input)),
    "hardswish": lambda input, inplace=False: input * np.clip(input + 3, 0, 6) / 6,
    "hardsigmoid": lambda input, inplace=False: np.clip(input + 3, 0, 6) / 6,
    "roll": lambda input, shifts, dims=None: np.roll(input, shifts, axis=dims),
    "argsort": lambda input, dim=-1, descending=False, stable=False: _sort(input, dim, descending)[1],
    "unbind": lambda input, dim=0: tuple(np.moveaxis(input, dim, 0)),
    "chunk": lambda input, chunks, dim=0: _parts(input, -(-input.shape[dim] // chunks), dim),
    "split": lambda input, split_size, dim=0: _parts(input, split_size, dim),
    "narrow": lambda input, dim, start, length: np.moveaxis(
        np.moveaxis(input, dim, 0)[start : start + length], 0, dim
    ),
    "select": lambda input, dim, index: np.moveaxis(input, dim, 0)[index],
    "expand_as": lambda input, other: np.broadcast_to(input, other.shape),
    "view_as": lambda input, other: input.reshape(other.shape),
    "repeat_interleave": lambda input, repeats, dim=None: np.repeat(input, repeats, axis=dim),
    "diag": np.diag, "diagonal": _diagonal, "cholesky": np.linalg.cholesky,
    "flip": lambda input, dims: np.flip(input, axis=_axes(dims)),
    "transpose": _swapped, "t": lambda input: input.T,
    "permute": lambda input, *dims: np.transpose(input, whole_sizes(dims)),
    "reshape": lambda input, *shape: input.reshape(whole_sizes(shape)),
    "view": lambda input, *shape: input.reshape(whole_sizes(shape)), "flatten": _flatten,
    "unsqueeze": lambda input, dim: np.expand_dims(input, dim),
    "squeeze": lambda input, dim=None: np.squeeze(input, axis=dim),
    "expand": _expanded,
    "repeat": lambda input, *sizes: np.tile(input, whole_sizes(sizes)),
    "cat": lambda tensors, dim=0: np.concatenate(tensors, axis=dim),
    "stack": lambda tensors, dim=0: np.stack(tensors, axis=dim),
}  # fmt: skip
"""Operators by torch's name. `Raises` what NumPy does for shapes that do not fit."""
