"""How extents that checks compare belong together: equal, one over others, or a number that a condition asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Set
from dataclasses import replace
from itertools import combinations, islice, permutations

from kernel_gate.expressions import names
from kernel_gate.reaching import reachable
from kernel_lineage.workloads.recording.call import Call
from kernel_lineage.workloads.recording.failed import Failed

_NUMBER = re.compile(r"-?[0-9]{1,15}")
_DIGITS = re.compile(r"\b[0-9]{1,15}\b")
_MODULO = re.compile(r"%\s*(\w+)\s*(?:==\s*0)?")
_SIZE = re.compile(r"(\w+)\s*\.\s*size\s*\(\s*(-?\d+)\s*\)")
_SIDE = r"\w+(?:\s*\.\s*size\s*\(\s*-?\d+\s*\))?"
_COMPARED = re.compile(rf"({_SIDE})\s*==\s*({_SIDE})")
_MOST_TIES, _MOST_FACTOR, _MOST_SHIFT, _USUAL_FACTOR = 2, 1024, 2, 8


def tied_extents(call: Call, failed: Failed) -> Iterator[Call]:
    """Calls whose extents keep what a check compared, the likeliest first."""
    pairs = list(zip(failed.left.split(","), failed.right.split(","), strict=False))
    if "," in failed.left and failed.left.count(",") == failed.right.count(","):
        changed = call
        for left, right in pairs:
            changed = next(_tied(changed, failed, left, right), changed)
        if changed != call:
            yield changed
        return
    if "&&" in failed.condition and (joined := _all_equal(call, failed.condition)) != call:
        yield joined
    if (step := _MODULO.search(failed.condition)) is not None:
        if not _NUMBER.fullmatch(step[1]):
            yield from islice(_multiples(call, failed), _MOST_TIES)
        for tensor, what, index in reversed(failed.asked):
            if what == "size" and index < call.ranks.get(tensor, 2):
                extent = call.root(f"{tensor}_size_{index}")
                number = int(step[1]) if _NUMBER.fullmatch(step[1]) else int(call.numbers.get(step[1], 256))
                if number and call.multiple.get(extent, 1) % number:
                    yield replace(call, multiple={**call.multiple, extent: number})
                    return
    if failed.op in ("==", "!=", "") or failed.op in ("<=", "<", ">=", ">"):
        yield from _untied(call, failed)
        yield from _tied(call, failed, failed.left, failed.right)
    # A compound condition shows no values: its numbers are tried for what it names, else for what was asked last.
    by_name = [e for e, n in call.names.items() if re.search(rf"\b{re.escape(n)}\b", failed.condition)]
    last = [
        f"{t}_size_{i}"
        for t, what, i in reversed(failed.asked)
        if what == "size" and i < call.ranks.get(t, 2)
    ]
    for extent in dict.fromkeys(call.root(e) for e in (by_name or last[:2])):
        for number in _allowed(failed.condition):
            if call.fixed.get(extent) != number:
                yield replace(call, fixed={**call.fixed, extent: number})


def _multiples(call: Call, failed: Failed) -> Iterator[Call]:
    """Calls in which one extent is twice another one: what was left over of the one is what the check saw."""
    if not _NUMBER.fullmatch(failed.left):
        return
    values = call.values({})
    pairs = permutations(_asked_extents(call, failed), 2)
    left_over = int(failed.left)
    fitting = [(a, b) for a, b in pairs if values[a] % values[b] == left_over != 0]
    # Of what is smaller than its divisor all is left over.
    for whole, part in sorted(fitting, key=lambda pair: values[pair[0]] != left_over):
        if whole not in _behind(call, part):
            yield replace(call, derived={**call.derived, whole: f"{part} * 2"})


def _all_equal(call: Call, condition: str) -> Call:
    """The call in which extents that a compound condition compares are equal: it does not show their values."""
    for left, right in _COMPARED.findall(condition):
        one, other = (_extent_written(call, text) for text in (left, right))
        values = call.values({})
        if one in values and other in values and one != other:
            call = next(_equal(call, str(values[one]), str(values[other])), call)
    return call


def _extent_written(call: Call, text: str) -> str:
    """The extent that a piece of a condition names: by a name of the code, or as `x.size(1)`; "" for another."""
    size = _SIZE.fullmatch(text)
    if size is not None:
        rank = call.ranks.get(size[1], 2)
        return call.root(f"{size[1]}_size_{int(size[2]) % rank}") if rank else ""
    return next((call.root(e) for e, name in call.names.items() if name == text), "")


def _allowed(condition: str) -> list[int]:
    """Numbers that a condition asks for, the largest bounds first."""
    comparisons = re.findall(r"(==|<=|<|>=|>)\s*([0-9]{1,15})\b", condition)
    order = {"==": 0, "<=": 1, "<": 2, ">=": 3, ">": 4}
    shift = {"<": -1, ">": 1}
    numbers = [(order[op], int(n) + shift.get(op, 0)) for op, n in comparisons]
    return list(dict.fromkeys(n for _, n in sorted(numbers) if n > 0))


def _tied(call: Call, failed: Failed, left: str, right: str) -> Iterator[Call]:
    """Calls in which two values that were compared are the same, by what the one is over other extents first."""
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right) and failed.op in ("==", ""):
        by_value = {v: n for n, v in call.values({}).items() if n not in call.same}
        for extent, number in ((by_value.get(int(left)), int(right)), (by_value.get(int(right)), int(left))):
            if extent is not None and number not in by_value and extent not in call.derived:
                yield from (
                    replace(call, derived={**call.derived, extent: text})
                    for text in islice(_over_extents(call, failed, extent, number), _MOST_TIES)
                )
    yield from _equal(call, left, right, _DIGITS.findall(failed.condition))


def _over_extents(call: Call, failed: Failed, extent: str, number: int) -> Iterator[str]:
    """What a number may be over the extents that were asked for, those asked last first.

    A number that the condition writes out is that number.
    """
    written = {int(n) for n in _DIGITS.findall(failed.condition)}
    if number in written:
        return
    values = call.values({})
    others = [e for e in _asked_extents(call, failed) if extent not in _behind(call, e)]
    likely = {*written, *call.numbers.values()}

    def is_likely(factor: int, sign: str) -> bool:
        is_usual = factor & (factor - 1) == 0 or factor <= _USUAL_FACTOR
        return 1 < factor <= _MOST_FACTOR and ((is_usual and sign in failed.condition) or factor in likely)

    for other in others:
        value = values[other]
        if 0 < abs(number - value) <= _MOST_SHIFT:
            yield f"{other} {'+' if number > value else '-'} {abs(number - value)}"
        if number % value == 0 and is_likely(number // value, "*"):
            yield f"{other} * {number // value}"
        if number > 1 and value % number == 0 and is_likely(value // number, "/"):
            yield f"{other} // {value // number}"
    if "*" in failed.condition:
        yield from (f"{a} * {b}" for a, b in combinations(others, 2) if values[a] * values[b] == number)


def _asked_extents(call: Call, failed: Failed) -> list[str]:
    """The extents that were asked for, alone or with all of their tensor, those asked last first."""
    extents: dict[str, None] = {}
    values = call.values({})
    for tensor, what, index in reversed(failed.asked):
        if what == "size":
            extents[call.root(f"{tensor}_size_{index}")] = None
        elif what in ("sizes", "shape"):
            extents |= dict.fromkeys(call.shape(tensor))
    return [extent for extent in extents if extent in values]


def _behind(call: Call, extent: str) -> Set[str]:
    """The extents that an extent is made of, and itself."""
    texts = {call.root(e): text for e, text in call.derived.items()}
    return reachable(
        [call.root(extent)], lambda one: map(call.root, names(texts[one])) if one in texts else ()
    )


def _equal(call: Call, left: str, right: str, written: Collection[str] = ()) -> Iterator[Call]:
    """A call in which two values that were compared are the same; one that is `written` out is no extent's."""
    if not (_NUMBER.fullmatch(left) and _NUMBER.fullmatch(right)) or left == right:
        return
    values = call.values({})
    by_value = {v: n for n, v in values.items() if n not in call.same}
    one, other = (by_value.get(int(v)) if v not in written else None for v in (left, right))
    if one is not None and other is not None:
        order = list(values)
        stays, goes = (one, other) if order.index(one) < order.index(other) else (other, one)
        fixed = {n: v for n, v in call.fixed.items() if n != goes}
        if goes in call.fixed and stays not in call.fixed:
            fixed[stays] = call.fixed[goes]
        yield replace(call, same={**call.same, goes: stays}, fixed=fixed)
        return
    for extent, wanted in ((one, int(right)), (other, int(left))):
        if extent is not None and 0 < wanted < 1 << 20:
            yield replace(call, fixed={**call.fixed, extent: wanted})


def _untied(call: Call, failed: Failed) -> Iterator[Call]:
    """A call in which the extent that was asked last is one of its own: another number was asked of those it equals."""
    tensor, what, index = failed.asked[-1] if failed.asked else ("", "", 0)
    own = f"{tensor}_size_{index}"
    root = call.root(own)
    equal = [e for e in call.same if call.root(e) == root and e != own]
    number = call.fixed.get(root)
    asked = int(failed.right) if _NUMBER.fullmatch(failed.right) else 0
    if (
        number is None
        or what != "size"
        or failed.left != str(number)
        or number == asked
        or not 0 < asked < 1 << 20
    ):
        return
    if own != root:
        equal.append(root)
    if equal:
        others = dict.fromkeys(equal[1:], equal[0])
        same = {e: t for e, t in call.same.items() if call.root(e) != root} | others
        yield replace(call, same=same, fixed={**call.fixed, own: asked, equal[0]: number})
