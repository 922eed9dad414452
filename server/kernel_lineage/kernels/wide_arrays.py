"""Which arrays a kernel addresses by offsets that it works out in 64 bits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
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
_CASTS = frozenset({"cast_expression", "call_expression"})

_N = TypeVar("_N")
Bounds = tuple[int, int]
"""First byte and the byte behind the last one."""


@dataclass(frozen=True, slots=True)
class WideArray:
    """An array that is addressed by products in 64 bits."""

    factors: int
    """How many different values are widened on the way to its addresses."""
    addresses: int
    """How many addresses have such a product."""


def wide_arrays(kernel: Kernel) -> dict[str, WideArray]:
    """The pointer parameters that the kernel's own body addresses by a product which is widened to 64 bits on its way.

    A value that is widened and not multiplied held in 32 bits before, and so did a product that is cast when it is
    worked out. What is read through another address does not count: `x[at[(size_t)i * n]]` widens the offsets of `at`,
    not of `x`. Empty for a kernel that cannot be read.
    """
    spans = [site.span for site in wide_index.MECHANISM.detect(kernel)]
    if not spans or kernel.source is None:
        return {}
    sites = {(span.start, span.end): kernel.source.data[span.start : span.end] for span in spans}
    if kernel.language is Language.CUDA:
        cuda = cuda_syntax(kernel)
        ways = _in_cuda(cuda.entry, sites) if cuda is not None else ()
    else:
        triton = triton_syntax(kernel)
        ways = _in_triton(triton.entry, sites) if triton is not None else ()
    pointers = {p.name for p in kernel.parameters if p.pointer}
    factors: dict[str, list[set[bytes]]] = {}
    for array, wide in ways:
        if wide and array in pointers:
            factors.setdefault(array, []).append(wide)
    return {array: WideArray(len(set().union(*each)), len(each)) for array, each in factors.items()}


@dataclass(frozen=True)
class _Flow(Generic[_N]):
    """How values come about in one function, as its language's nodes say it."""

    sites: Mapping[Bounds, bytes]
    """What widens a value, each with its text."""
    bounds: Callable[[_N], Bounds]
    multiplies: Callable[[_N], bool]
    inside: Callable[[_N], Iterable[_N]]
    """What a site widens while it is worked out."""
    name: Callable[[_N], str]
    values: Callable[[str], Iterable[_N]]
    """What a variable is assigned."""
    parts: Callable[[_N], Iterable[_N]]
    """What an expression is worked out from, but not where it loads from."""

    def way(self, address: Iterable[_N]) -> tuple[set[str], set[bytes]]:
        """The names that an address is worked out from, and what is widened in products among them."""
        waiting = [(node, False) for node in address]
        visited: set[tuple[str, bool]] = set()
        wide: set[bytes] = set()
        while waiting:
            node, multiplied = waiting.pop()
            multiplied = multiplied or self.multiplies(node)
            text = self.sites.get(self.bounds(node))
            if text is not None and (multiplied or any(map(self.multiplies, self.inside(node)))):
                wide.add(text)
            name = self.name(node)
            if not name:
                waiting += [(part, multiplied) for part in self.parts(node)]
            elif (name, multiplied) not in visited:
                visited.add((name, multiplied))
                waiting += [(value, multiplied) for value in self.values(name)]
        return {name for name, _ in visited}, wide


def _in_cuda(unit: Unit, sites: Mapping[Bounds, bytes]) -> Iterator[tuple[str, set[bytes]]]:
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
        lambda node: inside(node) if node.type not in _CASTS else (),
        lambda node: text_of(node) if node.type == "identifier" else "",
        lambda name: values.get(name, ()),
        lambda node: node.named_children if node.type not in _ACCESSES or operator_of(node) == "&" else (),
    )
    reach = indexing(unit)
    for access in reach.accesses:
        if access.space == "global":
            yield access.root, flow.way(access.node.named_children)[1]
    for argument in (argument for call in unit.calls for argument in call.arguments):
        place = reach.place(argument)  # an address that a function reads or writes at
        if place.root and reach.space_of(place.root) == "global":
            yield place.root, flow.way([argument])[1]


def _bounds(node: Node) -> Bounds:
    return node.start_byte, node.end_byte


def _in_triton(unit: TritonUnit, sites: Mapping[Bounds, bytes]) -> Iterator[tuple[str, set[bytes]]]:
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
        lambda _: (),
        lambda node: node.id if isinstance(node, ast.Name) else "",
        values,
        lambda node: (
            () if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load" else children(node)
        ),
    )
    for call in (*unit.loads(), *unit.stores()):
        names, wide = flow.way([call.node.args[0]])
        yield from ((name, wide) for name in names)
