"""The scan that a loop with a doubling stride does over the threads of a block."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial
from kernel_gate.expr.terms import Term, Var
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import Loop, bare, changed_by, contains, field_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.counting_loops import declares
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.scan_rounds import CHOOSING, OWN, THREAD, Place, Round, is_used_behind


@dataclass(frozen=True, slots=True)
class Scan:
    """What the rounds of a loop do together: an inclusive scan over the threads of a block."""

    type: str
    operation: str
    """`+`, `*`, or a function that chooses."""
    element: str
    """A thread's element, as written: before the loop, and behind it once `moves` were done."""
    moves: tuple[str, ...]
    """What each round does to say which buffer comes next."""
    waits_first: bool
    """The rounds wait at their beginning, not behind what they write."""
    bound: Term | None
    """How far the stride goes; None where that is not known."""

    def combined(self, below: str, own: str) -> str:
        """Two values as one."""
        sign = f" {self.operation} "
        return f"{below}{sign}{own}" if self.operation in "+*" else f"{self.operation}({below}, {own})"


def scan_of(syntax: CudaSyntax, loop: Loop) -> Scan:
    """The scan that a loop with a doubling stride does; refused where it does anything else."""
    upper, lower = Round(syntax, loop), Round(syntax, loop)
    upper.run(statements_of(loop.body), above=True)
    lower.run(statements_of(loop.body), above=False)
    written, own = upper.written, upper.own
    if written is None or own is None or upper.array != (lower.array or upper.array):
        raise Refusal("a round does not write the element of its thread")
    combined = isinstance(upper.value, tuple) and upper.value[0] == "combined"
    operation = upper.value[1] if combined and isinstance(upper.value, tuple) else ""
    if operation not in ("+", "*", *CHOOSING):
        raise Refusal("a round is not a sum, maximum or minimum of an element and the one a stride below")
    in_place = upper.wrote_to == own
    stays = in_place if lower.written is None else lower.value == OWN and lower.wrote_to == upper.wrote_to
    if not stays or lower.own not in (None, own):
        raise Refusal("a round changes the elements of the threads below its stride")
    if Round(syntax, loop).place(written) != own:
        raise Refusal("a round does not write where the next one reads")
    _check_own(syntax, loop, own)
    _check_behind(syntax, loop, upper, written)
    condition = bare(loop.condition)
    right = bare(field_of(condition, "right")) if condition is not None else None
    bound = Round(syntax, loop).known_term(right) if right is not None else None
    return Scan(
        upper.type,
        operation,
        text_of(written),
        tuple(text_of(s) for s in upper.moves),
        upper.waits_first(in_place=in_place),
        bound,
    )


def _check_own(syntax: CudaSyntax, loop: Loop, own: Place) -> None:
    """Refuse elements that do not lie one beside the other for one thread beside the other."""
    last = dict(own[-1])
    if last.pop((THREAD,), 0) != 1 or any((THREAD,) in part for part in own[:-1]):
        raise Refusal("neighbouring threads do not have neighbouring elements")
    for variable in {v for m in (*last, *(m for part in own[:-1] for m in part)) for v in m}:
        name = variable.name if isinstance(variable, Var) else ""
        if name == "blockDim.x" or syntax.kernel.parameter(name) is not None:
            continue
        declared = next((v for v in syntax.entry.variables if v.name == name), None)
        is_number = (
            declared is not None and declared.value is not None and integer_of(declared.value) is not None
        )
        if not is_number or _is_assigned(syntax, loop, name):
            raise Refusal(f"`{name or variable}` is not known to be the same for all threads")


def _is_assigned(syntax: CudaSyntax, loop: Loop, name: str) -> bool:
    """Whether a variable is given a value outside of the loop, besides its first."""
    return any(
        changed_by(node, addressed=True) == name and not contains(loop.node, node)
        for node in descendants(syntax.entry.node)
    )


def _check_behind(syntax: CudaSyntax, loop: Loop, upper: Round, written: Node) -> None:
    """Refuse where what the other buffer holds may be read outside of the loop."""
    if not declares(loop) and is_used_behind(syntax, loop, loop.counter):
        raise Refusal(f"`{loop.counter}` is used behind the loop")
    moved = {text_of(field_of(s.named_children[0], "left")) for s in upper.moves}
    if not moved:
        return
    around = bool(syntax.entry.loops_around(loop.node))
    part = _moving_part(Round(syntax, loop).place(written), moved)
    for node in descendants(syntax.entry.node):
        outer = node.parent is not None and node.parent.type == "subscript_expression"
        is_array = node.type == "identifier" and text_of(node) == upper.array
        inside, before = contains(loop.node, node), node.start_byte < loop.node.start_byte
        if not is_array or inside or (before and not around) or not outer:
            continue
        element = node.parent
        while (
            element is not None
            and element.parent is not None
            and element.parent.type == "subscript_expression"
        ):
            element = element.parent
        if element is None or _moving_part(Round(syntax, loop).place(element), moved) != part:
            raise Refusal(f"`{text_of(element)}` may be of the buffer that the scan does not end in")


def _moving_part(place: Place, moved: set[str]) -> list[Polynomial]:
    return [
        {m: c for m, c in part.items() if any(isinstance(v, Var) and v.name in moved for v in m)}
        for part in place
    ]
