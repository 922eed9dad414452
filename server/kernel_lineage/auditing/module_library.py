"""What a module takes from others: the names of its imports, and the calls of torch and Triton that are known here."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kernel_lineage.auditing.module_values import DRAWN, Dotted, Extension
from kernel_lineage.auditing.operations import OPERATIONS as _TABLE
from kernel_lineage.auditing.tensors import NotEvaluableError
from kernel_lineage.auditing.torch_values import Torch


def library_call(torch: Torch, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call of another module's function. Raises `NotEvaluableError` for what needs that module."""
    last = name.rpartition(".")[2]
    if last == "cdiv" and name.startswith("triton"):
        return -(-args[0] // args[1])
    if last == "next_power_of_2":
        return 1 << max(0, int(args[0]) - 1).bit_length()
    if last == "Config" and name.startswith("triton"):
        return {**args[0], **{k: v for k, v in kwargs.items() if k in ("num_warps", "num_stages")}}
    if last == "load_inline":
        sources = kwargs.get("cuda_sources", args[2] if len(args) > 2 else "")
        return Extension("\n".join(sources) if isinstance(sources, list) else str(sources))
    if name.startswith("math."):
        return getattr(math, last)(*args)
    if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional") and last[:1].isupper():
        return torch.layer(last, args, kwargs)
    if name.startswith("torch.") and (made := torch.create(last, args, kwargs)) is not None:
        return made
    if name in ("torch.nn.init.normal_", "torch.nn.init.uniform_"):
        first, second = (kwargs.get(k, d) for k, d in DRAWN[last].items())
        first, second = (*args[1:3], *(first, second)[len(args) - 1 :])
        normal = last == "normal_"
        drawn = (torch.rng.standard_normal if normal else torch.rng.random)(args[0].shape)
        values = first + (second if normal else second - first) * drawn
        args[0].values[...] = torch.tensor(values, args[0].dtype).values
        return args[0]
    if name in (
        "torch.manual_seed",
        "torch.cuda.synchronize",
        "torch.set_float32_matmul_precision",
        "torch.no_grad",
    ):
        return None
    if name.startswith("torch.") and last in _TABLE and name.count(".") <= 3 and "cuda" not in name:
        return torch.operate(last, args, kwargs)
    raise NotEvaluableError(f"{name}, which needs torch")


def imported(node: ast.Import | ast.ImportFrom, scope: dict[str, Any]) -> None:
    """The names that an import binds, as names of the other module."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            scope[alias.asname or alias.name.partition(".")[0]] = Dotted(
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
        else:
            scope[alias.asname or alias.name] = Dotted(f"{node.module}.{alias.name}")


def read_again(target: ast.expr) -> ast.expr:
    """The same place, read."""
    copied = ast.parse(ast.unparse(target), mode="eval").body
    return ast.copy_location(copied, target)


def bound_names(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
