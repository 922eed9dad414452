"""Layers of `torch.nn`, by what they are made with, their weights, and the shapes of what they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernel_lineage.workloads.triton.dtypes import dtype_given
from kernel_lineage.workloads.triton.objects import Instance
from kernel_lineage.workloads.triton.values import Size, Tensor, Unknown, argument, packed, text_of

_CONVOLUTION = ("in_channels", "out_channels", "kernel_size", ("stride", 1), ("padding", 0), ("dilation", 1),
                ("groups", 1), ("bias", True))  # fmt: skip
_TRANSPOSED = (*_CONVOLUTION[:5], ("output_padding", 0), ("groups", 1), ("bias", True), ("dilation", 1))
_BATCH_NORM = ("num_features", ("eps", 1e-5), ("momentum", 0.1), ("affine", True))
_POOL = ("kernel_size", ("stride", None), ("padding", 0), ("dilation", 1))
_MADE_WITH: dict[str, tuple[Any, ...]] = {
    "Linear": ("in_features", "out_features", ("bias", True)),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "LayerNorm": ("normalized_shape", ("eps", 1e-5), ("elementwise_affine", True), ("bias", True)),
    "RMSNorm": ("normalized_shape", ("eps", None), ("elementwise_affine", True)),
    "GroupNorm": ("num_groups", "num_channels", ("eps", 1e-5), ("affine", True)),
    **{f"BatchNorm{n}d": _BATCH_NORM for n in (1, 2, 3)},
    **{f"Conv{n}d": _CONVOLUTION for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": _TRANSPOSED for n in (1, 2, 3)},
    **{f"{kind}Pool{n}d": _POOL for kind in ("Max", "Avg") for n in (1, 2, 3)},
}
"""Layer → the parameters of its constructor in order, those with defaults as pairs."""
_SAME = frozenset(
    {"Dropout", "Identity", "SiLU", "GELU", "ReLU", "Softmax", "LogSoftmax", "Sigmoid", "Tanh", "LeakyReLU",
     "Hardtanh", "ELU", "Softplus", "Mish", "Hardswish"}
)  # fmt: skip
_LOSSES = frozenset({"CrossEntropyLoss", "KLDivLoss", "MSELoss", "NLLLoss"})
_CELLS = {"RNNCell": 1, "GRUCell": 3, "LSTMCell": 4}
"""Cell of a recurrent layer → its gates."""
_OF_OTHERS = frozenset({"Sequential", "ModuleList"})

Extent = int | Size


def made_module(name: str, args: list[object], named: Mapping[str, object]) -> Instance | None:
    """The layer that `torch.nn.NAME(…)` gives; None for what is no layer that is known."""
    if not name.startswith("torch.nn."):
        return None
    last = name.rpartition(".")[2]
    if last in _OF_OTHERS:
        return Instance(last, {"layers": args[0] if len(args) == 1 and isinstance(args[0], list) else args})
    if last == "Module" or last in _SAME or last in _LOSSES:
        return Instance(last, dict(named))
    if last in _CELLS:
        return _cell(last, args, named)
    if last not in _MADE_WITH:
        return None
    attributes: dict[str, object] = {}
    for place, parameter in enumerate(_MADE_WITH[last]):
        key, default = parameter if isinstance(parameter, tuple) else (parameter, Unknown(f"{last}(…)"))
        attributes[key] = args[place] if place < len(args) else named.get(key, default)
    dtype = dtype_given(named) or "float32"
    weight, bias = _weights(last, attributes, dtype)
    has_bias = attributes.pop("bias", True) is not False
    made: dict[str, object] = {"weight": weight, "bias": bias if has_bias else None}
    if last.startswith("BatchNorm") and isinstance(rows := attributes["num_features"], (int, Size)):
        mean, var = Tensor("running_mean", (rows,), dtype), Tensor("running_var", (rows,), dtype, "positive")
        made |= {"running_mean": mean, "running_var": var}
    return Instance(last, {**attributes, **made})


def _cell(name: str, args: list[object], named: Mapping[str, object]) -> Instance | None:
    """A cell of a recurrent layer; None where its sizes are not told."""
    inner, hidden = argument(args, named, 0, "input_size"), argument(args, named, 1, "hidden_size")
    if not isinstance(inner, (int, Size)) or not isinstance(hidden, (int, Size)):
        return None
    rows, dtype = _CELLS[name] * hidden, dtype_given(named) or "float32"
    has_bias = argument(args, named, 2, "bias", default=True) is not False
    shapes = {"weight_ih": (rows, inner), "weight_hh": (rows, hidden), "bias_ih": (rows,), "bias_hh": (rows,)}
    weights = {
        n: Tensor(n, shape, dtype) if has_bias or len(shape) > 1 else None for n, shape in shapes.items()
    }
    return Instance(name, {"input_size": inner, "hidden_size": hidden, **weights})


def _weights(layer: str, made: Mapping[str, object], dtype: str) -> tuple[Tensor | None, Tensor | None]:
    """The weight and the bias of a layer; None for one that has none, or whose sizes are not told."""
    shape: tuple[object, ...]
    if layer == "Linear":
        shape = (made["out_features"], made["in_features"])
    elif layer == "Embedding":
        shape = (made["num_embeddings"], made["embedding_dim"])
    elif layer.startswith("Conv"):
        inner, outer = made["in_channels"], made["out_channels"]
        groups: Any = made["groups"]
        turned = layer.startswith("ConvTranspose")
        first, second = (inner, outer) if turned else (outer, inner)
        each = second if groups == 1 else second // groups if isinstance(second, (int, Size)) else second
        shape = (first, each, *_each(made["kernel_size"], int(layer[-2])))
    else:
        sized: object = made.get("num_channels", made.get("num_features", made.get("normalized_shape")))
        shape = tuple(sized) if isinstance(sized, (tuple, list)) else (sized,)
    if made.get("affine", made.get("elementwise_affine", True)) is not True:
        return None, None
    extents = tuple(e for e in shape if isinstance(e, (int, Size)))
    if len(extents) != len(shape):
        return None, None
    rows = made["out_channels"] if layer.startswith("Conv") else extents[0]
    bias = Tensor("bias", (rows,), dtype) if isinstance(rows, (int, Size)) and layer != "Embedding" else None
    if layer in ("LayerNorm", "RMSNorm") and bias is not None:
        bias = Tensor("bias", extents, dtype)
    return Tensor("weight", extents, dtype), bias


def _each(value: object, count: int) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def parameters_of_module(module: Instance) -> Iterator[Tensor]:
    """The weights of a layer or of an object that holds layers, in the order in which it got them."""
    left: list[object] = list(module.attributes.values())
    while left:
        value = left.pop(0)
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, Instance):
            left = [*value.attributes.values(), *left]
        elif isinstance(value, (list, tuple)):
            left = [*value, *left]


def called_module(module: Instance, args: list[object]) -> object:
    """What a layer gives for a tensor."""
    tensor = next((g for g in args if isinstance(g, Tensor)), None)
    held, layer = module.attributes, str(module.of)
    weight = held.get("weight")
    if tensor is None or tensor.shape is None:
        return Unknown(f"{layer}(…)")
    if layer == "Linear" and isinstance(weight, Tensor) and weight.shape:
        return Tensor("", (*tensor.shape[:-1], weight.shape[0]), tensor.dtype)
    if layer == "Embedding" and isinstance(weight, Tensor) and weight.shape:
        return Tensor("", (*tensor.shape, weight.shape[-1]), weight.dtype)
    if layer in _SAME or layer.endswith("Norm") or layer.startswith("BatchNorm"):
        return replace(packed(tensor), name="")
    if layer in _LOSSES:
        return Tensor("", (), tensor.dtype)
    if layer in _MADE_WITH:
        return _slid(layer, held, tensor)
    return Unknown(f"{layer}(…)")


def _slid(layer: str, held: Mapping[str, object], tensor: Tensor) -> object:
    """What a convolution or a pool gives, which slides a window over the last axes."""
    shape, count = tensor.shape or (), int(layer[-2])
    kernel = held["kernel_size"]
    stride = kernel if held["stride"] is None else held["stride"]
    listed = [
        _each(v, count)
        for v in (kernel, stride, held["padding"], held["dilation"], held.get("output_padding", 0))
    ]
    if len(shape) <= count or held["padding"] == "same":
        return replace(packed(tensor), name="") if held["padding"] == "same" else Unknown(f"{layer}(…)")
    extents: list[Extent] = []
    for extent, *window in zip(shape[-count:], *listed, strict=True):
        if not all(type(w) is int for w in window):
            return Unknown(f"{layer}(…)")
        k, s, p, d, more = (w for w in window if isinstance(w, int))
        if layer.startswith("ConvTranspose"):
            extents.append((extent - 1) * s + (d * (k - 1) + more + 1 - 2 * p))
        else:
            extents.append((extent + (2 * p - d * (k - 1) - 1)) // s + 1)
    channels = held.get("out_channels", shape[-count - 1])
    if not isinstance(channels, (int, Size)):
        return Unknown(f"{layer}(…), whose channels are {text_of(channels)}")
    return Tensor("", (*shape[: -count - 1], channels, *extents), tensor.dtype)
