"""Layers of `torch.nn`, by their weights and the shapes of what they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernel_lineage.workloads.triton.dtypes import dtype_given
from kernel_lineage.workloads.triton.objects import Instance
from kernel_lineage.workloads.triton.values import Size, Tensor, Unknown, packed

_NORMS = frozenset({"LayerNorm", "RMSNorm", "GroupNorm"})
_SAME = frozenset(
    {"Dropout", "Identity", "SiLU", "GELU", "ReLU", "Softmax", "LogSoftmax", "Sigmoid", "Tanh", *_NORMS}
)
_LOSSES = frozenset({"CrossEntropyLoss", "KLDivLoss", "MSELoss", "NLLLoss"})


def made_module(name: str, given: list[object], named: Mapping[str, object]) -> Instance | None:
    """The layer that `torch.nn.NAME(…)` gives; None for what is no layer that is known."""
    if not name.startswith("torch.nn."):
        return None
    last = name.rpartition(".")[2]
    dtype = dtype_given(named) or "float32"
    sizes = [g for g in given if isinstance(g, (int, Size)) and not isinstance(g, bool)]
    keys = {"Linear": ("in_features", "out_features"), "Embedding": ("num_embeddings", "embedding_dim")}
    if last in keys:
        sizes += [v for k in keys[last] if isinstance(v := named.get(k), (int, Size))]
        if len(sizes) < 2:
            return Instance(last, {})
        shape = (sizes[1], sizes[0]) if last == "Linear" else (sizes[0], sizes[1])
        attributes: dict[str, object] = {"weight": Tensor("weight", shape, dtype)}
        if last == "Linear":
            attributes["bias"] = (
                Tensor("bias", (sizes[1],), dtype) if named.get("bias", True) is True else None
            )
        return Instance(last, attributes)
    if last in _NORMS and sizes:
        weight = Tensor("weight", (sizes[-1],), dtype)
        return Instance(last, {"weight": weight, "bias": replace(weight, name="bias")})
    if last in ("ModuleList", "Sequential", "Module") or last in _SAME or last in _LOSSES:
        return Instance(last, dict(named))
    return None


def called_module(module: Instance, given: list[object]) -> object:
    """What a layer gives for a tensor."""
    tensor = next((g for g in given if isinstance(g, Tensor)), None)
    weight = module.attributes.get("weight")
    if tensor is None or tensor.shape is None:
        return Unknown(f"{module.of}(…)")
    if module.of == "Linear" and isinstance(weight, Tensor) and weight.shape:
        return Tensor("", (*tensor.shape[:-1], weight.shape[0]), tensor.dtype)
    if module.of == "Embedding" and isinstance(weight, Tensor) and weight.shape:
        return Tensor("", (*tensor.shape, weight.shape[-1]), weight.dtype)
    if module.of in _SAME:
        return replace(packed(tensor), name="")
    if module.of in _LOSSES:
        return Tensor("", (), tensor.dtype)
    return Unknown(f"{module.of}(…)")
