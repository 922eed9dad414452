"""The syntax of one Triton kernel, indexed once: what every detector and anchor pattern reads.

The kernel and the `@triton.jit` functions that it reaches are its *units*. Where the file is broken, the kernel's own
text is tried; where that is broken too, there is nothing to see, and no exception.

Index expressions are read as linear forms over the axes `program` (the program's id), `arange` (a block of elements;
`arange0` and `arange1` when it is spread over rows and columns) and `loop@N` (the loop on line N).
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from kernel_lineage.kernels.linear_forms import UNIFORM, Coefficient, Linear, add
from kernel_lineage.kernels.source import Kernel, Language, Span
from kernel_lineage.kernels.triton_forms import TritonCall, children, dotted, each_given, elements

_LOADS = frozenset({"load"})
_WINDOW = ("base", "shape", "strides", "offsets", "block_shape", "order")
"""The arguments of `tl.make_block_ptr`."""


@dataclass
class TritonUnit:
    """One function of a kernel: the kernel itself (`entry`) or a jit function that it reaches."""

    kernel: Kernel
    name: str
    function: ast.FunctionDef
    entry: bool
    first_byte: int
    """The first byte of the line on which `line_offset` counts."""
    first_line: int
    text: bytes = field(repr=False)
    """The file's text from `first_byte` on, as far as the function goes."""
    indent: int = 0
    """How many bytes were taken off the front of each line before it was parsed."""
    lines_from_one: bool = False
    """Whether the tree counts lines from the start of `text`, not of the file."""
    pointers: frozenset[str] = frozenset()
    """The parameters known to be pointers; empty when that is not known."""
    _inside: dict[ast.AST, list[ast.AST]] = field(default_factory=dict, repr=False)
    _forms: dict[ast.AST, Linear] = field(default_factory=dict, repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, at = [0], self.text.find(b"\n")
        while at != -1:
            starts.append(at + 1)
            at = self.text.find(b"\n", at + 1)
        return starts

    def span(self, node: ast.AST) -> Span:
        """The span of a node in the file."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        last = first if last is None else last
        shift = self.first_line - 1 if self.lines_from_one else 0
        start = self._byte(first + shift, getattr(node, "col_offset", 0))
        end = self._byte(last + shift, getattr(node, "end_col_offset", 0) or 0)
        return Span(start, max(start, end), first + shift, last + shift)

    def _byte(self, line: int, column: int) -> int:
        at = min(max(line - self.first_line, 0), len(self._line_starts) - 1)
        return self.first_byte + self._line_starts[at] + self.indent + column

    @cached_property
    def nodes(self) -> dict[type[ast.AST], list[ast.AST]]:
        """Every node by its type, in the order of the text; decorators and defaults aside."""
        nodes: dict[type[ast.AST], list[ast.AST]] = {}
        for statement in self.function.body:
            for node in self.inside(statement):
                nodes.setdefault(type(node), []).append(node)
        return nodes

    @cached_property
    def calls(self) -> tuple[TritonCall, ...]:
        """Every call."""
        calls = []
        for node in self.nodes.get(ast.Call, ()):
            if isinstance(node, ast.Call):
                qualified = dotted(node.func)
                calls.append(TritonCall(qualified.rpartition(".")[2], qualified, node))
        return tuple(calls)

    def called(self, *names: str) -> Iterator[TritonCall]:
        """The calls of these names."""
        return (call for call in self.calls if call.name in names)

    @cached_property
    def loops(self) -> tuple[ast.For | ast.While, ...]:
        """Every loop, outer before inner."""
        loops = [*self.nodes.get(ast.For, ()), *self.nodes.get(ast.While, ())]
        return tuple(sorted((n for n in loops if isinstance(n, ast.For | ast.While)), key=lambda n: n.lineno))

    def loops_around(self, node: ast.AST) -> tuple[ast.For | ast.While, ...]:
        """The loops whose body contains a node, outermost first."""
        line = getattr(node, "lineno", 0)
        return tuple(loop for loop in self.loops if loop.lineno < line <= (loop.end_lineno or 0))

    @cached_property
    def assignments(self) -> dict[str, list[tuple[int, ast.expr]]]:
        """Name → line and value of every plain assignment to it; `a, b = c, d` is one to each."""
        values: dict[str, list[tuple[int, ast.expr]]] = {}
        for node in self.nodes.get(ast.Assign, ()):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name, value in each_given(target, node.value):
                        values.setdefault(name, []).append((node.lineno, value))
        return values

    @cached_property
    def advances(self) -> dict[str, list[tuple[int, ast.expr]]]:
        """Name → line and amount of every `+=`."""
        values: dict[str, list[tuple[int, ast.expr]]] = {}
        for node in self.nodes.get(ast.AugAssign, ()):
            if (
                isinstance(node, ast.AugAssign)
                and isinstance(node.target, ast.Name)
                and isinstance(node.op, ast.Add)
            ):
                values.setdefault(node.target.id, []).append((node.lineno, node.value))
        return values

    def value_of(self, name: str, before: int) -> tuple[int, ast.expr] | None:
        """The latest value assigned to a name above a line."""
        earlier = [pair for pair in self.assignments.get(name, ()) if pair[0] < before]
        return earlier[-1] if earlier else None

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the function's parameters."""
        arguments = self.function.args
        return frozenset(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))

    def inside(self, node: ast.AST) -> list[ast.AST]:
        """A node and everything within it in the order of the text, operators and contexts aside; kept per node."""
        nodes = self._inside.get(node)
        if nodes is None:
            nodes = [node]
            for child in children(node):
                nodes += self.inside(child)
            self._inside[node] = nodes
        return nodes

    def names_in(self, node: ast.AST) -> set[str]:
        """The names within a node."""
        return {n.id for n in self.inside(node) if isinstance(n, ast.Name)}

    def form(self, node: ast.expr, depth: int = 0) -> Linear:
        """The linear form of an index or address expression; `pointer:NAME` is an axis for each parameter in it."""
        form = self._forms.get(node)
        if form is None:
            form = self._read_form(node, depth)
            self._forms[node] = form
        return form

    def _read_form(self, node: ast.expr, depth: int) -> Linear:
        if depth > 24:
            return UNIFORM
        match node:
            case ast.Name():
                return self._name_form(node, depth)
            case ast.BinOp(left, ast.Add() | ast.Sub(), right):
                return add(self.form(left, depth + 1), self.form(right, depth + 1))
            case ast.BinOp(left, ast.Mult(), right):
                return self._product(left, right, depth)
            case ast.BinOp(left, _, right):
                return dict.fromkeys({*self.form(left, depth + 1), *self.form(right, depth + 1)}, "?")
            case ast.Subscript(value, index):
                return _spread(self.form(value, depth + 1), index)
            case ast.Call():
                return self._call_form(node, depth)
        return UNIFORM

    def _name_form(self, node: ast.Name, depth: int) -> Linear:
        form: Linear = {"pointer:" + node.id: 1} if node.id in (self.pointers or self.parameters) else UNIFORM
        for loop in self.loops_around(node):
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == node.id:
                start = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and loop.iter.args else None
                own = self.form(start, depth + 1) if start is not None else UNIFORM
                return add(
                    {a: c for a, c in own.items() if not a.startswith("pointer:")}, {f"loop@{loop.lineno}": 1}
                )
        value = self.value_of(node.id, node.lineno)
        if value is not None:
            form = self.form(value[1], depth + 1)
        for line, amount in self.advances.get(node.id, ()):
            if line < node.lineno and (value is None or value[0] < line):
                form = add(form, self.form(amount, depth + 1))
        return form

    def _product(self, left: ast.expr, right: ast.expr, depth: int) -> Linear:
        first, second = _moving(self.form(left, depth + 1)), _moving(self.form(right, depth + 1))
        if first and second:
            return dict.fromkeys({*first, *second}, "?")
        moving, still = (first, right) if first else (second, left)
        factor = _coefficient(still)
        return {axis: factor if c == 1 else f"{c}*{factor}" for axis, c in moving.items()}

    def _call_form(self, node: ast.Call, depth: int) -> Linear:
        name = dotted(node.func).rpartition(".")[2]
        if name == "program_id":
            return {"program": 1}
        if name == "arange":
            return {"arange": 1}
        if name == "make_block_ptr":
            return self._window_form(node, depth)
        if name == "advance" and node.args:
            return self.form(node.args[0], depth + 1)
        if name in _LOADS:
            return dict.fromkeys(_moving(self.form(node.args[0], depth + 1)), "?") if node.args else UNIFORM
        if isinstance(node.func, ast.Attribute) and name in ("to", "cast"):
            return self.form(node.func.value, depth + 1)
        if name in ("max_contiguous", "multiple_of", "cast", "minimum", "where", "maximum"):
            forms = [self.form(a, depth + 1) for a in node.args]
            return next((f for f in forms if _moving(f)), UNIFORM)
        return UNIFORM

    def _window_form(self, node: ast.Call, depth: int) -> Linear:
        """A block pointer as the address that it stands for: `base + rows[:, None] * s0 + columns[None, :] * s1`."""
        arguments = window_of(node)
        strides, offsets = (elements(arguments.get(name)) for name in ("strides", "offsets"))
        form = self.form(arguments["base"], depth + 1) if "base" in arguments else UNIFORM
        axes = ["arange"] if len(strides) == 1 else ["arange0", "arange1"]
        for axis, stride in zip(axes, strides[-len(axes) :], strict=False):
            form = add(form, {axis: _coefficient(stride)})
        for offset, stride in zip(offsets, strides, strict=False):
            form = add(form, self._product(offset, stride, depth + 1))
        return form

    def loads(self) -> Iterator[TritonCall]:
        """Every `tl.load`."""
        return (c for c in self.called("load") if c.of_language and c.node.args)

    def stores(self) -> Iterator[TritonCall]:
        """Every `tl.store`."""
        return (c for c in self.called("store") if c.of_language and c.node.args)


def window_of(node: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a `tl.make_block_ptr`, by name."""
    named = {k.arg: k.value for k in node.keywords if k.arg}
    return dict(zip(_WINDOW, node.args, strict=False)) | named


def _coefficient(factor: ast.expr) -> Coefficient:
    """What an axis is multiplied by: a number, a name, or `?`."""
    if isinstance(factor, ast.Constant) and type(factor.value) is int:
        return factor.value
    return dotted(factor) or "?"


def _moving(form: Linear) -> Linear:
    return {axis: c for axis, c in form.items() if not axis.startswith("pointer:")}


def _spread(form: Linear, index: ast.expr) -> Linear:
    """`rows[:, None]` varies along axis 0, `cols[None, :]` along axis 1."""
    if "arange" not in form or not isinstance(index, ast.Tuple) or not index.elts:
        return form
    first = index.elts[0]
    axis = "arange1" if isinstance(first, ast.Constant) and first.value is None else "arange0"
    return {axis if a == "arange" else a: c for a, c in form.items()}


def pointer_of(form: Linear) -> str:
    """The parameter that an address comes from, "" when there is none or more than one."""
    names = [
        axis.removeprefix("pointer:") for axis, c in form.items() if axis.startswith("pointer:") and c == 1
    ]
    pointers = [n for n in names if n.lower().endswith(("ptr", "_ptr"))] or names
    return pointers[0] if pointers else ""


@dataclass
class TritonSyntax:
    """All units of one kernel, the kernel first."""

    kernel: Kernel
    units: tuple[TritonUnit, ...]

    @property
    def entry(self) -> TritonUnit:
        """The kernel itself."""
        return self.units[0]

    def calls(self, *names: str) -> Iterator[tuple[TritonUnit, TritonCall]]:
        """The calls of these names in all units."""
        for unit in self.units:
            for call in unit.called(*names):
                yield unit, call


@lru_cache(maxsize=512)
def _parsed(text: str) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(text)
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):  # what `ast.parse` documents for text it cannot read
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)


def _unit_of_text(kernel: Kernel, name: str, span: Span, text: str, *, entry: bool) -> TritonUnit | None:
    source = kernel.source.data if kernel.source is not None else None
    start = source.rfind(b"\n", 0, span.start) + 1 if source is not None else span.start
    data = source[start : span.end] if source is not None else text.encode()
    whole = data.decode("utf-8", "replace")
    function = _parsed(textwrap.dedent(whole))
    if function is None:
        return None
    indent = len(whole) - len(whole.lstrip(" \t"))
    return TritonUnit(
        kernel, name, function, entry, start, span.first_line, data, indent, lines_from_one=True
    )


def _read(kernel: Kernel) -> TritonSyntax | None:
    data = kernel.source.data if kernel.source is not None else None
    entry: TritonUnit | None
    if kernel.function is not None and data is not None:
        start = data.rfind(b"\n", 0, kernel.span.start) + 1
        text = data[start : kernel.span.end]
        entry = TritonUnit(kernel, kernel.name, kernel.function, True, start, kernel.span.first_line, text)
    else:
        entry = _unit_of_text(kernel, kernel.name, kernel.span, kernel.text, entry=True)
    if entry is None:
        return None
    entry.pointers = frozenset(p.name for p in kernel.parameters if p.pointer)
    units = [entry]
    if kernel.source is not None and kernel.device_functions:
        for function in kernel.source.device_functions:
            if function.name in kernel.device_functions:
                unit = _unit_of_text(kernel, function.name, function.span, function.text, entry=False)
                if unit is not None:
                    units.append(unit)
    return TritonSyntax(kernel, tuple(units))


_latest: tuple[Kernel, TritonSyntax | None] | None = None


def triton_syntax(kernel: Kernel) -> TritonSyntax | None:
    """The indexed syntax of a kernel; None when it is not Triton or cannot be parsed. The latest kernel's is kept."""
    global _latest
    if kernel.language is not Language.TRITON:
        return None
    latest = _latest
    if latest is not None and latest[0] is kernel:
        return latest[1]
    syntax = _read(kernel)
    _latest = (kernel, syntax)
    return syntax
