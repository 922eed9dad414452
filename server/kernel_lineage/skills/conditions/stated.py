"""Facts as a person states them: `C = 768 | 1024, align(x) = 16, dtype(x) = float32`."""

from __future__ import annotations

import ast
import re

from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar
from kernel_lineage.skills.conditions.names import DTYPES, declared
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.tree import FactRef, Op

_COMMA = re.compile(r",(?![^()]*\))")


class StatedFactError(ValueError):
    """A statement that is no fact; the message says how to write one."""


def stated_facts(text: str, by: str) -> Facts:
    """The facts in a statement; several values of one are separated by `|`. `by` says who states them.

    Raises `StatedFactError`.
    """
    facts: dict[str, Fact] = {}
    for statement in filter(None, (part.strip() for part in _COMMA.split(text))):
        name, equals, values = statement.partition("=")
        if not equals:
            raise StatedFactError(f"`{statement}` states no value; write `C = 1024` or `align(x) = 16`")
        name = _name(name.strip())
        kind = known_type.type if (known_type := declared(name)) else None
        read = tuple(_value(v.strip(), name, kind) for v in values.split("|"))
        evidence = f"{name} is {' or '.join(v.strip() for v in values.split('|'))} ({by})"
        facts[name] = Fact(read, evidence, FactSource.STATED)
    return Facts(facts)


def _name(text: str) -> str:
    try:
        tree = parse(f"{text} == {text}")
    except ConditionError as error:
        raise StatedFactError(f"`{text}` is no fact: {error.message}") from None
    if not (isinstance(tree, Op) and isinstance(tree.operands[0], FactRef)):
        raise StatedFactError(f"`{text}` is no fact; write `C = 1024` or `align(x) = 16`")
    return tree.operands[0].name


def _value(text: str, name: str, kind: Type | None) -> Scalar:
    if kind is Type.DTYPE and text not in DTYPES:
        raise StatedFactError(f"{name} is one of {', '.join(DTYPES)}, not `{text}`")
    if kind in (Type.DTYPE, Type.TEXT):
        return text.strip("\"'")
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise StatedFactError(
            f"`{text}` is no value for {name}; write a number, True, False or a tuple"
        ) from None
    fits = {
        Type.TRUTH: isinstance(value, bool),
        Type.NUMBER: isinstance(value, int | float) and not isinstance(value, bool),
        Type.VERSION: _is_tuple(value),
        Type.INTERVAL: _is_tuple(value) and len(value) == 2,
        None: isinstance(value, bool | int | float | str),
    }
    if not fits[kind]:
        raise StatedFactError(
            f"`{text}` is no value for {name}, which takes a value of type {kind or 'number or truth value'}"
        )
    result: Scalar = value
    return result


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(v, int | float) for v in value)
