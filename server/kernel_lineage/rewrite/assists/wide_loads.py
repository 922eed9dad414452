"""Elements that lie side by side, of which a thread has several: which of their loads can be one wide access, and
whether their stores can be one.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial, term_of
from kernel_gate.expr.terms import Term
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.digit_steps import Digit, factor_text
from kernel_lineage.rewrite.assists.element_types import element_type
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.neighbour_steps import NeighbourSteps, over_element
from kernel_lineage.rewrite.assists.template_types import type_parameters
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.vector_body import WIDEST, vector
from kernel_lineage.rewrite.assists.ways_through import is_under_a_condition

_USUAL = 4
"""Elements that a thread has of neighbours of which nothing is loaded at once."""


@dataclass(frozen=True, slots=True)
class WideLoads:
    """The loads that are wide."""

    kinds: dict[int, tuple[str, str]]
    """Node of a load, or of what is stored → the types of an element, and of all of them."""
    conditions: list[str]
    """What has to hold for them to be aligned, as code."""
    stored: Node | None = None
    """What the last statement stores at once."""


def wide_loads(
    kernel: Kernel,
    syntax: CudaSyntax,
    work: ElementWork,
    model: Model,
    digits: tuple[Digit, ...],
    fixed: set[str],
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
    roots: dict[str, tuple[str, int]] = {}
    rows_apart = False
    for access in (a for a in model.accesses if a.reads and a.loops):
        offset = None if access.offset is None else over_element(access.offset, element)
        step = None if offset is None else low.steps.step(offset)
        if step == {}:
            continue
        if step is not None and () not in step:
            rows_apart = True
            continue
        node, kind = nodes.get(access.at or (0, 0)), element_type(kernel, syntax, access.root)
        plain = node is not None and node.type == "subscript_expression" and kind is not None
        size = kind[1] if kind is not None else 0
        if (
            offset is None
            or not plain
            or step != {(): size}
            or access.nbytes != size
            or access.root in written
        ):
            raise Refusal(f"`{access.text}` is no load of neighbours that can be wide")
        if size * low.steps.count > WIDEST:
            raise Refusal(f"{low.steps.count} of `{access.text}` have more than {WIDEST} bytes")
        same = all(digit.steps.step(offset) == {} for digit in others)
        if not same or not _begins_group(groups, offset, size):
            raise Refusal(f"`{access.text}` does not begin at a multiple of {low.steps.count} elements")
        assert node is not None and kind is not None
        kinds[node.id] = (kind[0], vector(*kind, low.steps.count))
        roots[access.root] = kind
    if not kinds and (not rows_apart or low.steps.count != _USUAL):
        raise Refusal("neighbouring elements load nothing side by side")
    stored = None if others or not kinds else _stored(kernel, syntax, work, model, low, groups)
    if stored is not None:
        node, root, kind = stored
        kinds[node.id] = (kind[0], vector(*kind, low.steps.count))
        roots[root] = kind
    aligned = [
        f"reinterpret_cast<size_t>({root}) % {size * low.steps.count} == 0"
        for root, (_, size) in roots.items()
    ]
    meant = {name: size for name, size in roots.values() if name in type_parameters(kernel)}
    sizes = [f"sizeof({name}) == {size}" for name, size in meant.items()]
    needs = [f"{factor_text(c_text(n))} % {low.steps.count} == 0" for n in groups.least()]
    return WideLoads(kinds, [*sizes, *needs, *aligned], stored[0] if stored is not None else None)


def _begins_group(groups: NeighbourSteps, offset: Term, size: int) -> bool:
    """Whether an offset is a multiple of a group for its first element, with what is asked for that."""
    whole = polynomial(offset)
    if any(c % size for c in whole.values()):
        return False
    return groups.begins_group(term_of({m: c // size for m, c in whole.items()}))


def _stored(
    kernel: Kernel, syntax: CudaSyntax, work: ElementWork, model: Model, low: Digit, groups: NeighbourSteps
) -> tuple[Node, str, tuple[str, int]] | None:
    """What the work ends with storing side by side, the buffer, and its type and bytes; nothing else touches that."""
    last = work.inner[-1].named_children[0] if work.inner[-1].type == "expression_statement" else None
    target = last.child_by_field_name("left") if last is not None and operator_of(last) == "=" else None
    if target is None or target.type != "subscript_expression":
        return None
    met = [a for a in model.accesses if a.at == (target.start_byte, target.end_byte)]
    alone = len(met) == 1 and sum(a.root == met[0].root for a in model.accesses) == 1
    kind = element_type(kernel, syntax, met[0].root) if alone else None
    if (
        kind is None
        or met[0].offset is None
        or met[0].nbytes != kind[1]
        or kind[1] * low.steps.count > WIDEST
    ):
        return None
    offset = over_element(met[0].offset, groups.element)
    beside = low.steps.step(offset) == {(): kind[1]} and _begins_group(groups, offset, kind[1])
    return (target, met[0].root, kind) if beside else None


def check_unconditional(statements: list[Node], loads: list[Node]) -> None:
    """Refuse loads that some elements leave out: a wide access would make them for all."""
    leaves = any(n.type == "continue_statement" for s in statements for n in descendants(s))
    for load in loads:
        around = next(s for s in statements if s.start_byte <= load.start_byte < s.end_byte)
        if leaves or is_under_a_condition(around, load):
            raise Refusal(f"`{text_of(load)}` is read only under a condition")
