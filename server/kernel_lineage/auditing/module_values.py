"""What a module's Python is about while it is worked out: objects, kernels, extensions, and Python's own operators."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_lineage.auditing.tensors import Tensor

Launch = Callable[["JitKernel", Sequence[Any], Sequence[Any], Mapping[str, Any]], None]
"""A kernel, the grid, and the arguments of a launch."""
MOST_STEPS = 200_000
DRAWN = {"normal_": {"mean": 0.0, "std": 1.0}, "uniform_": {"a": 0.0, "b": 1.0}}
BINARY: dict[type[ast.operator], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Add: (operator.add, "add"), ast.Sub: (operator.sub, "sub"), ast.Mult: (operator.mul, "mul"),
    ast.Div: (operator.truediv, "div"), ast.Pow: (operator.pow, "pow"), ast.MatMult: (operator.matmul, "matmul"),
    ast.FloorDiv: (operator.floordiv, "floor_divide"),
    ast.Mod: (operator.mod, "remainder"), ast.LShift: (operator.lshift, "bitwise_left_shift"),
    ast.RShift: (operator.rshift, "bitwise_right_shift"),
    ast.BitAnd: (operator.and_, "bitwise_and"),
    ast.BitXor: (operator.xor, "bitwise_xor"), ast.BitOr: (operator.or_, "bitwise_or"),
}  # fmt: skip
COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
BUILTINS: dict[str, Callable[..., Any]] = {
    "len": lambda x: x.shape[0] if isinstance(x, Tensor) else len(x), "range": range, "min": min, "max": max,
    "int": int, "float": float, "bool": bool, "abs": abs, "tuple": tuple, "list": list, "sum": sum, "zip": zip,
    "enumerate": enumerate, "dict": dict, "set": set, "sorted": sorted, "any": any, "all": all, "str": str,
    "reversed": reversed, "divmod": divmod,
    "isinstance": lambda *_a: True, "print": lambda *_a, **_k: None, "round": round,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dotted:
    """A name of another module: `torch.nn.functional`."""

    name: str


@dataclass(frozen=True, slots=True)
class JitKernel:
    """A Triton kernel, with what its first autotune configuration fixes."""

    name: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extension:
    """What `load_inline` gives: CUDA C++ whose host functions may be called."""

    source: str


@dataclass(eq=False)
class Instance:
    """An object of a class of the module."""

    of: ast.ClassDef
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Function:
    """A function or a lambda of the module, with the names around it; a method has its object."""

    node: ast.FunctionDef | ast.Lambda
    scope: dict[str, Any]
    bound: Instance | None = None


@dataclass(frozen=True, slots=True)
class Launchable:
    """A kernel with its grid: `kernel[grid]`."""

    kernel: JitKernel
    grid: Any


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A host function of an extension, to be called."""

    extension: Extension
    name: str
