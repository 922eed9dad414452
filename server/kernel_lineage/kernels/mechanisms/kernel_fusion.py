"""Steps that could be kernels of their own, done in one, with what lies between kept out of memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import arguments_of, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import Linear, lane_stride
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in, seen_on
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry, joined, of_kernel

_ACTIVATIONS = frozenset(
    {"exp", "exp2", "sigmoid", "tanh", "erf", "maximum", "silu", "gelu", "relu", "rsqrt"}
)


def _stored_tensors(unit: Unit) -> dict[str, Access]:
    """The global arrays that are written along the threads, by name: whole tensors, not one value per row."""
    return {
        a.root: a
        for a in reversed(indexing(unit).accesses)
        if a.space == "global" and a.writes and lane_stride(a.index) not in (0, "?")
    }


def _stored_value(unit: Unit, access: Access) -> Node | None:
    """What an access stores: the right side of its assignment, or the second argument of its call."""
    for node in unit.of("assignment_expression"):
        left = node.child_by_field_name("left")
        if left is not None and operator_of(node) == "=" and contains(left, access.node):
            return field_of(node, "right")
    return next(iter(arguments_of(access.node)[1:]), None)


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    """Two tensors are stored, and the value stored in one goes on into the other."""
    tensors = _stored_tensors(unit)
    values = (
        {root: _stored_value(unit, access) for root, access in tensors.items()} if len(tensors) > 1 else {}
    )
    variables = {v.name for v in unit.variables}
    for root, value in values.items():
        # A value that is stored whole and also used again is a result of its own.
        if value is None or value.type != "identifier" or text_of(value) not in variables:
            continue
        for other, next_value in values.items():
            if other != root and next_value is not None and _reaches(unit, text_of(value), next_value):
                yield seen(tensors[root].node, f"{root} is stored on the way to {other}")
                return


def _reaches(unit: Unit, name: str, value: Node) -> bool:
    """Whether a value is made of a variable, directly or through one more variable."""
    names = identifiers_in(value)
    through = [v.value for v in unit.variables if v.name in names and v.value is not None]
    return name in names or any(name in identifiers_in(source) for source in through)


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    products = [c for c in unit.called("dot") if c.of_language]
    # `safe_exp` of the file is as much of an activation as `exp` is.
    after = [
        c
        for c in unit.calls
        if products
        and (c.node.lineno > products[0].node.lineno or products[0].node in unit.inside(c.node))
        and not _ACTIVATIONS.isdisjoint((c.name, *c.name.split("_")))
    ]
    if products and after:
        yield seen_in(unit, after[0].node, f"{after[0].qualified} follows the product in the same kernel")
    stored: dict[str, tuple[ast.Call, str]] = {}
    forms = [(call, unit.form(call.node.args[0])) for call in unit.stores()]
    widest = max((_axes(form) for _, form in forms), default=0)
    for call, form in forms:
        value = call.node.args[1] if len(call.node.args) > 1 else None
        # A column of row statistics beside whole tiles is no tensor of its own.
        if 0 < _axes(form) == widest and isinstance(value, ast.Name):
            stored.setdefault(pointer_of(form), (call.node, value.id))
    for name, (node, stored_name) in stored.items():
        later = any(other.lineno > node.lineno for key, (other, _) in stored.items() if key != name)
        used = any(
            isinstance(n, ast.Name)
            and n.id == stored_name
            and isinstance(n.ctx, ast.Load)
            and n.lineno > (node.end_lineno or node.lineno)
            for n in unit.nodes.get(ast.Name, ())
        )
        if name and used and later:
            yield seen_in(unit, node, f"{name} is stored on the way")
            return


def _axes(form: Linear) -> int:
    """Along how many axes an address spreads."""
    return sum(axis.startswith("arange") for axis in form)


def _by_name(kernel: Kernel) -> Iterator[Site]:
    if any(word.startswith(("fused", "fusion")) for word in kernel.name.lower().split("_")):
        yield seen_on(kernel, "the name says so")


MECHANISM = Mechanism(
    title="Kernel fusion",
    direction=Direction.ALGORITHM,
    summary="Does several steps in one kernel, so that what lies between them never goes through memory.",
    looks_for="A value stored as one result and used for the next, an activation after a product, a `fused` name.",
    detect=joined(of_kernel(_by_name, *Language), in_entry(_detect_cuda, _detect_triton)),
    conditions=(
        profit('profile.bound == "bandwidth"', "pipeline", "It saves the traffic between the steps."),
        profit("kernel.spills == 0", "pipeline", "More live values need more registers."),
        validity("noalias(x, y)", "storage", "A later step must not read what an earlier overwrote."),
    ),
)
