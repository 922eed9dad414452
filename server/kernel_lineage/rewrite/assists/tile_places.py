"""Places of the elements of a tile, worked out once for its first element: how far the others lie from it is told."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, polynomial, term_of
from kernel_gate.expr.terms import Term, Var
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import changed_by, contains, declarators, text_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.digit_steps import DigitSteps
from kernel_lineage.rewrite.assists.layout import descendants, fresh_name, with_changes
from kernel_lineage.rewrite.assists.moved_element import Moved, on_one_line
from kernel_lineage.rewrite.assists.neighbour_steps import over_element
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.thread_order import GLOBAL

_ENDLESS: Polynomial = {(Var("endless"),): 1}
"""The extent of a digit that has nothing above it."""


@dataclass(frozen=True, slots=True)
class TilePlaces:
    """The places of a tile."""

    first: list[str]
    """What works out the places of the first element, from its index on."""
    steps: dict[int, tuple[str, str, str]]
    """Node of an access → its first place, and what is added for each step of the digit and of the index."""
    kept: list[Node]
    """Declarations of an element's own values."""

    def written(self, node: Node, high: str, wide: str, part: Node | None = None, text: str = "") -> str:
        """A statement or an expression for the element so many steps from the first one."""
        changes = [(part, text)] if part is not None and contains(node, part) else []
        for access in descendants(node):
            if access.id in self.steps and not any(contains(p, access) for p, _ in changes):
                indices = access.child_by_field_name("indices")
                assert indices is not None
                first, by_digit, by_index = self.steps[access.id]
                moved = [
                    f" + {n}" if by == "1" else f" + {n} * {by}"
                    for n, by in ((high, by_digit), (wide, by_index))
                    if by != "0"
                ]
                changes.append((indices, f"[{first}{''.join(moved)}]"))
        return " ".join(with_changes(text_of(node).encode(), node.start_byte, changes).split())


def tile_places(
    kernel: Kernel,
    moved: Moved,
    index: str,
    inner: Term,
    count: Polynomial | None,
    steady: set[str],
    taken: set[str],
) -> TilePlaces | None:
    """The places of a tile whose elements differ in a digit, of `count` values, and in what is below it; None where one
    of them does not go on by the same amount.
    """
    model = read_open(kernel)
    below, element = polynomial(inner), polynomial(GLOBAL)
    arguments = frozenset(steady)
    by_digit = DigitSteps(below, 1, arguments, model.depends, element, within=count or _ENDLESS)
    by_index = DigitSteps({(): 1}, 1, arguments, model.depends, element, within=below)
    touches = {t.at: t for t in model.accesses}
    kept = [d for d in moved.declared if any(n.type == "subscript_expression" for n in descendants(d))]
    once = [d for d in moved.declared if d not in kept]
    own = {index, *(name for d in once if d.type == "declaration" for name, *_ in declarators(d))}
    first, steps, names = [on_one_line(d) for d in once], dict[int, tuple[str, str, str]](), set(taken)
    for part in (*kept, moved.target, moved.value):
        gone: list[Node] = []
        for access in (n for n in descendants(part) if n.type == "subscript_expression"):
            touch, indices = (
                touches.get((access.start_byte, access.end_byte)),
                access.child_by_field_name("indices"),
            )
            if touch is None or touch.offset is None or touch.nbytes <= 0 or indices is None:
                return None
            place = over_element(touch.offset, element)
            moving = [d.step(place) for d in (by_digit, by_index)]
            whole = [
                {m: c // touch.nbytes for m, c in s.items()}
                for s in moving
                if s is not None and not any(c % touch.nbytes for c in s.values())
            ]
            if len(whole) < 2 or identifiers_in(access) & _changed_behind(part, once):
                return None
            name = fresh_name(f"{touch.root}_at", names)
            names.add(name)
            inside = text_of(indices).strip()[1:-1]
            first.append(f"const long long {name} = {' '.join(inside.split())};")
            digit, along = (c_text(term_of(w), wide=True) for w in whole)
            steps[access.id] = (name, _factor(digit), _factor(along))
            gone.append(indices)
        left = {
            text_of(n)
            for n in descendants(part)
            if n.type == "identifier" and not any(contains(g, n) for g in gone)
        }
        if left & own:
            return None
    return TilePlaces(first, steps, kept)


def _changed_behind(part: Node, once: list[Node]) -> set[str]:
    """What statements behind a part change."""
    return {changed_by(n) for d in once if d.start_byte > part.start_byte for n in descendants(d)}


def _factor(text: str) -> str:
    return text if text.isalnum() else f"({text})"
