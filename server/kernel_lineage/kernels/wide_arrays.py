"""Which arrays a kernel addresses by offsets that it works out in 64 bits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import field_of, inside, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms import wide_index
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_forms import children
from kernel_lineage.kernels.triton_syntax import TritonUnit, triton_syntax

_ACCESSES = frozenset({"subscript_expression", "pointer_expression"})

_N = TypeVar("_N")
Bounds = tuple[int, int]
"""First byte and the byte behind the last one."""


def wide_arrays(kernel: Kernel) -> frozenset[str]:
    """The pointer parameters that the kernel's own body addresses by a product which is widened to 64 bits on its way.

    A value that is widened and not multiplied held in 32 bits before. What is read through another address does not
    count: `x[at[(size_t)i * n]]` widens the offsets of `at`, not of `x`. Empty for a kernel that cannot be read.
    """
    sites = {(site.span.start, site.span.end) for site in wide_index.MECHANISM.detect(kernel)}
    if not sites:
        return frozenset()
    pointers = frozenset(p.name for p in kernel.parameters if p.pointer)
    if kernel.language is Language.CUDA:
        cuda = cuda_syntax(kernel)
        return frozenset() if cuda is None else frozenset(_in_cuda(cuda.entry, sites)) & pointers
    triton = triton_syntax(kernel)
    return frozenset() if triton is None else frozenset(_in_triton(triton.entry, sites)) & pointers


@dataclass(frozen=True)
class _Flow(Generic[_N]):
    """How values come about in one function, as its language's nodes say it."""

    sites: Collection[Bounds]
    bounds: Callable[[_N], Bounds]
    multiplies: Callable[[_N], bool]
    inside: Callable[[_N], Iterable[_N]]
    name: Callable[[_N], str]
    values: Callable[[str], Iterable[_N]]
    """What a variable is assigned."""
    parts: Callable[[_N], Iterable[_N]]
    """What an expression is worked out from, but not where it loads from."""

    def way(self, address: Iterable[_N]) -> tuple[set[str], bool]:
        """The names that an address is worked out from, and whether a product is widened among them."""
        waiting = [(node, False) for node in address]
        visited: set[tuple[str, bool]] = set()
        wide = False
        while waiting:
            node, multiplied = waiting.pop()
            multiplied = multiplied or self.multiplies(node)
            if self.bounds(node) in self.sites:
                wide = wide or multiplied or any(map(self.multiplies, self.inside(node)))
            name = self.name(node)
            if not name:
                waiting += [(part, multiplied) for part in self.parts(node)]
            elif (name, multiplied) not in visited:
                visited.add((name, multiplied))
                waiting += [(value, multiplied) for value in self.values(name)]
        return {name for name, _ in visited}, wide


def _in_cuda(unit: Unit, sites: Collection[Bounds]) -> Iterator[str]:
    values: dict[str, list[Node]] = {}
    for variable in unit.variables:
        # A declaration is a site itself where its type is what widens the value.
        at = variable.node if _bounds(variable.node) in sites else variable.value
        if at is not None:
            values.setdefault(variable.name, []).append(at)
    for node in unit.of("assignment_expression"):
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is not None and right is not None and left.type == "identifier":
            values.setdefault(text_of(left), []).append(right)
    flow = _Flow(
        sites,
        _bounds,
        lambda node: node.type == "binary_expression" and operator_of(node) in ("*", "<<"),
        inside,
        lambda node: text_of(node) if node.type == "identifier" else "",
        lambda name: values.get(name, ()),
        lambda node: node.named_children if node.type not in _ACCESSES or operator_of(node) == "&" else (),
    )
    reach = indexing(unit)
    for access in reach.accesses:
        if access.space == "global" and flow.way(access.node.named_children)[1]:
            yield access.root
    for argument in (argument for call in unit.calls for argument in call.arguments):
        place = reach.place(argument)  # an address that a function reads or writes at
        if place.root and reach.space_of(place.root) == "global" and flow.way([argument])[1]:
            yield place.root


def _bounds(node: Node) -> Bounds:
    return node.start_byte, node.end_byte


def _in_triton(unit: TritonUnit, sites: Collection[Bounds]) -> Iterator[str]:
    arguments = unit.function.args
    parameters = {a.arg: a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}

    def bounds(node: ast.AST) -> Bounds:
        span = unit.span(node)
        return span.start, span.end

    def values(name: str) -> Iterator[ast.AST]:
        yield from (value for _, value in (*unit.assignments.get(name, ()), *unit.advances.get(name, ())))
        if name in parameters:
            yield parameters[name]

    flow = _Flow[ast.AST](
        sites,
        bounds,
        lambda node: isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.LShift),
        unit.inside,
        lambda node: node.id if isinstance(node, ast.Name) else "",
        values,
        lambda node: (
            () if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load" else children(node)
        ),
    )
    for call in (*unit.loads(), *unit.stores()):
        names, wide = flow.way([call.node.args[0]])
        if wide:
            yield from names
