"""Kleene evaluation of a condition over facts, with the evidence that decided it.

Kleene's strong logic: `False and unknown` is false, `True or unknown` is true, all else with an unknown part unknown.
A fact with several values makes the condition hold only if it holds for every combination of values; it fails if one
combination fails, and that one is the counterexample.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from kernel_lineage.skills.conditions.fact_name import Type
from kernel_lineage.skills.conditions.facts import Fact, Facts, Scalar
from kernel_lineage.skills.conditions.names import DTYPES, declared, split_fact
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import Expr, FactRef, Items, Literal, Op, facts_in
from kernel_lineage.skills.conditions.truth import Judgement, Truth

MAX_COMBINATIONS = 20_000
"""More combinations of values than this are not tried; the truth is then unknown unless a tried one fails."""
MAX_BITS = 4096
"""A larger power is unknown, so that no condition can take all memory."""

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Part:
    """The value of a part under one choice of values; None when unknown."""

    value: Scalar | tuple[Scalar, ...] | None
    used: frozenset[str] = _NOTHING
    missing: frozenset[str] = _NOTHING


def judge(expr: str | Expr, facts: Facts) -> Judgement:
    """The truth of a condition over facts. Raises `ConditionError` for a text that is no condition."""
    tree = parse(expr) if isinstance(expr, str) else expr
    if isinstance(tree, Op) and tree.op == "and":
        return _all(judge(part, facts) for part in tree.operands)
    by_name = {ref.name: fact for ref in facts_in(tree) if ref.bound and (fact := _find(ref.name, facts))}
    names = sorted(by_name)
    used: set[str] = set()
    missing: set[str] = set()
    failed: Judgement | None = None
    others = False
    combinations = itertools.product(*(by_name[n].values for n in names))
    for tried, values in enumerate(combinations):
        if tried == MAX_COMBINATIONS:
            missing.add(f"fewer values of {', '.join(names)} (over {MAX_COMBINATIONS} combinations)")
            break
        chosen = dict(zip(names, values, strict=True))
        part = _value(tree, chosen)
        if part.value is not None and not part.value:
            failed = failed or Judgement(
                Truth.FAILS,
                tuple(by_name[n] for n in names if n in part.used),
                counterexample=", ".join(f"{n} = {show(chosen[n])}" for n in names if n in part.used) or None,
            )
        else:
            others = True
            missing |= part.missing
            used |= part.used
        if failed is not None and others:
            return replace(failed, partly=True)
    if failed is not None:
        return failed
    evidence = tuple(by_name[n] for n in names if n in used)
    if missing:
        return Judgement(Truth.UNKNOWN, evidence, tuple(sorted(missing)))
    return Judgement(Truth.HOLDS, evidence)


def conjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's `and` of any number of truths; `HOLDS` of none."""
    seen = set(truths)
    return Truth.FAILS if Truth.FAILS in seen else Truth.UNKNOWN if Truth.UNKNOWN in seen else Truth.HOLDS


def show(value: Scalar) -> str:
    """A value as a person writes it: texts without quotes."""
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _all(judgements: Iterable[Judgement]) -> Judgement:
    """The conjunction: sound part by part, because "for every value" distributes over `and`."""
    parts = list(judgements)
    failed = [p for p in parts if p.truth is Truth.FAILS]
    if failed:
        return next((p for p in failed if not p.partly), failed[0])
    unknown = [p for p in parts if p.truth is Truth.UNKNOWN]
    evidence = tuple(dict.fromkeys(f for p in parts for f in p.evidence))
    missing = tuple(dict.fromkeys(m for p in unknown for m in p.missing))
    return Judgement(Truth.UNKNOWN if unknown else Truth.HOLDS, evidence, missing)


def _find(name: str, facts: Facts) -> Fact | None:
    fact = facts.get(name)
    declaration = declared(name)
    if fact is None and declaration is not None and declaration.symmetric:
        head, arguments = split_fact(name)
        fact = facts.get(f"{head}({', '.join(reversed(arguments))})")
    return fact


def _value(tree: Expr, chosen: Mapping[str, Scalar]) -> _Part:
    match tree:
        case Literal(value=value):
            return _Part(value)
        case FactRef():
            return _fact(tree, chosen)
        case Items(items=items):
            return _combine([_value(i, chosen) for i in items], lambda *values: values)
        case Op(op="and" | "or" as op, operands=operands):
            return _connective(op == "or", [_value(o, chosen) for o in operands])
        case Op(op=op, operands=operands):
            types = {o.type for o in operands}
            function = _OVER_INTERVAL[op] if op in _OVER_INTERVAL and len(types) > 1 else _FUNCTIONS[op]
            return _combine([_value(o, chosen) for o in operands], function, op)
        case _:
            assert_never(tree)


def _fact(ref: FactRef, chosen: Mapping[str, Scalar]) -> _Part:
    if not ref.bound:
        return _Part(None, missing=frozenset({f"what `{ref.name}` is in this kernel"}))
    if ref.name not in chosen:
        return _Part(None, missing=frozenset({ref.name}))
    value, used = chosen[ref.name], frozenset({ref.name})
    if _is_of(value, ref.type):
        return _Part(value, used)
    return _Part(None, used, frozenset({f"{ref.name} as a {ref.type} (it is given as {show(value)})"}))


def _is_of(value: Scalar, kind: Type) -> bool:
    match kind:
        case Type.TRUTH:
            return isinstance(value, bool)
        case Type.NUMBER:
            return isinstance(value, int | float)
        case Type.TEXT | Type.DTYPE:
            return isinstance(value, str)
        case Type.VERSION:
            return isinstance(value, tuple)
        case Type.INTERVAL:
            return isinstance(value, tuple) and len(value) == 2
        case _:
            assert_never(kind)


def _combine(parts: list[_Part], function: Callable[..., Any], name: str = "tuple") -> _Part:
    """A function of all its parts; unknown when one of them is, or where the function is not defined."""
    used = _NOTHING.union(*(p.used for p in parts))
    if any(p.value is None for p in parts):
        return _Part(None, used, _NOTHING.union(*(p.missing for p in parts)))
    values = [p.value for p in parts]
    try:
        return _Part(function(*values), used)
    except (ArithmeticError, _UndefinedError):
        written = f" {name} ".join(map(str, values))
        return _Part(None, used, frozenset({f"a value for `{written}`, which has none"}))


def _connective(absorbing: bool, parts: list[_Part]) -> _Part:
    """`or` when `absorbing` is True, `and` when False: one operand of that truth decides alone."""
    for part in parts:
        if part.value is not None and bool(part.value) is absorbing:
            return _Part(absorbing, part.used)
    used = _NOTHING.union(*(p.used for p in parts))
    missing = _NOTHING.union(*(p.missing for p in parts if p.value is None))
    return _Part(None if any(p.value is None for p in parts) else not absorbing, used, missing)


class _UndefinedError(Exception):
    """A function has no value for its arguments."""


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and abs(base) > 1 and base.bit_length() * abs(exponent) > MAX_BITS:
        raise _UndefinedError
    result: Any = base**exponent
    if isinstance(result, complex):
        raise _UndefinedError
    return float(result) if isinstance(result, float) else int(result)


def _over_interval(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A comparison that must be true of both ends, and so of every value between them."""

    def every(left: Any, right: Any) -> bool:
        if isinstance(left, tuple):
            return all(compare(end, right) for end in left)
        return all(compare(left, end) for end in right)

    return every


def _itemsize(dtype: str) -> int:
    if dtype not in DTYPES:
        raise _UndefinedError
    return DTYPES[dtype]


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "not": operator.not_,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, items: item in items,
    "not in": lambda item, items: item not in items,
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
    "is_power_of_2": lambda n: n > 0 and n == int(n) and int(n) & (int(n) - 1) == 0,
    "itemsize": _itemsize,
}
_OVER_INTERVAL = {op: _over_interval(_FUNCTIONS[op]) for op in ("<", "<=", ">", ">=")}
