"""Loops: counters that advance by a fixed step are exact, what else a loop changes is unknown within and behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import TRUE, Num, Term, Var
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.model import Loop
from kernel_lineage.code.values import INT64, Int, Pointer, Record, Value, fresh, unknown
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    bare,
    changed_by,
    declarators,
    field_of,
    inside,
    operator_of,
    text_of,
)

_MOST_HALVINGS = 64
_LOOPS = ("for_statement", "while_statement", "do_statement")


@dataclass(frozen=True, slots=True)
class Step:
    """A variable that advances once in every round: by `amount`, or to a half or a multiple."""

    name: str
    operator: str
    amount: Node | None
    """None: 1."""


def changes(node: Node) -> Iterator[Node]:
    """Assignments and updates within a node, in the order of the text."""
    return (n for n in inside(node) if n.type in ("assignment_expression", "update_expression"))


def changed_names(node: Node) -> set[str]:
    """The variables that are assigned within a node."""
    return set(map(changed_by, changes(node))) - {""}


def leaves(node: Node | None, kind: str) -> bool:
    """Whether a `break` or `continue` of this loop stands within its body."""
    waiting = [node] if node is not None else []
    while waiting:
        here = waiting.pop()
        if here.type == kind:
            return True
        inner = here.type in _LOOPS or (here.type == "switch_statement" and kind == "break_statement")
        if not inner or here == node:
            waiting += here.named_children
    return False


def _returns(node: Node | None) -> bool:
    return node is not None and any(n.type == "return_statement" for n in inside(node))


def _ordered(condition: Node | None) -> bool:
    """Whether a condition that holds in one round held in all before, for a counter that goes one way."""
    node = bare(condition)
    return (
        node is not None and node.type == "binary_expression" and operator_of(node) in ("<", "<=", ">", ">=")
    )


def steps_of(update: Node | None, body: Node | None, changed: list[Node]) -> dict[str, Step]:
    """The variables with one change in the loop, made in every round, by an amount that the loop does not change."""
    always = [*_expressions(update)]
    if body is not None and not leaves(body, "continue_statement"):
        always += [
            part
            for statement in (body.named_children if body.type == "compound_statement" else [body])
            if statement.type == "expression_statement"
            for part in _expressions(statement.named_children[0] if statement.named_children else None)
        ]
    names = [changed_by(c) for c in changed]
    inner = set(_declared(body)) if body is not None else set[str]()
    steps = {}
    for change in always:
        step = _step(change)
        if step is not None and names.count(step.name) == 1:
            used = identifiers_in(step.amount) if step.amount is not None else set()
            if not used & {*names, *inner}:
                steps[step.name] = step
    return steps


def _declared(body: Node) -> Iterator[str]:
    """The variables that each round has anew."""
    return (name for n in inside(body) if n.type == "declaration" for name, *_ in declarators(n))


def _expressions(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    if node.type == "comma_expression":
        for child in node.named_children:
            yield from _expressions(child)
    else:
        yield node


def _step(change: Node) -> Step | None:
    name = changed_by(change)
    if not name:
        return None
    if change.type == "update_expression":
        return Step(name, operator_of(change)[0], None)
    if change.type != "assignment_expression":
        return None
    right = field_of(change, "right")
    match operator_of(change):
        case "+=" | "-=" | "*=" | "/=" | ">>=" | "<<=" as operator:
            return Step(name, operator[:-1], right)
        case "=" if right is not None and right.type == "binary_expression":
            first, second = right.child_by_field_name("left"), right.child_by_field_name("right")
            if text_of(first) == name and operator_of(right) in ("+", "-", "*", "/", ">>", "<<"):
                return Step(name, operator_of(right), second)
            if text_of(second) == name and operator_of(right) == "+":
                return Step(name, "+", first)
    return None


def read_loop(
    at: Expressions,
    node: Node,
    condition: Node | None,
    update: Node | None,
    body: Node | None,
    run: Callable[[Node], bool],
    *,
    tested_first: bool = True,
) -> None:
    """Read one round that stands for all, then what holds behind the loop. `run` reads the body."""
    scope = at.scope
    before, path = dict(scope.variables), scope.path
    changed = [c for part in (condition, update, body) if part is not None for c in changes(part)]
    steps = steps_of(update, body, changed)
    counted = {name: step for name, step in steps.items() if isinstance(before.get(name), Int | Pointer)}
    amounts = {n: at.integer(s.amount).term if s.amount is not None else Num(1) for n, s in counted.items()}
    rounds = fresh(scope.model, "round", "natural")
    scope.model.depends[rounds.name] = ()
    entered = _Entered(at, node, before, counted, amounts, set(map(changed_by, changed)) - {""}, rounds)
    entered.at_round(rounds)
    outside = scope.loops
    scope.loops = (*outside, rounds.name)
    test = at.truth(condition) if condition is not None else TRUE
    counters = {
        name: (value.term, _step_term(step.operator, amounts[name]))
        for name, step in counted.items()
        if step.operator in ("+", "-") and isinstance(value := before[name], Int)
    }
    scope.model.loops[rounds.name] = Loop(
        rounds.name,
        scope.line(node),
        scope.at(node),
        counters,
        test if condition is not None else None,
        outside,
    )
    if tested_first and condition is not None:
        scope.path = (*path, test)
    alive = run(body) if body is not None else True
    if alive and update is not None:
        at.value(update)
    if not _left_early(body) and not leaves(body, "continue_statement"):
        entered.flowed(test)
    scope.path, scope.loops = path, outside
    end = fresh(scope.model, "rounds", "natural")
    scope.model.ends.add(end.name)
    scope.model.depends[end.name] = (test,) if condition is not None and not _left_early(body) else None
    if leaves(body, "break_statement") or _returns(body) or not tested_first or not _ordered(condition):
        scope.model.cut = scope.model.cut or f"the loop on line {scope.line(node)} may end early"
    entered.at_round(end)
    if condition is None or leaves(body, "break_statement"):
        return
    with scope.unnoted():
        behind = terms.negation(at.truth(condition))
        if tested_first:
            after = dict(scope.variables)
            entered.at_round(terms.sub(end, Num(1)))
            last = terms.disjunction(terms.equal(end, Num(0)), at.truth(condition))
            scope.variables = after
            behind = terms.conjunction(behind, last)
    scope.path = (*path, behind)


def _step_term(operator: str, amount: Term) -> Term:
    return amount if operator == "+" else terms.sub(Num(0), amount)


def _left_early(body: Node | None) -> bool:
    return leaves(body, "break_statement") or _returns(body)


@dataclass
class _Entered:
    """The variables of a loop, in any round."""

    at: Expressions
    node: Node
    before: dict[str, Value]
    counted: dict[str, Step]
    amounts: dict[str, Term]
    changed: set[str]
    rounds: Term
    entry: dict[str, Value] = field(default_factory=dict)
    """The variables as the first reading of the body found them."""

    flow: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    """What a changed variable's value behind the loop follows from."""

    def flowed(self, test: Term) -> None:
        """Say of what a round changes from what it follows: from its first value and from what a round gives it."""
        for name, value in self.entry.items():
            after = self.at.scope.variables.get(name)
            self._follow(name, value, self.before.get(name), after, test)

    def _follow(self, name: str, value: Value, first: Value | None, after: Value | None, test: Term) -> None:
        depends = self.at.scope.model.depends
        ends: tuple[Term, Term] | None = None
        match value, first, after:
            case Record(), Record(), Record():
                for key, part in value.members.items():
                    self._follow(f"{name}.{key}", part, first.members.get(key), after.members.get(key), test)
            case Int(Var(variable)), Int(), Int():
                ends = (first.term, after.term)
            case Pointer(_, _, Var(variable)), Pointer(), Pointer() if first.root == after.root:
                ends = (first.offset, after.offset)
        if ends is not None and depends.get(variable, ends) is None:
            depends[variable] = (*ends, self.rounds)
            self.flow[name] = (*ends, test)

    def at_round(self, rounds: Term) -> None:
        """Set what the loop changes to its value at the start of a round."""
        scope = self.at.scope
        scope.variables = dict(self.before)
        for name in sorted(self.changed & set(self.before)):
            step, value = self.counted.get(name), self.before[name]
            if step is not None and step.operator in ("+", "-"):
                advance = terms.mul(rounds, self.amounts[name])
                scope.variables[name] = self._advanced(
                    value, advance if step.operator == "+" else terms.sub(Num(0), advance)
                )
            elif step is not None and isinstance(value, Int):
                scope.variables[name] = self._scaled(name, value, step, self.amounts[name], rounds)
            else:
                scope.variables[name] = self._lost(name, value)
        if not self.entry:
            self.entry = {name: scope.variables[name] for name in self.changed & set(self.before)}

    @staticmethod
    def _advanced(value: Value, by: Term) -> Value:
        match value:
            case Int(term, type_, through):
                return Int(terms.add(term, by), type_, through)
            case Pointer(root, space, offset, element, extents, through):
                moved = terms.add(offset, terms.mul(by, element.size))
                return Pointer(root, space, moved, element, extents, through)
        return value

    def _scaled(self, name: str, value: Int, step: Step, amount: Term, rounds: Term) -> Value:
        """A counter that is halved or doubled: one of its values, when the first is a number; else a bound."""
        if not isinstance(amount, Num) or amount.value < 1:
            return self._lost(name, value)
        factor = amount.value if step.operator in ("*", "/") else 1 << min(amount.value, 32)
        growing = step.operator in ("*", "<<")
        variable = fresh(self.at.scope.model, name, "natural")
        first = value.term
        self.at.scope.model.depends[variable.name] = (first, rounds)
        if isinstance(first, Num) and first.value >= 0 and factor > 1:
            values = [first.value]
            while len(values) < _MOST_HALVINGS and 0 < values[-1] < 2**31:
                values.append(values[-1] * factor if growing else values[-1] // factor)
            one_of = terms.disjunction(*(terms.equal(variable, Num(v)) for v in values))
            self.at.scope.model.ranges[variable.name] = (terms.at_most(Num(0), variable), one_of)
            self.at.scope.model.choices[variable.name] = tuple(v for v in values if v)
        else:
            self.at.scope.model.data.add(variable.name)
            self.at.scope.model.choices[variable.name] = tuple(max(factor, 2) ** n for n in range(8))
            bound = terms.at_most(first, variable) if growing else terms.at_most(variable, first)
            self.at.scope.model.ranges[variable.name] = (terms.at_most(Num(0), variable), bound)
        return Int(Var(variable.name), value.type, value.arithmetic)

    def _lost(self, name: str, value: Value) -> Value:
        model, line = self.at.scope.model, self.at.scope.line(self.node)
        why = f"`{name}` is changed in the loop on line {line}"
        match value:
            case Int(_, type_):
                return unknown(model, name, type_, why, self.flow.get(name))
            case Record():
                members = {key: self._lost(f"{name}.{key}", part) for key, part in value.members.items()}
                return replace(value, members=members)
            case Pointer():
                return replace(value, offset=unknown(model, name, INT64, why, self.flow.get(name)).term)
        return value
