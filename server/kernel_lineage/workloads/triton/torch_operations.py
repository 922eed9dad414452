"""Functions, methods and operators of PyTorch on tensors, as the work that they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_lineage.workloads.triton.tensor_shapes import without
from kernel_lineage.workloads.triton.torch_formulas import (
    ALIASES,
    BINARY,
    CHOSEN,
    GELU,
    HIGHEST,
    KEPT,
    LOWEST,
    OF_ANY_NUMBER,
    POWER,
    POWERS,
    SCALED,
    TERNARY,
    TO_BOOL,
    UNARY,
)
from kernel_lineage.workloads.triton.torch_places import TorchPlaces
from kernel_lineage.workloads.triton.torch_work import (
    NotWorked,
    Operand,
    computed_in,
    is_float,
    names_bound,
)
from kernel_lineage.workloads.triton.values import (
    Dtype,
    Tensor,
    is_number,
    product,
)

_REDUCED = ("input", "dim", "keepdim", "dtype")
_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(UNARY, ("input",)),
    **dict.fromkeys(BINARY, ("input", "other")),
    **dict.fromkeys(SCALED, ("input", "other", "alpha")),
    **dict.fromkeys(("sum", "mean", "prod"), _REDUCED),
    **dict.fromkeys(("amax", "amin", "any", "all"), ("input", "dim", "keepdim")),
    **{name: signature for name, (signature, _) in TERNARY.items()},
    **dict.fromkeys(("bitwise_and", "bitwise_or", "pow"), ("input", "other")),
    "bitwise_not": ("input",), "cat": ("tensors", "dim"), "stack": ("tensors", "dim"),
    "clamp": ("input", "min", "max"), "clamp_max": ("input", "max"), "clamp_min": ("input", "min"),
    "clone": ("input", "memory_format"), "contiguous": ("input", "memory_format"),
    "copy": ("input", "other", "non_blocking"), "fill": ("input", "other"), "gelu": ("input", "approximate"),
    "log_softmax": ("input", "dim", "_stacklevel", "dtype"),
    "logsumexp": ("input", "dim", "keepdim"), "masked_fill": ("input", "mask", "value"), "max": ("input", "other"),
    "min": ("input", "other"), "norm": ("input", "p", "dim", "keepdim"), "positive": ("input",),
    "softmax": ("input", "dim", "_stacklevel", "dtype"), "std": ("input", "dim", "unbiased", "keepdim", "correction"),
    "embedding": ("index", "input"),
    "getitem": ("input", "index"), "index_select": ("input", "dim", "index"),
    "pad": ("input", "pad", "mode", "value"), "repeat_interleave": ("input", "repeats", "dim"),
    "var": ("input", "dim", "unbiased", "keepdim", "correction"), "zero": ("input",),
}  # fmt: skip
_OF_METHODS: Mapping[str, tuple[str, ...]] = {
    "softmax": ("input", "dim", "dtype"), "log_softmax": ("input", "dim", "dtype"), "where": ("other", "input", "mask"),
}  # fmt: skip
"""Those that are others for a method than for a function; `where` has its tensor in the middle."""
_IN_PLACE = frozenset({*UNARY, *BINARY, *TERNARY, "clamp", "clamp_max", "clamp_min", "copy", "fill", "masked_fill",
                       "pow", "zero"}) - TO_BOOL  # fmt: skip
IN_PLACE = frozenset(
    f"{name}_" for name in (*_IN_PLACE, *(a for a, of in ALIASES.items() if of in _IN_PLACE))
)
"""Methods that change their tensor, as work that is understood."""
_SPACES = frozenset({"torch", "torch.nn.functional", "torch.special", "torch.Tensor"})


class TorchOperations(TorchPlaces):
    """Makes work of calls."""

    def gives(self, called: str, args: Sequence[object], named: Mapping[str, object]) -> Tensor | None:
        """What a function gives, `torch.exp`, or a method with its tensor as the first argument, `exp`.

        None for one that is not understood. Raises `NotWorked` for arguments that are not.
        """
        space, _, last = called.rpartition(".")
        if space not in _SPACES and space:
            return None
        own = last.removesuffix("_") if last in IN_PLACE else last
        own = ALIASES.get(own, own)
        into = args[0] if own != ALIASES.get(last, last) and args and isinstance(args[0], Tensor) else None
        named = dict(named)
        out = named.pop("out", None)
        named = {"dim" if name == "axis" else name: value for name, value in named.items()}
        if not space and own in _OF_METHODS:
            signature: Sequence[str] = _OF_METHODS[own]
        else:
            signature = ("mask", "other", "input") if own == "where" else _SIGNATURES.get(own, ())
        bound = names_bound(signature, args, named)
        if not signature or bound is None:
            if last in IN_PLACE:
                raise NotWorked(f"`{last}()` with these arguments")
            return None
        made = self._of(own, bound, into)
        if isinstance(out, Tensor) and made is not None:
            return self.copied(made, out)
        return made if out is None else None

    def _of(self, name: str, bound: dict[str, object], into: Tensor | None) -> Tensor | None:
        first = bound.get("input")
        if name in ("cat", "stack"):
            return self.joined(name, bound)
        if name in BINARY or name in ("bitwise_and", "bitwise_or", "max", "min"):
            return self._binary(name, bound, into)
        if name == "pow":
            return self._power(bound, into)
        if name in ("embedding", "getitem", "index_select"):
            return self.picked(name, first, bound.get("index"), bound.get("dim", 0))
        if name in ("where", "masked_fill"):
            return self._chosen(name, bound, into)
        if not isinstance(first, Tensor):
            return None
        if name in UNARY:
            keeps = is_float(first.dtype) or name in OF_ANY_NUMBER
            dtype = "bool" if name in TO_BOOL else first.dtype if keeps else "float32"
            if first.dtype == "bool" and name in OF_ANY_NUMBER:
                raise NotWorked(f"`{name}()` of truth values")
            computed = computed_in(first.dtype if name in TO_BOOL else dtype)
            return self.elementwise(name, UNARY[name], (first,), dtype, into, computed)
        if name in TERNARY:
            operands = [_operand(bound.get(n, 1 if n == "value" else None)) for n in TERNARY[name][0]]
            return self.elementwise(name, TERNARY[name][1], operands, into=into)
        match name:
            case "gelu":
                formula = GELU.get(str(bound.get("approximate", "none")), "")
                return self.elementwise(name, formula, (first,), into=into) if formula else None
            case "bitwise_not":
                formula = "{0} == 0" if first.dtype == "bool" else "~{0}"
                return None if is_float(first.dtype) else self.elementwise(name, formula, (first,), into=into)
            case "clamp" | "clamp_min" | "clamp_max":
                return self._clamped(first, bound, into)
            case "positive":
                return first
            case "pad":
                return self.padded(first, bound)
            case "repeat_interleave":
                return self.repeated(first, bound.get("repeats"), bound.get("dim"))
            case "clone":
                return self.elementwise(name, KEPT, (first,))
            case "contiguous":
                return self.copied(first, self._host.fresh(first.shape or (), first.dtype or ""), name)
            case "copy" | "fill":
                return self.copied(_operand(bound.get("other")), first, name)
            case "zero":
                return self.copied(0, first, name)
        return self._along_axes(name, first, bound)

    def _binary(self, name: str, bound: Mapping[str, object], into: Tensor | None) -> Tensor | None:
        if name in ("max", "min"):
            if not isinstance(bound.get("other"), Tensor):
                is_whole = "other" not in bound
                return self._along_axes(f"a{name}", bound.get("input"), {}) if is_whole else None
            name = {"max": "maximum", "min": "minimum"}[name]
        operands = [_operand(bound.get("input")), _operand(bound.get("other"))]
        dtype = self.promoted(operands)
        if name.startswith("bitwise_"):
            if is_float(dtype):
                raise NotWorked(f"`{name}()` of floats")
            formula = f"{{0}} {'&' if name == 'bitwise_and' else '|'} {{1}}"
            return self.elementwise(name, formula, operands, into=into)
        if name in TO_BOOL:
            return self.elementwise(name, BINARY[name], operands, "bool", into)
        if dtype == "bool":
            raise NotWorked(f"`{name}()` of truth values")
        if name == "div" and not is_float(dtype):
            return self.elementwise(name, BINARY[name], operands, "float32", into, "float32")
        alpha = _operand(bound.get("alpha", 1))
        if alpha == 1:
            return self.elementwise(name, BINARY[name], operands, into=into)
        return self.elementwise(name, SCALED[name], [*operands, alpha], dtype, into, computed_in(dtype))

    def _power(self, bound: Mapping[str, object], into: Tensor | None) -> Tensor:
        base, exponent = _operand(bound.get("input")), _operand(bound.get("other"))
        formula = POWERS.get(exponent) if isinstance(exponent, (int, float)) else None
        if formula is not None and isinstance(base, Tensor):
            operands: list[Operand] = [base]
            dtype = self.promoted([base, exponent])
        else:
            operands, formula = [base, exponent], POWER
            dtype = self.promoted(operands)
        if not is_float(dtype) and exponent not in (2, 3):
            raise NotWorked("powers of whole numbers")
        return self.elementwise("pow", formula, operands, dtype, into, computed_in(dtype))

    def _chosen(self, name: str, bound: Mapping[str, object], into: Tensor | None) -> Tensor | None:
        mask = bound.get("mask")
        if not isinstance(mask, Tensor) or "input" not in bound:
            return None
        if name == "where":
            chosen, left = _operand(bound.get("other")), _operand(bound["input"])
        else:
            chosen, left = _operand(bound.get("value")), _operand(bound["input"])
        dtype = (
            left.dtype
            if name == "masked_fill" and isinstance(left, Tensor)
            else self.promoted([chosen, left])
        )
        return self.elementwise(name, CHOSEN, (mask, chosen, left), dtype, into, computed_in(dtype))

    def _clamped(self, first: Tensor, bound: Mapping[str, object], into: Tensor | None) -> Tensor:
        ends = {n: _operand(bound[n]) for n in ("min", "max") if bound.get(n) is not None}
        if not ends:
            raise NotWorked("`clamp()` without bounds")
        formula = LOWEST if "min" in ends else HIGHEST
        if len(ends) == 2:
            formula = HIGHEST.replace("{1}", "{2}").replace("{0}", LOWEST)
        operands = [first, *ends.values()]
        return self.elementwise("clamp", formula, operands, into=into)

    def _along_axes(self, name: str, first: object, bound: Mapping[str, object]) -> Tensor | None:
        """Reductions, and what is worked out by them."""
        if not isinstance(first, Tensor):
            return None
        wanted = bound.get("dtype")
        dtype = wanted.name if isinstance(wanted, Dtype) else None
        listed = bound.get("dim")
        wanted_axes = () if listed is None else listed if isinstance(listed, (tuple, list)) else (listed,)
        rank = max(1, len(first.shape or ()))
        axes = [axis for axis in wanted_axes if type(axis) is int and -rank <= axis < rank]
        if len(axes) < len(wanted_axes):
            raise NotWorked(f"`{name}()` over axes that are not told")
        keeps = bound.get("keepdim", False)
        if not isinstance(keeps, bool) or ("dtype" in bound and wanted is not None and dtype is None):
            raise NotWorked(f"`{name}()` with these arguments")
        if name in ("any", "all"):
            truths = (
                first if first.dtype == "bool" else self.elementwise("ne", BINARY["ne"], (first, 0), "bool")
            )
            return self.reduced("amax" if name == "any" else "amin", truths, axes, keeps)
        if name in ("sum", "mean", "prod", "amax", "amin"):
            if dtype is not None and self.promoted([replace(first, dtype=dtype), first]) != dtype:
                raise NotWorked(f"`{name}()` in a type that is narrower")
            if dtype is None and not is_float(first.dtype):
                if name == "mean":
                    raise NotWorked("`mean()` of whole numbers")
                dtype = "int64" if name in ("sum", "prod") else None
            return self.reduced(name, first, axes, keeps, dtype)
        if not is_float(first.dtype):
            raise NotWorked(f"`{name}()` of whole numbers")
        if dtype is not None and dtype != first.dtype:
            first = self.copied(first, self._host.fresh(first.shape or (), dtype), "to")
        return self._composed(name, first, axes, keeps, bound)

    def _composed(
        self, name: str, first: Tensor, axes: list[int], keeps: bool, bound: Mapping[str, object]
    ) -> Tensor | None:
        """What is several kernels here: between them are numbers of the type that torch computes in."""
        kind, each = computed_in(first.dtype), self.elementwise
        if name in ("var", "std"):
            less = bound.get("correction", int(bound.get("unbiased", True) is not False))
            gone = axes or range(len(first.shape or ()))
            count = product((first.shape or ())[axis] for axis in gone)
            if type(less) is not int:
                return None
            mean = self.reduced("mean", first, axes, True, kind)
            squares = each(name, "({0} - {1}) * ({0} - {1})", (first, mean), kind)
            sums = self.reduced("sum", squares, axes, keeps)
            formula = "{0} / {1}" if name == "var" else "{tl}.sqrt({0} / {1})"
            return each(name, formula, (sums, count - less), first.dtype)
        if name == "norm":
            if bound.get("p", 2) not in (2, 2.0, "fro", None):
                return None
            sums = self.reduced("sum", each(name, "{0} * {0}", (first,), kind), axes, keeps)
            return each(name, "{tl}.sqrt({0})", (sums,), first.dtype)
        if name not in ("softmax", "log_softmax", "logsumexp") or not axes or (first.strides is not None):
            return None
        if name != "logsumexp" and len(axes) != 1:
            return None
        most = self.reduced("amax", first, axes, True, kind)
        if name == "logsumexp":
            most = each(name, '{tl}.where({tl}.abs({0}) == float("inf"), 0, {0})', (most,), kind)
        powers = each(name, "{tl}.exp({0} - {1})", (first, most), kind)
        sums = self.reduced("sum", powers, axes, name != "logsumexp" or keeps)
        if name == "softmax":
            return each(name, "{0} / {1}", (powers, sums), first.dtype)
        if name == "log_softmax":
            return each(name, "{0} - {1} - {tl}.log({2})", (first, most, sums), first.dtype)
        if not keeps:
            for axis in sorted((a % len(first.shape or ()) for a in axes), reverse=True):
                most = without(most, axis)
        return each(name, "{tl}.log({0}) + {1}", (sums, most), first.dtype)


def _operand(value: object) -> Operand:
    """An operand of an operation. Raises `NotWorked` for another value."""
    if isinstance(value, Tensor) or (
        is_number(value) and not (isinstance(value, float) and math.isnan(value))
    ):
        return value
    raise NotWorked("torch's work on something else than tensors and numbers")
