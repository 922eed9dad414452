"""Variables that an `if` keeps below or above a number: `if (blocks > most) blocks = most;`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import field_of, operator_of, text_of

_SET = re.compile(r"(\w+)\s*=\s*([\w.]+)\s*;")


@dataclass(frozen=True, slots=True)
class Clamp:
    """A variable, and the `min` or `max` of two expressions that it becomes."""

    name: str
    function: str
    sides: tuple[Node, Node]


def clamp_of(condition: Node | None, then: Node | None) -> Clamp | None:
    """What an `if` without `else` is where it compares a variable with what it then sets the variable to."""
    test = condition.named_child(0) if condition is not None else None
    block = then.named_children if then is not None and then.type == "compound_statement" else [then]
    change = _SET.fullmatch(text_of(block[0])) if len(block) == 1 else None
    if test is None or test.type != "binary_expression" or change is None:
        return None
    left, right, operator = field_of(test, "left"), field_of(test, "right"), operator_of(test)
    if left is None or right is None or operator not in (">", ">=", "<", "<="):
        return None
    if (text_of(left), text_of(right)) not in (change.groups(), change.groups()[::-1]):
        return None
    is_smaller = (operator[0] == ">") == (text_of(left) == change[1])
    return Clamp(change[1], "min" if is_smaller else "max", (left, right))
