"""One round of a scan in shared memory, by what it makes of a thread's element.

A round is followed once for the threads at or above its stride and once for those below. The former must be left with
their element combined with the one a stride below, the latter with their own. Between two buffers, the element is
written where the next round reads it. Barriers must stand between what one thread reads and another writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, polynomial, term_of
from kernel_gate.expr.terms import Num, Term, Var, add, mul, sub
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_expressions import identifiers_in, integer_of
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    arguments_of,
    bare,
    contains,
    field_of,
    operator_of,
    test_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.counting_loops import counts
from kernel_lineage.rewrite.assists.layout import statements_of
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.row_loops import SIGNED
from kernel_lineage.rewrite.assists.template_types import plain_type, types_meant
from kernel_lineage.rewrite.assists.tree_steps import SHUFFLED, is_barrier

_STRIDE, THREAD = Var("stride"), Var("threadIdx.x")
CHOOSING = frozenset({"fmaxf", "fminf", "fmax", "fmin", "max", "min"})
OWN, _BELOW = "own", "below"
Place = tuple[Polynomial, ...]
_ARITHMETIC = {"+": add, "-": sub, "*": mul}


@dataclass(slots=True)
class Round:
    """The names and the element of one thread while a round is followed."""

    syntax: CudaSyntax
    loop: Loop
    terms: dict[str, Term] = field(default_factory=dict)
    """Whole numbers that the round gives a value, by name."""
    values: dict[str, object] = field(default_factory=dict)
    """Other values: `own`, `below`, a number as written, or the operation that combines the two."""
    array: str = ""
    own: Place | None = None
    """Where a thread's element lies when the round begins."""
    written: Node | None = None
    wrote_to: Place | None = None
    value: object = None
    moves: list[Node] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """Reads of the element below, writes and barriers, one after the other."""

    @property
    def type(self) -> str:
        """The type of the array's elements."""
        variable = next(v for v in self.syntax.entry.variables if v.name == self.array)
        return str(variable.type)

    def waits_first(self, *, in_place: bool) -> bool:
        """Whether a round's barrier comes before its read; refused where one is missing."""
        order = self.order
        first, last = order.index("read"), len(order) - 1 - order[::-1].index("read")
        write = order.index("write")
        between = "barrier" in order[last:write]
        behind, before = "barrier" in order[write:], "barrier" in order[:first]
        if write < last or (in_place and not between) or not (behind or before):
            raise Refusal("a barrier is missing between what one thread reads and another writes")
        return not behind

    def run(self, statements: list[Node], *, above: bool, inside: bool = False) -> None:
        """Follow statements, as a thread does that is at or above the stride, or below it."""
        for statement in statements:
            if is_barrier(statement) and not inside:
                self.order.append("barrier")
            elif statement.type == "if_statement":
                taken = self.is_above(test_of(statement)) is above
                branch = statement.child_by_field_name("consequence" if taken else "alternative")
                if branch is not None and branch.type == "else_clause":
                    branch = branch.named_children[-1]
                self.run(statements_of(branch), above=above, inside=True)
            elif statement.type == "declaration":
                self.declare(statement, above=above)
            elif statement.type == "expression_statement" and statement.named_children:
                self.assign(statement, above=above, inside=inside)
            else:
                raise Refusal(f"`{text_of(statement).splitlines()[0]}` is no part of a scan")

    def declare(self, statement: Node, *, above: bool) -> None:
        for declared in statement.children_by_field_name("declarator"):
            value = declared.child_by_field_name("value")
            name = text_of(declared.child_by_field_name("declarator") or declared)
            if value is not None:
                self.keep(name, value, above=above)

    def keep(self, name: str, value: Node, *, above: bool) -> None:
        """Give a name the value of an expression."""
        term = self.known_term(value)
        if term is not None:
            self.terms[name] = term
            self.values.pop(name, None)
        else:
            self.hold(name, self.evaluated(value, above=above))

    def hold(self, name: str, value: object) -> None:
        """Give a name a value that is no index."""
        self.terms.pop(name, None)
        self.values[name] = value
        types = {v.type for v in self.syntax.entry.variables if v.name == name}
        is_number = isinstance(value, tuple) and value[0] == "number"
        if not is_number and not types <= {self.type, "auto"}:
            raise Refusal(f"`{name}` keeps an element in another type")

    def assign(self, statement: Node, *, above: bool, inside: bool) -> None:
        assignment = statement.named_children[0]
        target, right = field_of(assignment, "left"), field_of(assignment, "right")
        operator = operator_of(assignment)
        if assignment.type != "assignment_expression" or target is None or right is None:
            raise Refusal(f"`{text_of(statement)}` is no part of a scan")
        if target.type == "subscript_expression":
            place = self.place(target)
            value = self.evaluated(right, above=above)
            if operator != "=":
                value = self.combined(operator[:-1], self.read(target), value)
            if self.written is not None:
                raise Refusal("a round writes more than one element")
            self.written, self.wrote_to, self.value = target, place, value
            self.order.append("write")
            return
        name = text_of(target)
        outside = not any(
            v.name == name and contains(self.loop.node, v.node) for v in self.syntax.entry.variables
        )
        if target.type != "identifier" or name == self.loop.counter or operator not in ("=", "+=", "^="):
            raise Refusal(f"`{text_of(statement)}` is no part of a scan")
        begins = [v.value for v in self.syntax.entry.variables if v.name == name and v.value is not None]
        if operator == "^=" and text_of(right) == "1" and all(integer_of(v) in (0, 1) for v in begins):
            self.terms[name] = sub(Num(1), self.term(target))
        elif operator == "+=":
            sides = [self.evaluated(side, above=above) for side in (target, right)]
            self.hold(name, self.combined("+", *sides))
        else:
            self.keep(name, right, above=above)
        if not outside:
            return
        own = {v.name for v in self.syntax.entry.variables if contains(self.loop.node, v.node)}
        if name in self.terms and identifiers_in(right) & own - {self.loop.counter}:
            raise Refusal(f"`{text_of(statement)}` says which buffer comes next by what a round declares")
        if name in self.terms and (inside or self.written is not None):
            raise Refusal(f"`{text_of(statement)}` says which buffer comes next after one was written")
        if name in self.terms:
            self.moves.append(statement)
        elif is_used_behind(self.syntax, self.loop, name):
            raise Refusal(f"`{name}` is used behind the loop")

    def evaluated(self, node: Node | None, *, above: bool) -> object:
        """What an expression is of the thread's element and the one below."""
        node = bare(node)
        if node is None:
            raise Refusal("a round is not read")
        if node.type == "subscript_expression":
            return self.read(node)
        if node.type == "identifier" and text_of(node) in self.values:
            return self.values[text_of(node)]
        if node.type == "conditional_expression":
            taken = self.is_above(field_of(node, "condition")) is above
            return self.evaluated(field_of(node, "consequence" if taken else "alternative"), above=above)
        if node.type == "binary_expression":
            sides = [self.evaluated(field_of(node, side), above=above) for side in ("left", "right")]
            return self.combined(operator_of(node), *sides)
        called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
        arguments = arguments_of(node) if called else []
        if called in CHOOSING and len(arguments) == 2:
            return self.combined(called, *(self.evaluated(a, above=above) for a in arguments))
        written = text_of(node).rstrip("fFuUlL")
        term = self.terms.get(text_of(node))
        if node.type == "number_literal" or isinstance(term, Num):
            return ("number", str(term) if isinstance(term, Num) else written)
        raise Refusal(f"`{text_of(node)}` is neither an element nor a number")

    def combined(self, operation: str, one: object, other: object) -> object:
        if {one, other} == {OWN, _BELOW}:
            return ("combined", operation)
        numbers = [x for x in (one, other) if isinstance(x, tuple) and x[0] == "number"]
        if operation == "+" and len(numbers) == 1 and float(numbers[0][1]) == 0.0:
            return other if one is numbers[0] else one
        raise Refusal(f"a round combines by `{operation}` what is not two elements")

    def read(self, node: Node) -> object:
        """An element as a thread finds it: its own or the one a stride below."""
        place = self.place(node)
        if self.written is not None:
            raise Refusal(f"`{text_of(node)}` is read after the round has written")
        above = (*place[:-1], polynomial(add(term_of(place[-1]), _STRIDE)))
        below = any(_STRIDE in m for m in place[-1])
        own = above if below else place
        if any(_STRIDE in m for part in own for m in part) or (self.own is not None and self.own != own):
            raise Refusal(f"`{text_of(node)}` is neither a thread's element nor the one a stride below")
        self.own = own
        if below:
            self.order.append("read")
        return _BELOW if below else OWN

    def place(self, node: Node) -> Place:
        """Where an element of the array lies, index by index."""
        indices: list[Polynomial] = []
        inner: Node | None = node
        while inner is not None and inner.type == "subscript_expression":
            listed = inner.child_by_field_name("indices")
            if listed is None or len(listed.named_children) != 1:
                raise Refusal(f"`{text_of(node)}` has no place that is read")
            indices.append(polynomial(self.term(listed.named_children[0])))
            inner = bare(field_of(inner, "argument"))
        name = text_of(inner)
        variable = next((v for v in self.syntax.entry.variables if v.name == name and v.shared), None)
        kinds = types_meant(self.syntax.kernel, variable.type) if variable is not None else frozenset()
        if variable is None or not kinds or not kinds <= SHUFFLED or self.array not in ("", name):
            raise Refusal(f"`{text_of(node)}` is no element of one shared array that shuffles take")
        if len(variable.sizes or ("",)) != len(indices):
            raise Refusal(f"`{text_of(node)}` is no single element")
        self.array = name
        return tuple(indices[::-1])

    def is_above(self, test: Node | None) -> bool:
        """Whether a test holds for the threads at or above the stride; else it holds for those below."""
        test = bare(test)
        left, right = field_of(test, "left"), field_of(test, "right")
        if test is None or test.type != "binary_expression" or left is None or right is None:
            raise Refusal(f"`{text_of(test)}` does not compare a thread with the stride")
        one, other = self.term(left), self.term(right)
        operator, beyond = operator_of(test), sub(one, other)
        if operator in ("<=", "<"):
            operator, beyond = {"<=": ">=", "<": ">"}[operator], sub(other, one)
        # Of whole numbers, a > b is a >= b + 1; and that fails where a < b + 1.
        reaches = polynomial(sub(beyond, Num(operator == ">")))
        above, below = sub(THREAD, _STRIDE), sub(sub(_STRIDE, THREAD), Num(1))
        wraps = any(c < 0 and m for side in (one, other) for m, c in polynomial(side).items())
        is_unsigned = wraps and not self.is_signed(test)
        if is_unsigned or reaches not in (polynomial(above), polynomial(below)):
            raise Refusal(f"`{text_of(test)}` does not compare a thread with the stride")
        return reaches == polynomial(above)

    def is_signed(self, test: Node) -> bool:
        """Whether a difference may be negative: of signed numbers, or kept as one."""
        types = {v.name: plain_type(self.syntax.kernel, v.type) for v in self.syntax.entry.variables}
        return all(types.get(n) in SIGNED for n in identifiers_in(test))

    def known_term(self, node: Node) -> Term | None:
        try:
            return self.term(node)
        except Refusal:
            return None

    def term(self, node: Node | None) -> Term:
        """A whole number; refused where it is not followed."""
        node = bare(node)
        if node is None:
            raise Refusal("an index is missing")
        number, text = integer_of(node), text_of(node)
        if number is not None:
            return Num(number)
        if node.type == "cast_expression" and counts(
            self.syntax.kernel, text_of(node.child_by_field_name("type"))
        ):
            return self.term(field_of(node, "value"))
        if node.type == "identifier" and text == self.loop.counter:
            return _STRIDE
        if node.type == "identifier" and text in self.terms:
            return self.terms[text]
        if node.type == "binary_expression" and operator_of(node) in _ARITHMETIC:
            left, right = self.term(field_of(node, "left")), self.term(field_of(node, "right"))
            return _ARITHMETIC[operator_of(node)](left, right)
        changed = changed_in(self.syntax, self.loop.node)
        if node.type == "identifier" and text in changed - self.values.keys():
            return Var(text)
        value = read_open(self.syntax.kernel).values.get((node.start_byte, node.end_byte))
        plain = node.type in ("identifier", "field_expression") and not identifiers_in(node) & changed
        if value is None or not plain:
            raise Refusal(f"`{text}` is no index that is followed")
        return value


def is_used_behind(syntax: CudaSyntax, loop: Loop, name: str) -> bool:
    """Whether a name is used after the loop, or anywhere else in the loops around it."""
    around = syntax.entry.loops_around(loop.node)
    start = around[0].node.start_byte if around else loop.node.end_byte
    uses = uses_of(syntax.entry.node, name)
    return any(n.start_byte >= start and not contains(loop.node, n) for n in uses)
