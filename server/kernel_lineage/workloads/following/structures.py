"""Structures that a caller hands to a host function: what their fields are there, and which buffers are nobody else's.

A buffer that only the function uses is its workspace: how it is laid out, and whether there is one, is its own choice.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.functions import HostCode, HostParameter
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.names import fetched
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import VECTORS
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Place, Record, Value
from kernel_lineage.workloads.following.ways import follow_way
from kernel_lineage.workloads.following.workspaces import CLEARS, KEEPERS, call_around, callee_of

_TESTS = frozenset({"if_statement", "while_statement", "condition_clause", "parenthesized_expression"})


def call_of(unit: Unit, name: str) -> tuple[Launched, Sizes] | None:
    """A call of a host function as its callers come to it, or as anybody may; None where it cannot be followed."""
    leading = unit.leading_to(name)
    functions = [f for f in unit.hosts(name) if f.of_host]
    ways = (follow_way(unit, name, leading, entry) for entry in (*unit.entries(leading), *functions))
    return next(filter(None, ways), None)


def structure_of(parameter: HostParameter, unit: Unit) -> tuple[HostParameter, ...]:
    """The fields of a parameter that is a structure, or a reference or pointer to one; none of another parameter."""
    kind = alias_of(parameter.type, unit)
    return unit.fields_of(kind) if parameter.stars <= 1 and kind not in VECTORS else ()


def record_of(value: Value | None) -> Record | None:
    """The structure that a value is, or points to."""
    held = fetched(value) if isinstance(value, Place) else value
    return held if isinstance(held, Record) else None


def field_name(parameter: HostParameter, field: HostParameter) -> str:
    """How a workload calls the argument that is a field of a parameter."""
    return f"{parameter.name}_{field.name}"


def is_own(field: HostParameter, value: Value | None, function: HostCode, unit: Unit) -> bool:
    """Whether a field's buffer, as a caller hands it on, is used by nobody but a host function and what that calls.

    It is allocated as that field, and others only set its bytes and free it. Fields of one name count as one.
    """
    buffer = buffer_at(value) if value is not None else None
    if buffer is None or buffer.name != field.name or buffer.size is None:
        return False
    return all(_keeps(node, unit) for node in _elsewhere(field.name, function, unit))


def _elsewhere(field: str, function: HostCode, unit: Unit) -> Iterator[Node]:
    """Where code of the host outside of a function and of what that calls names a field."""

    def called(name: str) -> Iterator[str]:
        yield from (word for f in unit.functions.get(name, ()) if f.of_host for word in f.words)

    ours = set(reachable([function.name], called))
    bodies = [f.body for n, fs in unit.functions.items() if n not in ours for f in fs if f.of_host]
    for body in (*bodies, *(code.body for code in unit.classes.values())):
        for node in inside(body):
            is_declared = node.parent is not None and node.parent.type.endswith("declarator")
            is_named = node.type == "field_identifier" and not is_declared
            if (is_named or (node.type == "identifier" and body not in bodies)) and text_of(node) == field:
                yield node


def _keeps(node: Node, unit: Unit) -> bool:
    """Whether a place that names a field only allocates, clears from its start, tests or frees its buffer."""
    place = node.parent if node.parent is not None and node.parent.type == "field_expression" else node
    root = unit.root
    call = call_around(place, root)
    around = place.parent
    if call is not None and callee_of(call) in KEEPERS:
        texts = [text_of(a) for a in arguments_of(call.child_by_field_name("arguments"))]
        is_whole = around is not None and around.type == "argument_list"
        return callee_of(call) not in CLEARS or (is_whole and texts[1:2] == ["0"])
    if around is None or (call is not None and callee_of(call) not in unit.macros):
        return False
    if around.type == "assignment_expression":
        left, right = (around.child_by_field_name(side) for side in ("left", "right"))
        return left is not None and left.id == place.id and text_of(right) in ("nullptr", "NULL", "0")
    return around.type in _TESTS or text_of(around.child_by_field_name("operator")) == "!"
