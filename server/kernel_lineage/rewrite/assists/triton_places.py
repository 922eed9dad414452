"""Where the parts of a `@triton.jit` function stand in the file, and what its names depend on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.kernels.triton_syntax import TritonSyntax, triton_syntax
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    indent_at,
    insert_before,
    replace_between,
    start_of_line,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.candidate import Edit

_TUNERS = ("autotune", "heuristics")


def check_launched_here(kernel: Kernel, does: str) -> None:
    """Refuse a kernel whose file has no launch, or one that a tuner launches; `does` is what the tuner then does."""
    for tuner in _TUNERS:
        if tuner in kernel.attributes:
            raise Refusal(f"{kernel.name} is launched by @triton.{tuner}, which {does}")
    if not kernel.launches:
        raise Refusal(f"{kernel.name} is not launched in this file")


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


def span_of(kernel: Kernel, node: ast.AST) -> Span:
    """The span of a part of the kernel in its file."""
    return triton_syntax_of(kernel).entry.span(node)


def stored_names(node: ast.AST) -> list[str]:
    """The names that are given a value below a node, as often as they are."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def holds_text_of_lines(statements: Iterable[ast.stmt]) -> bool:
    """Whether a text of several lines stands in statements: its lines cannot be moved in or out."""
    return any(
        (isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str)))
        and n.lineno != n.end_lineno
        for statement in statements
        for n in ast.walk(statement)
    )


def moved_out(kernel: Kernel, branch: ast.If) -> list[Edit]:
    """Edits that move the lines of a branch's body out by one step. Refused where they are no lines of their own."""
    data, first = data_of(kernel), branch.body[0]
    if first.lineno == branch.test.end_lineno or holds_text_of_lines(branch.body):
        raise Refusal(f"what line {branch.lineno} branches to is not moved out of it by whole lines")
    outer, inner = (indent_at(data, span_of(kernel, s).start) for s in (branch, first))
    edits, at = list[Edit](), data.index(b"\n", span_of(kernel, branch.test).end) + 1
    while 0 < at < span_of(kernel, branch.body[-1]).end:
        if data.startswith(inner.encode(), at):
            edits.append(replace_between(kernel, at, at + len(inner) - len(outer), ""))
        at = data.find(b"\n", at) + 1
    return edits


def parameter_added(kernel: Kernel, function: ast.FunctionDef, name: str) -> Edit:
    """An edit that declares `NAME: tl.constexpr` as the kernel's last parameter. Refused where none can be added."""
    arguments = function.args
    if (
        arguments.defaults
        or arguments.kwonlyargs
        or arguments.vararg
        or arguments.kwarg
        or not arguments.args
    ):
        raise Refusal(f"{kernel.name} has parameters behind which none can be added")
    if name in names_in(function):
        raise Refusal(f"{kernel.name} knows another {name}")
    data, span = data_of(kernel), span_of(kernel, arguments.args[-1])
    line = data[start_of_line(data, span.start) : span.start]
    separator = ", " if line.strip() else f",\n{line.decode()}"
    return insert_before(kernel, span.end, f"{separator}{name}: tl.constexpr")


class _Resolved(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def visit_Name(self, name: ast.Name) -> ast.AST:
        return ast.parse(self.values[name.id], mode="eval").body if name.id in self.values else name


def resolved(written: str, values: Mapping[str, str]) -> str:
    """An expression with names replaced by what they stand for."""
    return ast.unparse(_Resolved(values).visit(ast.parse(written, mode="eval").body))


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
    flow: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        flow.setdefault(name.id, []).append(node.value)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                flow.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            flow.setdefault(node.target.id, []).append(node.iter)
    return flow


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


def check_imports_triton(kernel: Kernel) -> None:
    """Refuse a file in which a launch cannot ask `triton` for anything by that name."""
    if re.search(rb"^import triton$", data_of(kernel), re.MULTILINE) is None:
        raise Refusal(
            "the file does not import triton by its name, of which the launch would ask next_power_of_2"
        )
