"""What functions of torch, Triton and `math` give, as far as shapes, dtypes and sizes go."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_lineage.workloads.triton.dtypes import dtype_given
from kernel_lineage.workloads.triton.elements import (
    joined_elements,
    padded_elements,
    reduced_elements,
    running_sums,
)
from kernel_lineage.workloads.triton.objects import Instance
from kernel_lineage.workloads.triton.tensor_methods import MISSING, method
from kernel_lineage.workloads.triton.tensor_shapes import (
    broadcast,
    expanded,
    matrix_product,
    reduced,
    strided,
    wider,
)
from kernel_lineage.workloads.triton.torch_made import LIKE, MADE, made, made_like
from kernel_lineage.workloads.triton.values import (
    Dtype,
    Size,
    Tensor,
    Unknown,
    argument,
    called,
    is_number,
    packed,
    product,
    size_of,
    text_of,
    tree_of,
)

_ELEMENTWISE = {
    **dict.fromkeys(("abs", "exp", "exp2", "softplus", "square", "relu", "pow", "sqrt", "rsqrt"), "positive"),
    **dict.fromkeys(("sigmoid", "softmax"), "uniform(0, 1)"),
    **dict.fromkeys(("logsigmoid", "log_softmax"), "uniform(-2, 0)"),
    **dict.fromkeys(
        ("silu", "gelu", "tanh", "log", "log2", "log1p", "sin", "cos", "neg", "clamp", "clip", "clamp_min", "clamp_max",
         "add", "mul", "sub", "div", "true_divide", "where", "maximum", "minimum", "lerp", "normalize", "dropout",
         "masked_fill", "cumsum", "tril", "triu", "flip", "roll", "nan_to_num", "round", "floor", "ceil", "erf",
         "sign", "layer_norm", "rms_norm", "group_norm", "leaky_relu", "hardtanh", "elu", "index_fill", "scatter",
         "scatter_add", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "eq", "ne", "gt",
         "ge", "lt", "le", "isnan", "isinf", "isfinite", "expm1", "atan", "reciprocal", "fmod", "remainder",
         "logaddexp", "cumprod", "cholesky", "inv"), ""
    ),
}  # fmt: skip
_TO_BOOL = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "isnan", "isinf", "isfinite", "logical_and", "logical_or",
                      "logical_not"})  # fmt: skip
_REDUCTIONS = frozenset({"sum", "mean", "amax", "amin", "max", "min", "logsumexp", "norm", "var", "std", "prod",
                         "argmax", "argmin", "any", "all", "nansum", "median"})  # fmt: skip
_OF_INDICES = frozenset({"argmax", "argmin", "argsort", "count_nonzero"})
_PACKAGES = ("torch.", "triton.", "math.", "numpy.", "tl.", "F.")


NUMBERS = {f"math.{name}": getattr(math, name) for name in ("pi", "e", "tau", "inf")}
"""Constants of Python by their dotted names."""


def number_function(name: str, args: Sequence[object]) -> object | None:
    """What a function of numbers gives, `triton.cdiv` and those of `math`; None for all others."""
    last = name.rpartition(".")[2]
    unknown = next((g for g in args if isinstance(g, Unknown)), None)
    all_numbers = all(is_number(g) for g in args)
    match last:
        case "cdiv" | "ceil_div" | "next_power_of_2" if args:
            name = "ceil_div" if last == "cdiv" else last
            return unknown or (called(name, *args) if all_numbers else Unknown(name))
        case "sqrt" if len(args) == 1 and all_numbers:
            return _root(args[0])
        case "rsqrt" if len(args) == 1 and isinstance(args[0], (int, float)) and args[0] > 0:
            return 1 / math.sqrt(args[0])
        case "log2" | "isqrt" if len(args) == 1 and all_numbers:
            return called(last, args[0])
        case "ceil" | "floor" if len(args) == 1 and all_numbers and not name.startswith("torch."):
            return _rounded(last, args[0])
        case "prod" if (
            args and isinstance(args[0], (tuple, list)) and all(isinstance(g, (int, Size)) for g in args[0])
        ):
            return product(args[0])
        case "gcd" | "exp" | "log" | "pow" | "isinf" | "isnan" | "fabs" if name.startswith("math.") and all(
            isinstance(g, (int, float)) for g in args
        ):
            try:
                number: object = getattr(math, last)(*args)
            except (ValueError, OverflowError, TypeError):
                return Unknown(f"{name}(…)")
            return number
    return None


def _root(value: object) -> object:
    if isinstance(value, (int, float)):
        return value**0.5 if value >= 0 else Unknown("a root")
    return Size(f"({text_of(value)}) ** 0.5")


def _rounded(name: str, value: object) -> object:
    if isinstance(value, (int, float)):
        return math.ceil(value) if name == "ceil" else math.floor(value)
    tree = tree_of(value)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div) and _is_whole(tree.left, tree.right):
        if name == "ceil":
            return size_of(ast.Call(ast.Name("ceil_div", ast.Load()), [tree.left, tree.right], []))
        return size_of(ast.BinOp(tree.left, ast.FloorDiv(), tree.right))
    if name == "ceil":
        return called("ceil_div", value, 1)
    up = tree_of(called("ceil_div", size_of(ast.UnaryOp(ast.USub(), tree)), 1))
    return size_of(ast.UnaryOp(ast.USub(), up))


def _is_whole(*trees: ast.expr) -> bool:
    """Whether some numbers are whole where their names are."""
    parts = [part for tree in trees for part in ast.walk(tree)]
    return not any(
        isinstance(part, (ast.Div, ast.Pow))
        or (isinstance(part, ast.Constant) and isinstance(part.value, float))
        or (isinstance(part, ast.Name) and part.id == "log2")
        for part in parts
    )


def torch_function(name: str, args: Sequence[object], named: Mapping[str, object]) -> object:
    """What a function gives; `Unknown` for those that are not known."""
    number = number_function(name, args)
    if number is not None:
        return number
    if not name.startswith(_PACKAGES):
        return Unknown(f"{name}(…)")
    last = name.rpartition(".")[2]
    if last.strip("_").startswith("empty_strided") and len(args) > 1:
        dtype = next((g for g in args if isinstance(g, Dtype)), named.get("dtype"))
        return strided(made("empty", args[:1], {**named, "dtype": dtype} if dtype else named), args[1])
    if last.endswith("reinterpret_tensor") and len(args) > 2 and isinstance(args[0], Tensor):
        return tensor_function("as_strided", args[0], args[1:], named)
    if name.startswith("torch.") and last in MADE and name.count(".") == 1:
        return made(last, args, named)
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter") and args:
        return args[0]
    if name == "torch.Size" and args:
        return args[0]
    first = args[0] if args else named.get("input", named.get("tensors"))
    if last == "broadcast_tensors" and args and not isinstance(first, (tuple, list)):
        first = tuple(args)
    if isinstance(first, (tuple, list)) and all(isinstance(t, Tensor) and t.shape is not None for t in first):
        return _of_several(last, [t for t in first if isinstance(t, Tensor)], args[1:], named)
    if last in LIKE and isinstance(first, Tensor):
        return made_like(last, first, named)
    tensors = [g for g in (*args, *named.values()) if isinstance(g, Tensor)]
    if last == "einsum" and isinstance(first, str):
        return _einsum(first, tensors)
    if isinstance(first, Tensor):
        return tensor_function(last, first, args[1:], named)
    if last == "where" and len(tensors) > 1:
        return broadcast(tensors)
    return next((g for g in args if isinstance(g, Unknown)), Unknown(f"{name}(…)"))


def tensor_function(name: str, tensor: Tensor, args: Sequence[object], named: Mapping[str, object]) -> object:
    """`torch.NAME(x, …)` and `x.NAME(…)`."""
    answer = method(tensor, name, args, named)
    if answer is not MISSING:
        return answer
    name = name.removesuffix("_") if not name.endswith("__") else name
    shape = tensor.shape
    if shape is None:
        return Unknown(f"the shape of {tensor.name}")
    others = [g for g in (*args, *named.values()) if isinstance(g, Tensor) and g.shape is not None]
    match name:
        case "matmul" | "mm" | "bmm" | "mv" if others:
            return matrix_product(tensor, others[0])
        case "addmm" | "baddbmm" if len(others) > 1:
            return matrix_product(others[0], others[1])
        case "linear" if others and others[0].shape:
            return Tensor("", (*shape[:-1], others[0].shape[0]), tensor.dtype)
        case "embedding" if others and others[0].shape:
            return Tensor("", (*shape, others[0].shape[-1]), others[0].dtype)
        case "bincount":
            wide = argument(args, named, 0, "minlength", default=0)
            return (
                Tensor("", (wide,), "int64") if isinstance(wide, (int, Size)) and wide != 0 else Unknown(name)
            )
        case "as_strided" if len(args) > 1:
            seen = tensor_function("view", packed(tensor), args[:1], {})
            return (
                strided(replace(seen, memory=product(shape)), args[1]) if isinstance(seen, Tensor) else seen
            )
        case "diagonal" if len(shape) > 1:
            axes = [argument(args, named, 1 + i, f"dim{1 + i}", default=i) for i in (0, 1)]
            places = {axis % len(shape) for axis in axes if type(axis) is int}
            edges = {shape[place] for place in places}
            if len(places) < len(axes) or len(edges) > 1 or "offset" in named or any(args[:1]):
                return Unknown(f"`{tensor.name or 'tensor'}.diagonal(…)`")
            left = [extent for place, extent in enumerate(shape) if place not in places]
            return Tensor("", (*left, *edges), tensor.dtype, tensor.values)
        case "diag_embed" if shape and not args and not named:
            return Tensor("", (*shape, shape[-1]), tensor.dtype)
        case "sort" | "topk" | "kthvalue":
            return _sorted(name, tensor, args, named)
        case "index_select" if others and others[0].shape and args and type(args[0]) is int:
            at = args[0] % len(shape)
            picked = (*shape[:at], others[0].shape[0], *shape[at + 1 :])
            return Tensor("", picked, tensor.dtype, tensor.values)
        case "gather" | "take_along_dim" if others:
            return Tensor("", others[-1].shape, tensor.dtype, tensor.values)
        case "searchsorted" | "bucketize" if others:
            return _searched(name, tensor, others[0])
        case "argsort":
            return Tensor("", shape, "int64", f"integers(0, {text_of(shape[-1])})" if shape else "")
        case "multinomial" if shape:
            count = argument(args, named, 0, "num_samples", default=1)
            whole = (*shape[:-1], count) if isinstance(count, (int, Size)) else None
            return Tensor("", whole, "int64", f"integers(0, {text_of(shape[-1])})")
        case "pad" if args and isinstance(args[0], (tuple, list)):
            return _padded(tensor, args[0], named.get("value", 0))
        case "cumsum" if "float" not in (tensor.dtype or "float"):
            return replace(packed(tensor), name="", dtype="int64", values=running_sums(tensor))
        case "broadcast_to":
            return tensor_function("expand", tensor, args, named)
        case "outer" | "ger" if others:
            return Tensor("", (*shape, *(others[0].shape or ())), wider([tensor.dtype, others[0].dtype]))
        case "mse_loss" | "l1_loss" | "cross_entropy" | "nll_loss" | "kl_div" | "binary_cross_entropy":
            return Tensor("", (), tensor.dtype)
    if name in _REDUCTIONS:
        return _reduced(name, tensor, args, named)
    if name in _ELEMENTWISE:
        combined = broadcast([packed(tensor), *others])
        if isinstance(combined, Unknown):
            return combined
        keeps = _ELEMENTWISE[name] == "" and not others and "int" in (tensor.dtype or "")
        dtype = "bool" if name in _TO_BOOL else dtype_given(named) or combined.dtype
        values = _ELEMENTWISE[name] if "float" in (dtype or "float") else tensor.values if keeps else ""
        return replace(combined, dtype=dtype, values="integers(0, 2)" if dtype == "bool" else values)
    return Unknown(f"`{tensor.name or 'tensor'}.{name}(…)`")


def _reduced(name: str, tensor: Tensor, args: Sequence[object], named: Mapping[str, object]) -> object:
    axes: object = next((g for g in args if isinstance(g, (int, tuple, list))), None)
    axes = argument(args, named, 1) if name == "norm" else axes
    axes = named.get("dim", named.get("axis", axes))
    keep = named.get("keepdim") is True or (len(args) > 1 and args[-1] is True)
    dtype = "int64" if name in _OF_INDICES else dtype_given(named) or tensor.dtype
    dtype = "bool" if name in ("any", "all") else dtype
    others = [g for g in args if isinstance(g, Tensor)]
    if name in ("max", "min") and others:
        return broadcast([tensor, *others])
    reduction = reduced(tensor, axes, keep, dtype)
    if axes is None and not others and isinstance(reduction, Tensor):
        reduction = replace(reduction, values=reduced_elements(name, tensor))
    if name in ("max", "min", "median") and axes is not None and isinstance(reduction, Tensor):
        return _ranked(reduction)
    return reduction


def _ranked(values: Tensor, indices: str = "") -> Instance:
    """The values that are picked along an axis, and where they are."""
    places = replace(values, dtype="int64", values=indices or values.values)
    return Instance("values and indices", {"values": values, "indices": places})


def _sorted(name: str, tensor: Tensor, args: Sequence[object], named: Mapping[str, object]) -> object:
    shape = tensor.shape or ()
    wide = shape[-1] if name == "sort" and shape else argument(args, named, 0, "k")
    if not isinstance(wide, (int, Size)) or not shape:
        return Unknown(f"{name}(…)")
    order = argument(args, named, 1, "descending", default=False)
    along = argument(args, named, 0, "dim", default=-1)
    ascends = name == "sort" and order is False and along in (-1, len(shape) - 1)
    limits = tensor.values.removeprefix("integers") if ascends else ""
    drawn = f"ascending{limits}" if limits.startswith("(") else tensor.values
    values = Tensor("", (*shape[:-1], wide), tensor.dtype, drawn)
    return _ranked(values, f"integers(0, {text_of(shape[-1])})")


def _searched(name: str, tensor: Tensor, other: Tensor) -> Tensor:
    """Where elements belong in a row; of all numbers in turn that is where each of them begins."""
    row, sought = (tensor, other) if name == "searchsorted" else (other, tensor)
    total = text_of((row.shape or (1,))[-1])
    in_turn = sought.values.startswith("permutation(")
    return Tensor("", sought.shape, "int64", f"offsets({total})" if in_turn else f"integers(0, {total} + 1)")


def _padded(tensor: Tensor, pads: Sequence[object], value: object) -> object:
    shape = list(tensor.shape or ())
    widths = [p for p in pads if isinstance(p, (int, Size))]
    if len(widths) != len(pads) or len(widths) % 2 or len(widths) // 2 > len(shape):
        return Unknown("what is padded")
    for back in range(len(widths) // 2):
        at = len(shape) - 1 - back
        shape[at] = shape[at] + widths[2 * back] + widths[2 * back + 1]
    values = padded_elements(tensor, widths[0], widths[1], value) if widths else tensor.values
    return Tensor("", tuple(shape), tensor.dtype, values)


def _of_several(
    name: str, tensors: list[Tensor], args: Sequence[object], named: Mapping[str, object]
) -> object:
    """`torch.stack`, `torch.cat` and the like."""
    if not tensors:
        return Unknown(f"torch.{name}(…)")
    shape = tensors[0].shape or ()
    axis = argument(args, named, 0, "dim", default=0)
    if name == "broadcast_tensors":
        whole = broadcast(tensors)
        return whole if isinstance(whole, Unknown) else tuple(expanded(t, whole.shape or ()) for t in tensors)
    dtype, values = wider([t.dtype for t in tensors]), joined_elements(tensors)
    if type(axis) is int and name == "stack":
        at = axis % (len(shape) + 1)
        return Tensor("", (*shape[:at], len(tensors), *shape[at:]), dtype, values)
    if type(axis) is int and name in ("cat", "concat", "concatenate") and shape:
        at = axis % len(shape)
        extents = [(t.shape or ())[at] for t in tensors]
        wide = extents[0] * len(extents) if len(set(extents)) == 1 else sum(extents)
        return Tensor("", (*shape[:at], wide, *shape[at + 1 :]), dtype, values)
    return Unknown(f"torch.{name}(…)")


def _einsum(formula: str, tensors: list[Tensor]) -> object:
    left, _, right = formula.replace(" ", "").partition("->")
    sizes: dict[str, int | Size] = {}
    for letters, tensor in zip(left.split(","), tensors, strict=False):
        if tensor.shape is None or len(letters) != len(tensor.shape):
            return Unknown(f"einsum of `{formula}`")
        sizes.update(zip(letters, tensor.shape, strict=True))
    if any(letter not in sizes for letter in right):
        return Unknown(f"einsum of `{formula}`")
    return Tensor("", tuple(sizes[letter] for letter in right), wider([t.dtype for t in tensors]))
