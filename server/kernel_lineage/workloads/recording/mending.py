"""How checks that did not hold mend the call that they were made in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from kernel_lineage.workloads.recording.call import MOST_RANK, TYPES, Call

T = TypeVar("T")
_NUMBER = re.compile(r"-?[0-9]{1,15}")
_DIGITS = re.compile(r"\b[0-9]{1,15}\b")
_MODULO = re.compile(r"%\s*(\w+)\s*(?:==\s*0)?")
_SIZE = re.compile(r"(\w+)\s*\.\s*size\s*\(\s*(-?\d+)\s*\)")
_SIDE = r"\w+(?:\s*\.\s*size\s*\(\s*-?\d+\s*\))?"
_COMPARED = re.compile(rf"({_SIDE})\s*==\s*({_SIDE})")
_OF_SIZES = re.compile(r"\b(\w+)\s*(?:\.|->)\s*(?:sym_)?sizes\s*\(\s*\)")
_MOST_LISTED = 64
_MOST_WORDS = 4000
"""Characters of one field of a failed check."""


Asked = Sequence[tuple[str, str, int]]
"""What tensors were asked: name, what, index."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A check that did not hold."""

    condition: str
    left: str
    op: str
    right: str
    message: str
    asked: Asked
    """What tensors were asked before it: name, what, index."""

    @classmethod
    def of(cls, fields: list[str]) -> Failed:
        """From the fields of a line."""
        condition, left, op, right, message, asked = (f[:_MOST_WORDS] for f in (*fields, *[""] * 6)[:6])
        return cls(condition, left, op, right, message, asked_in(asked))


def asked_in(text: str) -> Asked:
    """What tensors were asked: name, what, index."""
    parts = [word.split(",") for word in text[:_MOST_WORDS].split()]
    return tuple((p[0], p[1], int(p[2])) for p in parts if len(p) == 3 and _NUMBER.fullmatch(p[2]))


def mended_at_once(call: Call, failures: Sequence[Failed], most: int) -> Iterator[Call]:
    """Calls that may get past the checks that did not hold: `most` ways past the first, the others mended beside it."""
    options = list(islice(mended(call, failures[0]), most)) if failures else []
    beside = [one for failed in failures[1:] if (one := next(mended(call, failed), None)) is not None]
    for option in options:
        for one in beside:
            option = _joined(call, option, one)
        yield option
    if beside:
        yield from options


def _joined(call: Call, first: Call, second: Call) -> Call:
    """What two other calls change of one; where they disagree, the first is right."""
    ranked = {t for t, rank in first.ranks.items() if call.ranks.get(t) != rank}

    def stays(extent: str) -> bool:
        return extent.rsplit("_size_", 1)[0] not in ranked

    same, fixed = dict(first.same), {**first.fixed}
    for extent, other in second.same.items():
        one, two = (replace(first, same=same).root(e) for e in (extent, other))
        if call.same.get(extent) != other and one != two and stays(extent) and stays(other):
            same[one] = two
            if one in fixed:
                fixed.setdefault(two, fixed.pop(one))
    for extent, number in second.fixed.items():
        if call.fixed.get(extent) != number and stays(extent):
            fixed.setdefault(replace(first, same=same).root(extent), number)
    return replace(
        first,
        same=same,
        fixed=fixed,
        ranks=_changed(call.ranks, first.ranks, second.ranks),
        types=_changed(call.types, first.types, second.types),
        numbers=_changed(call.numbers, first.numbers, second.numbers),
        multiple={
            e: n for e, n in _changed(call.multiple, first.multiple, second.multiple).items() if stays(e)
        },
        absent=first.absent ^ (second.absent ^ call.absent) if first.absent == call.absent else first.absent,
    )


def _changed(before: Mapping[str, T], first: Mapping[str, T], second: Mapping[str, T]) -> dict[str, T]:
    """The entries of the first of two others, and those that the second alone changes."""
    more = {n: v for n, v in second.items() if before.get(n) != v and before.get(n) == first.get(n)}
    return {**first, **more}


def mended(call: Call, failed: Failed) -> Iterator[Call]:
    """Calls that may get past a check, the likeliest first."""
    yield from _ranks(call, failed)
    yield from _types(call, failed)
    yield from _extents(call, failed)
    yield from _numbers(call, failed)
    yield from _left_out(call, failed)


def _last(failed: Failed, *what: str) -> list[str]:
    """The tensors that were asked for something last, once each."""
    return list(dict.fromkeys(t for t, w, _ in reversed(failed.asked) if w in what))


def _ranks(call: Call, failed: Failed) -> Iterator[Call]:
    asked = _last(failed, "dim") if failed.condition != "rank" else _last(failed, "dim", "sizes", "strides")
    both = failed.left, failed.right
    if not re.search(r"dim|rank", failed.condition) and failed.condition != "view":
        asked = []
    for tensor in asked[:2]:
        rank = call.ranks.get(tensor, 2)
        if any(both) and str(rank) not in both:  # what was compared is no number of extents
            continue
        wanted = [
            int(v) for v in both if _NUMBER.fullmatch(v) and int(v) != rank and 0 <= int(v) <= MOST_RANK
        ]
        wanted += [
            int(n)
            for n in re.findall(r"==\s*(\d)\b", failed.condition)
            if 0 < int(n) <= MOST_RANK and int(n) != rank
        ]
        for number in dict.fromkeys(wanted):
            yield replace(call, ranks={**call.ranks, tensor: number})
    if failed.left.count(",") != failed.right.count(","):
        yield from _shaped(call, failed)


def _shaped(call: Call, failed: Failed) -> Iterator[Call]:
    """Calls in which a tensor has as many extents as it is compared with, and the same ones."""
    compared = [*_OF_SIZES.findall(failed.condition), *_last(failed, "sizes")[:1]]
    named = [t for t in dict.fromkeys(compared) if t in call.ranks]
    by_value = {v: n for n, v in call.values({}).items() if n not in call.same}
    for tensor in named:
        for text in (failed.right, failed.left):
            extents = text.split(",") if text else []
            if len(extents) == call.ranks[tensor] or len(extents) > MOST_RANK:
                continue
            same, fixed = dict(call.same), dict(call.fixed)
            for place in range(MOST_RANK):
                same.pop(f"{tensor}_size_{place}", None)
                fixed.pop(f"{tensor}_size_{place}", None)
            for place, extent in enumerate(extents):
                other = by_value.get(int(extent)) if _NUMBER.fullmatch(extent) else None
                if other is not None and not other.startswith(f"{tensor}_size_"):
                    same[f"{tensor}_size_{place}"] = other
                elif _NUMBER.fullmatch(extent) and 0 < int(extent) < 1 << 20:
                    fixed[f"{tensor}_size_{place}"] = int(extent)
            if not any(other.startswith(f"{tensor}_size_") for other in same.values()):
                yield replace(call, ranks={**call.ranks, tensor: len(extents)}, same=same, fixed=fixed)
            yield replace(call, ranks={**call.ranks, tensor: len(extents)})


def _types(call: Call, failed: Failed) -> Iterator[Call]:
    asked = _last(failed, "type")
    wanted = [t for t in (failed.right, failed.left) if t in TYPES]
    if failed.op == "dispatch" or (not wanted and re.search(r"type|\bk[A-Z]", failed.condition)):
        wanted = ["float16", "bfloat16", "float32", "int32", "int64", "uint8", "int8"]
    for tensor in asked[:2]:
        for dtype in wanted:
            if call.types.get(tensor, "float32") != dtype:
                yield replace(call, types={**call.types, tensor: dtype})
                if failed.op == "dispatch":
                    yield replace(
                        call,
                        types={
                            t: dtype if k == call.types.get(tensor, "float32") else k
                            for t, k in call.types.items()
                        },
                    )


def _extents(call: Call, failed: Failed) -> Iterator[Call]:
    pairs = list(zip(failed.left.split(","), failed.right.split(","), strict=False))
    if "," in failed.left and failed.left.count(",") == failed.right.count(","):
        changed = call
        for left, right in pairs:
            changed = next(_equal(changed, left, right), changed)
        if changed != call:
            yield changed
        return
    if "&&" in failed.condition and (joined := _all_equal(call, failed.condition)) != call:
        yield joined
    if (step := _MODULO.search(failed.condition)) is not None:
        for tensor, what, index in reversed(failed.asked):
            if what == "size" and index < call.ranks.get(tensor, 2):
                extent = call.root(f"{tensor}_size_{index}")
                number = int(step[1]) if _NUMBER.fullmatch(step[1]) else 256
                if number and call.multiple.get(extent, 1) % number:
                    yield replace(call, multiple={**call.multiple, extent: number})
                    return
    if failed.op in ("==", "!=", "") or failed.op in ("<=", "<", ">=", ">"):
        yield from _untied(call, failed)
        yield from _equal(call, failed.left, failed.right)
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
    found = re.findall(r"(==|<=|<|>=|>)\s*([0-9]{1,15})\b", condition)
    order = {"==": 0, "<=": 1, "<": 2, ">=": 3, ">": 4}
    shift = {"<": -1, ">": 1}
    numbers = [(order[op], int(n) + shift.get(op, 0)) for op, n in found]
    return list(dict.fromkeys(n for _, n in sorted(numbers) if n > 0))


def _equal(call: Call, left: str, right: str) -> Iterator[Call]:
    """A call in which two values that were compared are the same."""
    if not (_NUMBER.fullmatch(left) and _NUMBER.fullmatch(right)) or left == right:
        return
    values = call.values({})
    by_value = {v: n for n, v in values.items() if n not in call.same}
    one, other = by_value.get(int(left)), by_value.get(int(right))
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


def _numbers(call: Call, failed: Failed) -> Iterator[Call]:
    """Numbers among the parameters that the condition or its message names."""
    said = f"{failed.condition} {failed.message}"
    for parameter in call.parameters:
        if parameter.kind not in ("i", "b", "oi") or not re.search(rf"\b{re.escape(parameter.name)}\b", said):
            continue
        values = [
            int(v)
            for v in (failed.right, failed.left, *_DIGITS.findall(failed.condition))
            if _NUMBER.fullmatch(v)
        ]
        for number in dict.fromkeys((*values, 0, 2, 64)):
            if call.numbers.get(parameter.name, 1) != number and abs(number) < 1 << 20:
                yield replace(call, numbers={**call.numbers, parameter.name: number})
    for parameter in call.parameters:
        if (
            parameter.kind[:1] == "v"
            and parameter.name in said
            and _NUMBER.fullmatch(failed.left)
            and _NUMBER.fullmatch(failed.right)
        ):
            for value in map(int, (failed.right, failed.left)):
                if 0 <= value <= _MOST_LISTED:
                    yield replace(call, numbers={**call.numbers, f"{parameter.name}_count": value})


def _left_out(call: Call, failed: Failed) -> Iterator[Call]:
    """Optional arguments given, or not."""
    for parameter in call.parameters:
        if parameter.kind[:1] == "o" and (parameter.name in failed.condition or not failed.condition):
            yield replace(call, absent=call.absent ^ {parameter.name})
