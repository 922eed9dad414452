"""Whether a host function leaves nothing behind but what it gives back and what its callers' memory holds.

What it makes beside that is scratch: kernels that change together may hand each other something else by it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_forms import changed_by, inside, text_of
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.workloads.following.functions import PROGRAM, HostParameter
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.triton.host_modules import HostModule, called_in, module_of, names_in

_KEEPS = frozenset(
    {"save_for_backward", "register_buffer", "setattr", "set_", "set_data", "mutable_grad", "append", "extend",
     "insert", "update", "setdefault", "add", "put", "push_back", "emplace_back"}
)  # fmt: skip
"""Calls that may leave tensors in objects."""
_LIBRARIES = frozenset({"torch", "triton", "math", "typing", "__future__"})
_CALLED = re.compile(
    r"(?:torch|at|c10|std)::.*|cuda[A-Z]\w*|dim3|int|float|bool|min|max|static_cast\b.*|[A-Z_\d]+|(?!.*::).*\b\w+(?:\.|->).*",
    re.DOTALL,
)
"""What C++ code calls that keeps no tensor: functions of libraries, casts, checks, and what objects are asked."""
_ELSEWHERE = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)
"""Code by which a function leaves values elsewhere."""


def leaves_nothing_behind(function: str, source: SourceFile) -> bool:
    """Whether a host function, and those of the file that it calls, keep no tensor in an object, a static or a variable
    of the file; False for a program, whose buffers people look at, and where that is not seen.
    """
    if source.language is Language.TRITON:
        return source.module is not None and _in_python(function, module_of(Path(), source.module), set())
    return _in_cuda(function, unit_of(source.data.decode("utf-8", "replace")), set())


def _in_python(function: str, module: HostModule, seen: set[str]) -> bool:
    if function in seen:
        return True
    seen.add(function)
    if "." in function or function not in module.functions:
        return False
    node = module.functions[function]
    kept = {n for n, value in module.values.items() if not isinstance(value, ast.Constant)}
    for inner in ast.walk(node):
        is_inner = isinstance(inner, ast.FunctionDef) and inner is not node
        is_stored = isinstance(inner, (ast.Attribute, ast.Subscript)) and isinstance(inner.ctx, ast.Store)
        is_kept = isinstance(inner, ast.Name) and inner.id in kept
        if is_inner or is_stored or is_kept or isinstance(inner, _ELSEWHERE):
            return False
    elsewhere = {n for n, (base, _) in module.imports.items() if base.partition(".")[0] not in _LIBRARIES}
    if elsewhere & names_in(node):
        return False
    called = called_in(node)
    methods = {n.rpartition(".")[2] for n in module.functions if "." in n} | module.classes.keys()
    return called.isdisjoint(_KEEPS | methods) and all(
        _in_python(name, module, seen) for name in called if name in module.functions
    )


def _in_cuda(function: str, unit: Unit, seen: set[str]) -> bool:
    if function in seen:
        return True
    seen.add(function)
    hosts = unit.hosts(function)
    if (
        function == PROGRAM
        or len(hosts) != 1
        or hosts[0].of_class
        or not all(map(_is_plain, hosts[0].parameters))
    ):
        return False
    names = {p.name for p in hosts[0].parameters}
    nodes = [*inside(hosts[0].body)]
    if any(text_of(n) == "static" for n in nodes if n.type == "storage_class_specifier"):
        return False
    if any(changed_by(n) in names for n in nodes) or hosts[0].words & (
        unit.variables | unit.globals.keys() | _KEEPS
    ):
        return False
    callees = (text_of(n.child_by_field_name("function")) for n in nodes if n.type == "call_expression")
    if not all(_CALLED.fullmatch(c) or c.partition("<")[0].strip() in unit.functions for c in callees):
        return False
    called = (w for w in hosts[0].words if w in unit.functions and w not in unit.kernels)
    return all(_in_cuda(name, unit, seen) for name in called if any(f.of_host for f in unit.functions[name]))


def _is_plain(parameter: HostParameter) -> bool:
    """Whether a parameter is a tensor, a number or memory of numbers, so that what is left there is compared."""
    kind = parameter.type.rpartition("::")[2]
    is_number = kind in DTYPES or kind == "bool"
    return kind in ("Tensor", "cudaStream_t") or (
        is_number and parameter.stars < 2 and not parameter.reference
    )
