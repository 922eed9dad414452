"""Which arrays a kernel addresses by offsets that it works out in 64 bits."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import field_of, inside, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms import wide_index
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_forms import children
from kernel_lineage.kernels.triton_syntax import TritonUnit, triton_syntax

_ACCESSES = frozenset({"subscript_expression", "pointer_expression"})

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
    flow = _CudaFlow(sites, values)
    for access in indexing(unit).accesses:
        if access.space == "global" and flow.is_wide(access.node.named_children):
            yield access.root


@dataclass(frozen=True, slots=True)
class _CudaFlow:
    sites: Collection[Bounds]
    values: Mapping[str, Sequence[Node]]
    """Each variable → what is assigned to it."""

    def is_wide(self, nodes: Sequence[Node]) -> bool:
        """Whether one of these expressions is worked out from a value that is widened."""
        waiting = [(node, False) for node in nodes]
        visited: set[tuple[str, bool]] = set()
        while waiting:
            node, multiplied = waiting.pop()
            multiplied = multiplied or _multiplies(node)
            if _bounds(node) in self.sites and (multiplied or any(map(_multiplies, inside(node)))):
                return True
            if node.type == "identifier" and (text_of(node), multiplied) not in visited:
                visited.add((text_of(node), multiplied))
                waiting += [(value, multiplied) for value in self.values.get(text_of(node), ())]
            elif node.type not in _ACCESSES or operator_of(node) == "&":
                waiting += [(child, multiplied) for child in node.named_children]
        return False


def _multiplies(node: Node) -> bool:
    return node.type == "binary_expression" and operator_of(node) in ("*", "<<")


def _bounds(node: Node) -> Bounds:
    return node.start_byte, node.end_byte


def _in_triton(unit: TritonUnit, sites: Collection[Bounds]) -> Iterator[str]:
    for call in (*unit.loads(), *unit.stores()):
        names, wide = _on_the_way(unit, call.node.args[0], sites)
        if wide:
            yield from names


def _on_the_way(unit: TritonUnit, address: ast.expr, sites: Collection[Bounds]) -> tuple[set[str], bool]:
    """The names that an address is worked out from, and whether a value is widened among them."""
    arguments = unit.function.args
    parameters = {a.arg: a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    waiting: list[tuple[ast.AST, bool]] = [(address, False)]
    visited: set[tuple[str, bool]] = set()
    wide = False
    while waiting:
        node, multiplied = waiting.pop()
        multiplied = multiplied or _is_product(node)
        span = unit.span(node)
        if (span.start, span.end) in sites:
            wide = wide or multiplied or any(_is_product(child) for child in unit.inside(node))
        if isinstance(node, ast.Name) and (node.id, multiplied) not in visited:
            visited.add((node.id, multiplied))
            sources = (*unit.assignments.get(node.id, ()), *unit.advances.get(node.id, ()))
            waiting += [(value, multiplied) for _, value in sources]
            waiting += [(parameters[node.id], multiplied)] if node.id in parameters else []
        elif not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load"):
            waiting += [(child, multiplied) for child in children(node)]
    return {name for name, _ in visited}, wide


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.LShift)
