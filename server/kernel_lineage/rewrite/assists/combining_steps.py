"""The steps by which a round of a loop combines a variable with a value: `sum += E;`, `if (E > most) { most = E; }`."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import (
    arguments_of,
    bare,
    changed_by,
    contains,
    declarators,
    field_of,
    operator_of,
    test_of,
    text_of,
    uses_of,
)
from kernel_lineage.rewrite.assists.choosing_steps import CHOOSING, choice_of, compared
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.written import dense

NEUTRAL = {"+": "0", "*": "1"}
"""What an operation changes nothing with."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one statement combines a variable with."""

    operation: str
    value: str
    """As written."""
    parts: tuple[Node, ...]
    """What the value is made of, and what says whether there is one."""
    counted: tuple[Node, ...]
    """Those of the parts that are combined."""


def step_of(statement: Node, name: str, round_: list[Node]) -> Step | None:
    """The step that a statement of a round is: `name += E;`, `name = fmaxf(name, E);`, `if (E > name) name = E;`, or an
    addition under a condition; None for any other.
    """
    if statement.type == "if_statement":
        return _chosen_step(statement, name) or _step_under_condition(statement, name)
    what = _changes_once(statement, name)
    if what is None:
        return None
    if what.type == "update_expression":
        one = "1" if operator_of(what) == "++" else "-1"
        return Step("+", one, (), ())
    right = bare(field_of(what, "right"))
    if right is None or text_of(what.child_by_field_name("left")) != name:
        return None
    operator = operator_of(what)
    if operator in ("+=", "*="):
        return _plain(operator[0], right)
    if operator == "-=":
        return Step("+", f"-({text_of(right)})", (right,), (right,))
    return _combination(_value_in(round_, statement, right) or right, name) if operator == "=" else None


def _changes_once(statement: Node, name: str) -> Node | None:
    """What changes a variable in a statement that does so always, and uses it nowhere else: `sum += E` of the statement
    `y[i] = sum += E;`, too.
    """
    if statement.type != "expression_statement":
        return None
    inner = list(descendants(statement))
    changes = [n for n in inner if changed_by(n) == name]
    sometimes = any(
        n.type in ("conditional_expression", "comma_expression") or operator_of(n) in ("&&", "||")
        for n in inner
    )
    if len(changes) != 1 or (sometimes and changes[0].parent != statement):
        return None
    (what,) = changes
    alone = all(contains(what, n) for n in uses_of(statement, name))
    return what if alone else None


def _value_in(round_: list[Node], statement: Node, name: Node) -> Node | None:
    """What a name is declared as in a round before a statement, and stays."""
    changed = any(changed_by(n, addressed=True) == text_of(name) for s in round_ for n in descendants(s))
    for earlier in round_[: round_.index(statement)] if name.type == "identifier" and not changed else ():
        declared = dict(d[:2] for d in declarators(earlier)) if earlier.type == "declaration" else {}
        if text_of(name) in declared:
            return bare(declared[text_of(name)])
    return None


def _combination(value: Node, name: str) -> Step | None:
    """The step of `name = value;`."""
    if value.type == "binary_expression" and operator_of(value) in ("+", "*"):
        sides = [bare(field_of(value, side)) for side in ("left", "right")]
        others = [s for s in sides if s is not None and text_of(s) != name]
        return _plain(operator_of(value), others[0]) if len(others) == 1 else None
    if value.type == "call_expression":
        function, arguments = text_of(value.child_by_field_name("function")), arguments_of(value)
        others = [a for a in arguments if text_of(bare(a)) != name]
        fits = function in CHOOSING and len(arguments) == 2 and len(others) == 1
        return _plain(function, others[0]) if fits else None
    if value.type == "conditional_expression":
        test = bare(value.child_by_field_name("condition"))
        choice = choice_of(test, name) if test is not None and test.type == "binary_expression" else None
        then, other = (bare(field_of(value, side)) for side in ("consequence", "alternative"))
        if choice is not None and then is not None and (dense(then), dense(other)) == (choice[1], name):
            return _plain(choice[0], then)
    return None


def _plain(operation: str, value: Node) -> Step:
    return Step(operation, text_of(value), (value,), (value,))


def _chosen_step(statement: Node, name: str) -> Step | None:
    """The step of `if (E > name) { name = E; }`."""
    step, then = compared(statement, name), statements_of(statement.child_by_field_name("consequence"))
    value = field_of(then[0].named_children[0], "right") if step is not None and len(then) == 1 else None
    return _plain(step[0], value) if step is not None and value is not None else None


def _step_under_condition(statement: Node, name: str) -> Step | None:
    """The step of `if (c) { name += E; }`."""
    then, test = statements_of(statement.child_by_field_name("consequence")), test_of(statement)
    step = step_of(then[0], name, then) if len(then) == 1 and then[0].type != "if_statement" else None
    nothing = NEUTRAL.get(step.operation) if step is not None else None
    if (
        step is None
        or nothing is None
        or test is None
        or statement.child_by_field_name("alternative") is not None
    ):
        return None
    value = f"({text_of(test)}) ? ({step.value}) : {nothing}"
    return Step(step.operation, value, (test, *step.parts), step.counted)
