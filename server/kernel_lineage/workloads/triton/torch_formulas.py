"""What functions, methods and operators of PyTorch that work on elements compute, as formulas of Triton."""

from __future__ import annotations

import ast
from collections.abc import Mapping

UNARY: Mapping[str, str] = {
    "abs": "{tl}.abs({0})", "ceil": "{tl}.ceil({0})", "cos": "{tl}.cos({0})", "erf": "{tl}.erf({0})",
    "exp": "{tl}.exp({0})", "exp2": "{tl}.exp2({0})", "expm1": "{lib}.expm1({0})", "floor": "{tl}.floor({0})",
    "log": "{tl}.log({0})", "log1p": "{lib}.log1p({0})", "log2": "{tl}.log2({0})", "neg": "-{0}",
    "reciprocal": "1 / {0}", "relu": "{tl}.where({0} < 0, 0, {0})", "rsqrt": "{tl}.rsqrt({0})",
    "sigmoid": "1 / (1 + {tl}.exp(-{0}))", "sign": "{tl}.where({0} > 0, 1, {tl}.where({0} < 0, -1, 0))",
    "silu": "{0} / (1 + {tl}.exp(-{0}))", "sin": "{tl}.sin({0})", "sqrt": "{tl}.sqrt({0})", "square": "{0} * {0}",
    "tanh": "{lib}.tanh({0})", "trunc": "{lib}.trunc({0})", "isnan": "{0} != {0}", "logical_not": "{0} == 0",
}  # fmt: skip
"""Operation of one tensor → its formula; `{tl}` and `{lib}` are Triton's language and its library."""
GELU: Mapping[str, str] = {
    "none": "0.5 * {0} * (1 + {tl}.erf({0} * 0.7071067811865476))",
    "tanh": "0.5 * {0} * (1 + {lib}.tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0})))",
}
BINARY: Mapping[str, str] = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "maximum": "{tl}.where(({0} != {0}) | ({0} > {1}), {0}, {1})",
    "minimum": "{tl}.where(({0} != {0}) | ({0} < {1}), {0}, {1})",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "lt": "{0} < {1}",
    "le": "{0} <= {1}", "logical_and": "({0} != 0) & ({1} != 0)", "logical_or": "({0} != 0) | ({1} != 0)",
}  # fmt: skip
"""Operation of two tensors, or of a tensor and a number."""
SCALED: Mapping[str, str] = {"add": "{0} + {2} * {1}", "sub": "{0} - {2} * {1}"}
"""The same with `alpha`."""
TERNARY: Mapping[str, tuple[tuple[str, ...], str]] = {
    "addcmul": (("input", "tensor1", "tensor2", "value"), "{0} + {3} * {1} * {2}"),
    "addcdiv": (("input", "tensor1", "tensor2", "value"), "{0} + {3} * {1} / {2}"),
    "lerp": (
        ("input", "end", "weight"),
        "{tl}.where({tl}.abs({2}) < 0.5, {0} + {2} * ({1} - {0}), {1} - ({1} - {0}) * (1 - {2}))",
    ),
}
"""Operation of several → its parameters and its formula."""
LOWEST, HIGHEST = "{tl}.where({0} < {1}, {1}, {0})", "{tl}.where({0} > {1}, {1}, {0})"
"""A value that is raised to a bound, or lowered to one; NaN stays."""
CHOSEN = "{tl}.where({0} != 0, {1}, {2})"
POWERS: Mapping[float, str] = {
    2: "{0} * {0}",
    3: "{0} * {0} * {0}",
    0.5: "{tl}.sqrt({0})",
    -0.5: "{tl}.rsqrt({0})",
    -1: "1 / {0}",
}
POWER = "{lib}.pow({0}, {1})"
KEPT = "{0}"

TO_BOOL = frozenset({"eq", "ne", "gt", "ge", "lt", "le", "logical_and", "logical_or", "logical_not", "isnan"})
OF_ANY_NUMBER = frozenset({"abs", "neg", "relu", "sign", "square"})
"""Operations of one tensor that give whole numbers of whole numbers."""
ALIASES: Mapping[str, str] = {
    "absolute": "abs", "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg",
    "not_equal": "ne", "subtract": "sub", "swish": "silu", "true_divide": "div",
}  # fmt: skip
OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.FloorDiv: "floor_divide", ast.Mod: "remainder",
    ast.MatMult: "matmul", ast.LShift: "bitwise_left_shift", ast.RShift: "bitwise_right_shift", ast.Eq: "eq",
    ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.USub: "neg",
    ast.Invert: "bitwise_not", ast.UAdd: "positive",
}  # fmt: skip
"""Operators of Python on tensors, by torch's names."""
