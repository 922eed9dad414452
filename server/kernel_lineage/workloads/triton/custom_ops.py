"""Functions that are registered with torch, and called by the names of their operators."""

from __future__ import annotations

import ast

from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import Function

_REGISTERS = frozenset({"custom_op", "triton_op", "impl", "register_kernel"})


def custom_op(dotted: str, modules: Modules) -> Function | None:
    """The function that is registered for `torch.ops.SPACE.NAME`; None for other names, and for one of no module."""
    match dotted.split("."):
        case ["torch", "ops", space, name]:
            wanted = {f"{space}::{name}", name}
        case _:
            return None
    for path in modules.mentioning(frozenset(word.encode() for word in _REGISTERS)):
        module = modules.read(path)
        function = _registered(module, wanted) if module is not None else None
        if module is not None and function is not None:
            return Function(function, module)
    return None


def _registered(module: HostModule, names: set[str]) -> ast.FunctionDef | None:
    """The function of a module that a decorator or `library.impl("name", function)` registers by one of some names."""
    for function in module.functions.values():
        calls = (d for d in function.decorator_list if isinstance(d, ast.Call))
        if any(_last(d) in _REGISTERS and _texts(d) & names for d in calls):
            return function
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _last(node) == "impl" and _texts(node) & names:
            handed = [a.id for a in node.args if isinstance(a, ast.Name) and a.id in module.functions]
            if handed:
                return module.functions[handed[0]]
    return None


def _last(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _texts(call: ast.Call) -> set[str]:
    return {a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
