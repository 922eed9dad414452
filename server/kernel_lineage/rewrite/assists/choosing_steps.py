"""Steps of a maximum or a minimum that are written as a comparison."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import operator_of, test_of
from kernel_lineage.rewrite.assists.layout import statements_of
from kernel_lineage.rewrite.assists.written import dense

CHOOSING = frozenset({"fmaxf", "fminf", "fmax", "fmin", "max", "min"})
"""Functions that give one of their two arguments."""


def compared(statement: Node, name: str) -> tuple[str, int] | None:
    """`if (v > best) { best = v; }`, whatever else the branch remembers."""
    test = test_of(statement) if statement.type == "if_statement" else None
    then = statement.child_by_field_name("consequence")
    if test is None or then is None or statement.child_by_field_name("alternative") is not None:
        return None
    chosen = choice_of(test, name)
    steps = [dense(s) for s in statements_of(then)]
    return (chosen[0], 2) if chosen is not None and f"{name}={chosen[1]};" in steps else None


def choice_of(test: Node, name: str) -> tuple[str, str] | None:
    """`>` and `v` of `v > name` and of `name < v`, with `<` likewise; a v that is no number is never chosen."""
    operator = operator_of(test)
    left, right = dense(test.child_by_field_name("left")), dense(test.child_by_field_name("right"))
    if left == name:
        left, right, operator = right, left, {">": "<", "<": ">"}.get(operator, "")
    if right != name or operator not in (">", "<") or name in re.findall(r"\w+", left):
        return None
    return operator, left
