"""Loads of elements that lie side by side, of which a thread takes four at once: which can be one wide access."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial, term_of
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.digit_steps import Digit, factor_text
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.neighbour_steps import NeighbourSteps, over_element
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.ways_through import is_under_a_condition

_VECTORS = {"float32": ("float", "float4"), "int32": ("int", "int4"), "uint32": ("unsigned", "uint4")}


@dataclass(frozen=True, slots=True)
class WideLoads:
    """The loads that are wide."""

    kinds: dict[int, tuple[str, str]]
    """Node of a load → the types of an element, and of four."""
    conditions: list[str]
    """What has to hold for them to be aligned, as code."""


def wide_loads(
    kernel: Kernel, work: ElementWork, model: Model, digits: tuple[Digit, ...], fixed: set[str]
) -> WideLoads:
    """The loads within loops that move with neighbouring elements. Refused where one of them cannot be wide: it would
    be read with gaps between the threads. What lies a row apart from one element to the next has such gaps already.
    """
    low, *others = digits
    element = polynomial(model.values[work.start.start_byte, work.start.end_byte])
    nodes = {(n.start_byte, n.end_byte): n for s in work.inner for n in descendants(s)}
    written = {a.root for a in model.accesses if a.writes}
    groups = NeighbourSteps(low.steps.count, frozenset(fixed), model.depends, element)
    kinds: dict[int, tuple[str, str]] = {}
    roots: dict[str, None] = {}
    rows_apart = False
    for access in (a for a in model.accesses if a.reads and a.loops):
        offset = None if access.offset is None else over_element(access.offset, element)
        step = None if offset is None else low.steps.step(offset)
        if step == {}:
            continue
        if step is not None and () not in step:
            rows_apart = True
            continue
        node, parameter = nodes.get(access.at or (0, 0)), kernel.parameter(access.root)
        vector = _VECTORS.get(str(parameter.dtype)) if parameter is not None else None
        plain = node is not None and node.type == "subscript_expression" and vector is not None
        if offset is None or not plain or step != {(): 4} or access.nbytes != 4 or access.root in written:
            raise Refusal(f"`{access.text}` is no load of neighbours that can be wide")
        places = {m: c // 4 for m, c in polynomial(offset).items()}
        same = all(digit.steps.step(offset) == {} for digit in others)
        if (
            not same
            or any(c % 4 for c in polynomial(offset).values())
            or not groups.begins_group(term_of(places))
        ):
            raise Refusal(f"`{access.text}` does not begin at a multiple of {low.steps.count} elements")
        assert node is not None and vector is not None
        kinds[node.id] = vector
        roots[access.root] = None
    if not kinds and not rows_apart:
        raise Refusal("neighbouring elements load nothing side by side")
    aligned = [f"reinterpret_cast<size_t>({root}) % 16 == 0" for root in roots]
    return WideLoads(
        kinds, [*(f"{factor_text(c_text(n))} % {low.steps.count} == 0" for n in groups.least()), *aligned]
    )


def check_unconditional(statements: list[Node], loads: list[Node]) -> None:
    """Refuse loads that some elements leave out: a wide access would make them for all."""
    leaves = any(n.type == "continue_statement" for s in statements for n in descendants(s))
    for load in loads:
        around = next(s for s in statements if s.start_byte <= load.start_byte < s.end_byte)
        if leaves or is_under_a_condition(around, load):
            raise Refusal(f"`{text_of(load)}` is read only under a condition")
