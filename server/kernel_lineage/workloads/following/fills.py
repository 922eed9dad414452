"""What loops of host code fill arrays of whole numbers with."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, inside, operator_of, text_of
from kernel_lineage.workloads.following.launches import Launches
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.values import Buffer, NotFollowed, Number, combined, plain

_CONVERTS = re.compile(
    r"(?:static_cast\b|(?:unsigned|signed|int|long|short|char|float|double|size_t|\w+_t)$)"
)
_TRUTHS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"})
"""Operators that give 0 or 1."""


class Fills(Launches):
    """Keeps, of each array that a loop fills, what its elements are smaller than."""

    def fills(self, body: Node, condition: Node | None, names: Names) -> bool:
        """Whether a loop sets elements of arrays, and no more; what it fills whole numbers with is kept."""
        sets = [
            n for n in inside(body)
            if n.type == "assignment_expression"
            and (left := n.child_by_field_name("left")) is not None and left.type == "subscript_expression"
        ]  # fmt: skip
        for node in sets:
            left = node.child_by_field_name("left")
            base = self.either(left.child_by_field_name("argument") if left is not None else None, names)
            buffer = buffer_at(base)
            if buffer is None or isinstance(base, list):
                continue
            buffer.cleared = False
            value = node.child_by_field_name("right")
            buffer.below = self._below(value, condition, names, text_of(left).partition("[")[0])
        return bool(sets)

    def _below(
        self, value: Node | None, condition: Node | None, names: Names, array: str = ""
    ) -> Number | None:
        """What the values that a loop fills an array with are smaller than; `array` is how the array is written, whose
        own elements are as the others of it.
        """
        inner = _uncast(value) if value is not None else None
        if inner is not None and inner.type == "conditional_expression":
            sides = [inner.child_by_field_name(side) for side in ("consequence", "alternative")]
            others = [n for n in sides if not _is_element(n, array)]
            bounds = [self._below(n, condition, names, array) for n in others]
            return bounds[0] if bounds and len({b.text if b else None for b in bounds}) == 1 else None
        if inner is not None and operator_of(inner) in _TRUTHS:
            return plain(2)
        if value is not None and any(_is_remainder(n) for n in inside(value)):
            return self._below_remainder(_uncast(value), names)
        counted = condition.child_by_field_name("left") if condition is not None else None
        if condition is not None and value is not None and text_of(value) == text_of(counted):
            bound = self.either(condition.child_by_field_name("right"), names)
            return bound if isinstance(bound, Number) else None
        if value is None or any(n.type == "call_expression" for n in inside(value)):
            return None  # What a list holds that grows in the loop is not what it holds before.
        number = self.either(value, names)
        if isinstance(number, Number) and number.whole and number.is_constant and number.value >= 0:
            return plain(int(number.value) + 1)
        return None

    def _below_remainder(self, value: Node, names: Names) -> Number | None:
        """What a remainder, a number and one, or a number less one is smaller than; None for a product with one."""
        left, right = (value.child_by_field_name(side) for side in ("left", "right"))
        if left is None or right is None:
            return None
        if _is_remainder(value):
            divisor = self.either(right, names)
            return divisor if isinstance(divisor, Number) and divisor.whole else None
        if operator_of(value) == "-" and _is_remainder(_uncast(right)):
            whole = self.either(left, names)
            return combined("+", whole, plain(1)) if isinstance(whole, Number) and whole.whole else None
        sides = [self._below_remainder(_uncast(side), names) for side in (left, right)]
        more = self.either(left if sides[0] is None else right, names)
        bound = sides[0] or sides[1]
        if operator_of(value) != "+" or bound is None or not isinstance(more, Number) or more.value < 0:
            return None
        try:
            return combined("+", bound, more)
        except NotFollowed:
            return None

    def fill_each(self, name: str, buffer: Buffer, body: Node | None, names: Names) -> None:
        """`for (auto& v : values) v = …`: what an array is filled with."""
        for node in inside(body) if body is not None else ():
            if node.type == "assignment_expression" and text_of(node.child_by_field_name("left")) == name:
                buffer.cleared = False
                buffer.below = self._below(node.child_by_field_name("right"), None, names)


def _is_element(node: Node | None, array: str) -> bool:
    """Whether an expression is an element of an array, and no more."""
    inner = _uncast(node) if node is not None else None
    return (
        inner is not None and inner.type == "subscript_expression" and text_of(inner).startswith(f"{array}[")
    )


def _is_remainder(node: Node) -> bool:
    return node.type == "binary_expression" and operator_of(node) == "%"


def _uncast(value: Node) -> Node:
    """What is converted to another type, without parentheses: of `(int)(x)`, `int(x)` and `static_cast<int>(x)` x."""
    inner = bare(value)
    while inner is not None:
        listed = inner.child_by_field_name("arguments") if inner.type == "call_expression" else None
        callee = text_of(inner.child_by_field_name("function"))
        if inner.type == "cast_expression":
            value, inner = inner, bare(inner.child_by_field_name("value"))
        elif listed is not None and listed.named_child_count == 1 and _CONVERTS.match(callee):
            value, inner = inner, bare(listed.named_child(0))
        else:
            return inner
    return value
