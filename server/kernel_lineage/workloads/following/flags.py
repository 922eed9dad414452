"""Parameters by which C++ code chooses: it compares them with numbers that are written out, tests or hands them on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, operator_of, text_of, uses_of
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.unit import Unit

_CASTS = ("int", "long", "bool", "static_cast")
_BRANCHES = ("if_statement", "while_statement", "conditional_expression")
_Seen = set[tuple[int, str]]


class _OfSizeError(Exception):
    """The code calculates with the parameter."""


def numbers_told_apart(name: str, functions: Sequence[HostCode], unit: Unit) -> tuple[int, ...]:
    """The numbers between which functions choose by a parameter: those that they write out, then another one; none for
    a parameter that they calculate with, or that nothing asks.
    """
    try:
        asked = [number for f in functions for number in _asked(name, f, unit, set())]
    except _OfSizeError:
        return ()
    written = dict.fromkeys(number for number in asked if number is not None)
    other = [next(n for n in range(len(written) + 1) if n not in written)] if written else []
    return tuple(dict.fromkeys([*written, *other, *((1, 0) if None in asked else ())]))


def _asked(name: str, function: HostCode, unit: Unit, seen: _Seen) -> Iterator[int | None]:
    """The numbers with which a variable is compared, and None where it is asked whether it is true.

    Raises `_OfSizeError`.
    """
    if (function.node.id, name) in seen:
        return
    seen.add((function.node.id, name))
    for use in uses_of(function.body, name):
        if _is_in_check(use, unit):
            continue
        place, around = use, use.parent
        while around is not None and _stays(around):
            place, around = around, around.parent
        if around is None:
            raise _OfSizeError
        operator = operator_of(around) if around.type in ("binary_expression", "unary_expression") else ""
        if around.type == "argument_list":
            yield from _handed_on(place, around, unit, seen)
        elif around.type == "condition_clause" and around.parent is not None:
            is_switch = around.parent.type == "switch_statement"
            yield from _cases(around.parent, unit) if is_switch else [None]
        elif operator in ("!", "&&", "||") or (
            around.type in _BRANCHES and place == around.child_by_field_name("condition")
        ):
            yield None
        elif operator in ("==", "!="):
            sides = (around.child_by_field_name(side) for side in ("left", "right"))
            yield _number(next(side for side in sides if side != place), unit)
        elif around.type == "init_declarator" and place == around.child_by_field_name("value"):
            yield from _asked(text_of(around.child_by_field_name("declarator")), function, unit, seen)
        elif use != around.child_by_field_name("declarator"):  # the name of the variable itself
            raise _OfSizeError


def _is_in_check(use: Node, unit: Unit) -> bool:
    """Whether a name stands in `TORCH_CHECK(…)`: what callers may not give is no choice."""
    for node in above(use):
        if node.type == "lambda_expression" or node.type.endswith(("_statement", "declaration")):
            return False
        if node.type == "call_expression":
            called = text_of(node.child_by_field_name("function"))
            if called == "assert" or (called.isupper() and called not in unit.macros):
                return True
    return False


def _stays(around: Node) -> bool:
    """Whether an expression is another one in brackets, or cast to another type."""
    if around.type in ("parenthesized_expression", "cast_expression"):
        return True
    call = around.parent if around.type == "argument_list" else around
    is_cast = call is not None and call.type == "call_expression"
    return is_cast and text_of(call).partition("(")[0].partition("<")[0].strip() in _CASTS


def _handed_on(place: Node, listed: Node, unit: Unit, seen: _Seen) -> Iterator[int | None]:
    """What functions and kernels ask of a variable that they are given."""
    call = listed.parent
    callee = text_of(call.child_by_field_name("function")) if call is not None else ""
    at = arguments_of(listed).index(place)
    called = [
        f
        for f in unit.defined(callee.partition("<")[0].strip().rpartition("::")[2])
        if len(f.parameters) > at
    ]
    if not called:
        raise _OfSizeError
    for function in called:
        yield from _asked(function.parameters[at].name, function, unit, seen)


def _cases(switch: Node, unit: Unit) -> Iterator[int]:
    for node in inside(switch):
        value = node.child_by_field_name("value") if node.type == "case_statement" else None
        if value is not None:
            yield _number(value, unit)


def _number(node: Node | None, unit: Unit) -> int:
    """A whole number that is written out, or has a name. Raises `_OfSizeError`."""
    text = text_of(node).rpartition("::")[2].strip()
    if text in unit.macros:
        text = unit.macros[text].body
    elif text in unit.constants:
        text = text_of(unit.constants[text])
    text = {"true": "1", "false": "0"}.get(text, text)
    parts = [part.strip() for part in text.strip("() ").split("+")]
    if not all(part.isdigit() for part in parts):
        raise _OfSizeError
    return sum(map(int, parts))
