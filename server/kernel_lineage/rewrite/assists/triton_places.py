"""Where the parts of a `@triton.jit` function stand in the file, and what its names depend on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.kernels.triton_syntax import TritonSyntax, triton_syntax
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Refusal


def function_of(kernel: Kernel) -> ast.FunctionDef:
    """The kernel's function. Refused where its file does not parse."""
    if kernel.function is None or kernel.source is None:
        raise Refusal(f"the file of {kernel.name} does not parse")
    return kernel.function


def triton_syntax_of(kernel: Kernel) -> TritonSyntax:
    """The kernel's syntax, refused as `function_of`."""
    function_of(kernel)
    syntax = triton_syntax(kernel)
    assert syntax is not None
    return syntax


def start_of_line(data: bytes, offset: int) -> int:
    """Where the line of an offset begins."""
    return data.rfind(b"\n", 0, offset) + 1


def span_of(kernel: Kernel, node: ast.expr | ast.stmt | ast.arg) -> Span:
    """The span of a part of the kernel; `ast` counts lines of the file and UTF-8 bytes within them."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = data_of(kernel).split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return Span(
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
        node.lineno,
        node.end_lineno,
    )


def calls_of(node: ast.AST, name: str) -> Iterator[ast.Call]:
    """The calls `tl.<name>(…)` below a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and called(inner) == name:
            yield inner


def called(call: ast.Call) -> str:
    """`load` for `tl.load(…)` and `triton.language.load(…)`; "" for anything else."""
    function = call.func
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) in (
        "tl",
        "triton.language",
        "language",
    ):
        return function.attr
    return ""


def assignments(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """Name → every expression that goes into it: `=`, `+=`, and the range of a loop."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(node.value)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                found.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.iter)
    return found


def sources(expression: ast.expr, flow: dict[str, list[ast.expr]]) -> tuple[set[str], list[ast.expr]]:
    """The names that an expression comes from, directly or not, and all expressions on the way."""
    names: set[str] = set()
    expressions = [expression]
    for current in expressions:
        for node in ast.walk(current):
            if isinstance(node, ast.Name) and node.id not in names:
                names.add(node.id)
                expressions += flow.get(node.id, [])
    return names, expressions
