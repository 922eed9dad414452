"""How a mechanism's file says what it saw."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import span_of, text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Parameters, Site
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import TritonUnit


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
    return next(((match, node) for name, node in types_in(unit) if (match := pattern.search(name))), None)


def in_assembly(unit: Unit, *patterns: str | re.Pattern[str]) -> Iterator[tuple[re.Match[str], Node]]:
    """Inline PTX that holds one of some texts or patterns: what was met first of each, and the statement."""
    for code, node in unit.assembly:
        for pattern in patterns:
            match = re.search(re.escape(pattern) if isinstance(pattern, str) else pattern, code)
            if match is not None:
                yield match, node


def parameters(**values: object) -> Parameters:
    """Parameters of an occurrence; those without a value (None, "") are left out."""
    return tuple(sorted((name, str(value)) for name, value in values.items() if value not in (None, "")))


def seen(node: Node, detail: str, root: str = "", *, certain: bool = True, **values: object) -> Site:
    """A site at a node of a CUDA C++ kernel; `values` are its parameters."""
    return Site(span_of(node), detail, root, parameters(**values), certain)


def seen_in(unit: TritonUnit, node: ast.AST, detail: str, root: str = "", **values: object) -> Site:
    """A site at a node of a Triton kernel."""
    return Site(unit.span(node), detail, root, parameters(**values))


def seen_on(kernel: Kernel, detail: str, **values: object) -> Site:
    """A site at the kernel's name: for what its attributes or launch say."""
    return Site(kernel.name_span, detail, "", parameters(**values))
