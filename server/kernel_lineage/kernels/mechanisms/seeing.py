"""How a mechanism's file says what it saw."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import span_of, text_of
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Parameters, Site
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit, triton_syntax

BOTH = frozenset({Language.CUDA, Language.TRITON})
CUDA_ONLY = frozenset({Language.CUDA})
TRITON_ONLY = frozenset({Language.TRITON})


def in_units(
    in_cuda: Callable[[Unit], Iterator[Site]], in_triton: Callable[[TritonUnit], Iterator[Site]]
) -> Callable[[Kernel], Iterator[Site]]:
    """A detector that looks at a kernel and each function that it reaches, one after the other."""

    def detect(kernel: Kernel) -> Iterator[Site]:
        syntax = cuda_syntax(kernel)
        for unit in syntax.units if syntax is not None else ():
            yield from in_cuda(unit)
        python = triton_syntax(kernel)
        for triton_unit in python.units if python is not None else ():
            yield from in_triton(triton_unit)

    return detect


def types_in(unit: Unit) -> tuple[tuple[str, Node], ...]:
    """The types that a function names with their scopes: in aliases, declarations and the calls' template arguments."""
    kept = unit.derived.get("types")
    if not isinstance(kept, tuple):
        kept = unit.derived["types"] = tuple(_read_types(unit))
    return kept


def _read_types(unit: Unit) -> Iterator[tuple[str, Node]]:
    for node in (*unit.of("alias_declaration"), *unit.of("type_definition")):
        yield text_of(node.child_by_field_name("type")), node
    for variable in unit.variables:
        if "::" in variable.type or "<" in variable.type:
            yield variable.type, variable.node
    for call in unit.calls:
        if call.template or "::" in call.qualified:
            yield f"{call.qualified}<{call.template}>", call.node


def first_type(unit: Unit, pattern: re.Pattern[str]) -> tuple[re.Match[str], Node] | None:
    """The first type of a function that a pattern finds, and where it is named."""
    return next(((found, node) for name, node in types_in(unit) if (found := pattern.search(name))), None)


def parameters(**values: object) -> Parameters:
    """Parameters of an occurrence; those without a value (None, "") are left out."""
    return tuple(sorted((name, str(value)) for name, value in values.items() if value not in (None, "")))


def seen(
    mechanism: str, node: Node, detail: str, root: str = "", *, certain: bool = True, **values: object
) -> Site:
    """A site at a node of a CUDA C++ kernel; `values` are its parameters."""
    return Site(mechanism, span_of(node), detail, root, parameters(**values), certain)


def seen_in(
    mechanism: str, unit: TritonUnit, node: ast.AST, detail: str, root: str = "", **values: object
) -> Site:
    """A site at a node of a Triton kernel."""
    return Site(mechanism, unit.span(node), detail, root, parameters(**values))


def seen_on(mechanism: str, kernel: Kernel, detail: str, root: str = "", **values: object) -> Site:
    """A site at the kernel's name: for what its attributes or launch say."""
    return Site(mechanism, kernel.name_span, detail, root, parameters(**values))
