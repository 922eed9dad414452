"""Whether host code launches a kernel in loops alone."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.unit import Unit

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_DEPTH = 4


def is_in_loops(name: str, unit: Unit, depth: int = _DEPTH) -> bool:
    """Whether each call of a function, or launch of a kernel, stands in a loop, or in a function that does."""
    sites = list(sites_of(name, unit))
    return bool(sites and depth) and all(
        any(around.type in _LOOPS for around in above(site)) or is_in_loops(function.name, unit, depth - 1)
        for function, site in sites
    )


def sites_of(name: str, unit: Unit) -> Iterator[tuple[HostCode, Node]]:
    """The calls of a function, or launches of a kernel, in the unit's host code, each with the function it is in."""
    for function in (f for functions in unit.functions.values() for f in functions):
        if not function.of_host or name not in function.words or function.name == name:
            continue
        for node in inside(function.body):
            callee = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            if callee.partition("<")[0].strip().rpartition("::")[2] == name:
                yield function, node
