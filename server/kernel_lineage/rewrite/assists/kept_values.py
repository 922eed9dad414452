"""What one kernel leaves in memory for the next one, kept in variables where one kernel does the work of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, polynomial
from kernel_gate.expr.terms import Term, Var, substituted, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access, Model
from kernel_lineage.kernels.cuda_forms import contains, field_of, operator_of, text_of, uses_of
from kernel_lineage.kernels.source import Parameter
from kernel_lineage.rewrite.assists.joined_bodies import Joined, Work, element_of
from kernel_lineage.rewrite.assists.layout import data_of, descendants, margin_at, taken_name
from kernel_lineage.rewrite.assists.loop_changes import changed_between, promised_apart
from kernel_lineage.rewrite.assists.turns import Turn

_WHOLE = frozenset(
    {"identifier", "number_literal", "subscript_expression", "call_expression", "parenthesized_expression"}
)
"""What needs no brackets beside an operator."""


@dataclass(frozen=True, slots=True)
class Buffers:
    """Which buffers of two kernels that are joined may be one."""

    turn: Turn
    one: Joined
    own: Mapping[str, str]
    """The host's buffers by the joined kernel's parameters."""

    def may_be_one(self, root: str, other: str) -> bool:
        """Whether two of the joined kernel's parameters, or arrays outside of it, may be one buffer."""
        if root == other or root not in self.own or other not in self.own:
            return root == other
        back = {name: own for own, name in self.one.meanings.items()}
        promised = promised_apart(self.one.first.syntax, root, other) or promised_apart(
            self.one.then.syntax, back.get(root, root), back.get(other, other)
        )
        return not promised and self.turn.may_be_one(self.own[root], self.own[other])


@dataclass(slots=True)
class Kept:
    """What changes in two kernels that are joined."""

    changes: dict[Node, str] = field(default_factory=dict)
    """Other texts for nodes, "" for a statement that goes."""
    left_out: set[str] = field(default_factory=set)
    """The joined kernel's parameters that it does without."""


@dataclass(frozen=True, slots=True)
class _Store:
    """The one place where the first kernel writes a buffer, as a statement that every thread with work comes to."""

    parameter: Parameter
    statement: Node
    assignment: Node
    offset: Polynomial
    nbytes: int
    only_use: bool
    """Nothing else in the kernel names the buffer."""

    @property
    def element(self) -> str:
        """The type of an element, as written."""
        return element_of(self.parameter)


@dataclass(slots=True)
class _Uses:
    """How the second kernel uses what the first one stored for the same thread."""

    reads: list[Node] = field(default_factory=list)
    """Those that come before it writes there itself."""
    update: Node | None = None
    """The assignment that changes the element by what it held: `z[i] *= w[i]`."""
    is_overwritten: bool = False
    """Every thread with work writes another value there, and reads the element before only as `reads` and `update`."""
    are_all: bool = False
    """It only reads the buffer, and only so."""


def kept_values(buffers: Buffers) -> Kept:
    """What becomes a variable, and which buffers are not needed then."""
    kept, turn, one, own = Kept(), buffers.turn, buffers.one, buffers.own
    for store in _stores(one.first, buffers):
        uses = _uses(one, store, buffers)
        if uses is None or not (uses.reads or uses.is_overwritten):
            continue
        root, right = store.parameter.name, field_of(store.assignment, "right")
        gone = uses.are_all and store.only_use and turn.is_between(own[root])
        name, declared = text_of(right), ""
        if name not in _steady(one.first, store):
            name = root if gone else taken_name(f"{root}_value", one.taken)
            declared = f"const {store.element} {name} = {text_of(right)};"
        written = (
            "" if gone or uses.is_overwritten else f"{text_of(field_of(store.assignment, 'left'))} = {name};"
        )
        between = "\n" + margin_at(data_of(one.first.kernel), store.statement.start_byte)
        if declared or not written:
            kept.changes[store.statement] = between.join(filter(None, (declared, written)))
        kept.changes |= dict.fromkeys(uses.reads, name)
        if uses.update is not None:
            sides = [field_of(uses.update, side) for side in ("left", "right")]
            left, value = (one.renamed(side, kept.changes) for side in sides)
            value = value if sides[1] is not None and sides[1].type in _WHOLE else f"({value})"
            kept.changes[uses.update] = f"{left} = {name} {operator_of(uses.update)[:-1]} {value}"
        if gone:
            kept.left_out.add(root)
    return kept


def _stores(first: Work, buffers: Buffers) -> Iterator[_Store]:
    model = read_open(first.kernel)
    for statement in first.statements:
        assignment = (
            next(iter(statement.named_children), None) if statement.type == "expression_statement" else None
        )
        if assignment is None or assignment.type != "assignment_expression" or operator_of(assignment) != "=":
            continue
        left = field_of(assignment, "left")
        own = [a for a in model.accesses if left is not None and a.at == (left.start_byte, left.end_byte)]
        parameter = first.kernel.parameter(own[0].root) if own else None
        if parameter is None or len({(a.offset, a.nbytes) for a in own}) != 1:
            continue
        offset = own[0].offset
        if offset is None or not _is_plain(first, model, own[0]):
            continue
        others = [a for a in model.accesses if a.root == parameter.name and a not in own]
        late = any(a.at is None or a.calls or a.at[0] >= statement.end_byte for a in others)
        late = late or any(
            a.space == "global"
            and (a.at is None or a.calls or a.at[0] >= statement.end_byte)
            and buffers.may_be_one(parameter.name, a.root)
            for a in model.accesses
            if a.root != parameter.name
        )
        if late or any(a.writes for a in others) or any(a.reads for a in own):
            continue
        # The parameter itself and the store.
        is_only_use = _named(first, parameter.name) <= 2
        yield _Store(parameter, statement, assignment, _place(first, offset, {}), own[0].nbytes, is_only_use)


def _uses(one: Joined, store: _Store, buffers: Buffers) -> _Uses | None:
    """None where the second kernel does not use the buffer, or writes it in another way than once and for all."""
    then = one.then
    model = read_open(then.kernel)
    names = {p.name: one.meanings.get(p.name, p.name) for p in then.kernel.parameters}
    root = next(
        (p.name for p in then.kernel.parameters if p.pointer and names[p.name] == store.parameter.name), None
    )
    accesses = [a for a in model.accesses if a.root == root]
    if root is None or not accesses:
        return None
    beside = [
        a
        for a in model.accesses
        if a.space == "global"
        and a.root != root
        and buffers.may_be_one(names[root], names.get(a.root, a.root))
    ]
    uses, write, others = _Uses(), None, 0
    for access in accesses:
        node = _node_of(then, access)
        same = (
            node is not None
            and access.nbytes == store.nbytes
            and _is_plain(then, model, access)
            and access.offset is not None
            and store.offset == _place(then, access.offset, names)
        )
        if access.writes:
            statement = _always(then, node) if same and node is not None else None
            if statement is None or (write is not None and write != statement):
                return None
            write = statement
        elif same and node is not None and not any(a.writes for a in beside):
            uses.reads.append(node)
        else:
            others += 1
    uses.reads = list({n.start_byte: n for n in uses.reads}.values())
    named = _named(then, root)
    if write is None:
        uses.are_all = not others and named == len(uses.reads) + 1
        return uses
    assignment = write.named_children[0]
    behind = [n for n in uses.reads if n.start_byte >= write.end_byte]
    uses.reads = [n for n in uses.reads if n not in behind and not contains(_left(assignment), n)]
    if others or beside or named != len(uses.reads) + len(behind) + 2:
        return None
    uses.is_overwritten = True
    if operator_of(assignment) != "=":
        uses.update = assignment
    return uses


def _named(work: Work, name: str) -> int:
    """How often a kernel names something."""
    return len(uses_of(work.syntax.entry.node, name))


def _left(assignment: Node) -> Node:
    left = field_of(assignment, "left")
    assert left is not None
    return left


def _always(then: Work, node: Node) -> Node | None:
    """The statement that assigns to a place, where every thread with work comes to it."""
    for statement in then.statements:
        if any(n.type == "return_statement" for n in descendants(statement)):
            return None
        if contains(statement, node):
            assignment = next(iter(statement.named_children), None)
            plain = assignment is not None and assignment.type == "assignment_expression"
            return (
                statement
                if plain and assignment is not None and field_of(assignment, "left") == node
                else None
            )
    return None


def _node_of(work: Work, access: Access) -> Node | None:
    if access.at is None or access.calls:
        return None
    node = work.syntax.entry.node.descendant_for_byte_range(*access.at)
    same = node is not None and (node.start_byte, node.end_byte) == access.at
    return node if same and node is not None and node.type == "subscript_expression" else None


def _place(work: Work, offset: Term, names: Mapping[str, str]) -> Polynomial:
    """Where something lies, with the joined kernel's names, and one for the rounds of the loop over the elements."""
    there = {**names, work.round: "round"} if work.round else names
    return polynomial(substituted(offset, {name: Var(other) for name, other in there.items()}))


def _is_plain(work: Work, model: Model, access: Access) -> bool:
    """Whether where an access lies follows from the thread and from what the kernel is given alone."""
    names = set(variables(access.offset)) if access.offset is not None else {""}
    seen = (
        model.places.keys()
        | {work.round}
        | {n for n in names if n not in model.instance and n not in model.unknowns}
    )
    return names <= seen and not access.atomic and not names & model.data


def _steady(first: Work, store: _Store) -> set[str]:
    """The variables of an element's type that keep their value from the store on."""
    changed = changed_between(first.syntax, store.statement.end_byte, first.inner[-1].end_byte)
    return {
        v.name
        for v in first.syntax.entry.variables
        if v.type.replace("const ", "") == store.element
        and not v.pointer
        and not v.sizes
        and v.name in first.visible - changed
    }
