"""What the elements that a thread has together have in common: which values are the same, and how the others go on."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial, term_of
from kernel_gate.expr.terms import Term
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_forms import Variable, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.digit_steps import Digit, factor_text
from kernel_lineage.rewrite.assists.element_work import ElementWork
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.loop_changes import written_by_calls
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.neighbour_steps import over_element
from kernel_lineage.rewrite.assists.term_text import c_text

_LOOPS = ("for_statement", "while_statement", "do_statement", "switch_statement")


def holds_loop(statement: Node) -> bool:
    """Whether a loop, or a switch, stands in a statement or is one."""
    return any(n.type in _LOOPS for n in descendants(statement))


class TogetherValues:
    """The names that the work of an element uses, over the elements of a thread."""

    def __init__(
        self, syntax: CudaSyntax, work: ElementWork, model: Model, digits: tuple[Digit, ...]
    ) -> None:
        entry = syntax.entry
        self._syntax, self._work, self._model, self._digits = syntax, work, model, digits
        self._element = polynomial(model.values[work.start.start_byte, work.start.end_byte])
        heads = [loop.node.child_by_field_name("initializer") for loop in entry.loops]
        beside = [v for v in entry.variables if v.node not in heads]
        self.declared = {v.name: v for v in beside if any(contains(s, v.node) for s in work.inner)}
        self.own = self.declared.keys() | {work.index.name}
        """The names of what differs from element to element, or may."""
        names = [*(v.name for v in beside), *{loop.counter for loop in entry.loops}]
        if twice := next((n for n in names if n in self.own and names.count(n) > 1), ""):
            raise Refusal(f"`{twice}` is declared twice in {syntax.kernel.name}")
        self._written = {a.root for a in indexing(entry).accesses if a.writes} | set(
            written_by_calls(syntax, entry.node.start_byte, entry.node.end_byte)
        )
        self._uses = [n for s in work.inner for n in descendants(s) if n.type == "identifier"]
        self._changed = set(self._changed_on_the_way())
        self.blocks: set[int] = set()
        """Blocks whose statements are taken one by one though no loop is in them."""

    def steps(self, node: Node) -> list[str] | None:
        """What is added to an integer or a pointer from one element to the next, for each digit, as code."""
        at = node.start_byte, node.end_byte
        address = self._model.addresses.get(at)
        term: Term | None = self._model.values.get(at)
        size = 1
        if term is None and address is not None and address.nbytes:
            term, size = address.offset, address.nbytes
        if term is None:
            return None
        steps = []
        for digit in self._digits:
            step = digit.steps.step(over_element(term, self._element))
            if step is None or any(c % size for c in step.values()):
                return None
            steps.append(c_text(term_of({m: c // size for m, c in step.items()}), wide=digit.wide))
        return steps

    def _changed_on_the_way(self) -> Iterator[str]:
        """Variables that a loop changes, or that are counted up or down."""
        for node in (n for s in self._work.inner for n in descendants(s)):
            if node.type == "update_expression":
                yield text_of(node.child_by_field_name("argument"))
            elif node.type == "assignment_expression" and self._syntax.entry.loops_around(node):
                yield text_of(node.child_by_field_name("left"))

    def follows(self, name: str) -> bool:
        """Whether a variable is an integer or a pointer that goes on by what is known at each of its uses."""
        variable = self.declared.get(name)
        if name == self._work.index.name:
            return True
        if variable is None or variable.sizes or name in self._changed:
            return False
        uses = [n for n in self._uses if text_of(n) == name and not self.is_target(n)]
        return bool(uses) and all(self.steps(n) is not None for n in uses)

    def is_target(self, node: Node) -> bool:
        """Whether a name is declared or assigned where it stands."""
        outer = node.parent
        while outer is not None and outer.type in ("pointer_declarator", "reference_declarator"):
            outer = outer.parent
        if outer is None:
            return False
        if outer.type == "init_declarator":
            declared = outer.child_by_field_name("declarator")
            return declared is not None and contains(declared, node)
        plain = outer.type == "assignment_expression" and outer.child_by_field_name("left") == node
        return outer.type == "declaration" or plain

    def is_same(self, part: Node) -> bool:
        """Whether an expression has one value for all elements."""
        for node in descendants(part):
            if node.type == "call_expression" or node.type in ("assignment_expression", "update_expression"):
                return False
            if node.type in ("subscript_expression", "pointer_expression"):
                place = indexing(self._syntax.entry).place(node)
                if not place.root or place.root in self._written:
                    return False
            if node.type != "identifier":
                continue
            name = text_of(node)
            if name not in self.own:
                continue
            steps = self.steps(node) if self.follows(name) else None
            if steps is None or any(s != "0" for s in steps):
                return False
        return True

    def is_inner(self, name: str) -> bool:
        """Whether a variable is declared within the innermost statements, once for each element already."""
        variable = self.declared.get(name)
        return variable is not None and not self._is_level(variable)

    def _is_level(self, variable: Variable) -> bool:
        """Whether a variable is declared beside a loop, or outside of all."""
        outer = variable.node.parent
        if variable.node in self._work.inner or (outer is not None and outer.id in self.blocks):
            return True
        inside = statements_of(outer) if outer is not None else []
        return any(holds_loop(s) for s in inside)

    def moved(self, name: str, steps: list[str]) -> str:
        """A name's value for the element of a round, as code."""
        text = name
        if self.is_inner(name):
            return name
        for digit, step in zip(self._digits, steps, strict=True):
            if step == "0":
                continue
            number = factor_text(digit.number)
            factor = number if step == "1" else f"{number} * {factor_text(step)}"
            text += f" + {factor}"
        return text
