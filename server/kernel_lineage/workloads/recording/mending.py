"""How checks that did not hold mend the call that they were made in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.recording.call import MOST_RANK, TYPES, Call
from kernel_lineage.workloads.recording.compared import compared, switches
from kernel_lineage.workloads.recording.failed import Failed
from kernel_lineage.workloads.recording.ties import tied_extents

T = TypeVar("T")
_NUMBER = re.compile(r"-?[0-9]{1,15}")
_DIGITS = re.compile(r"\b[0-9]{1,15}\b")
_SIZE = re.compile(r"\bsize\s*\(")
_OF_SIZES = re.compile(r"\b(\w+)\s*(?:\.|->)\s*(?:sym_)?sizes\s*\(\s*\)")
_MOST_LISTED = 64
_MOST_BRANCHED = 2
"""Extents that branches are tried for, those asked last."""


def mended_at_once(call: Call, failures: Sequence[Failed], text: str, most: int) -> Iterator[Call]:
    """Calls that may get past the checks that did not hold: `most` ways past the first, the others mended beside it.

    `text` is the code, whose branches say what it takes where a check says no more than that it failed.
    """
    options = list(islice(mended(call, failures[0], text), most)) if failures else []
    beside = [one for failed in failures[1:] if (one := next(mended(call, failed, text), None)) is not None]
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
        derived={e: t for e, t in _changed(call.derived, first.derived, second.derived).items() if stays(e)},
        multiple={
            e: n for e, n in _changed(call.multiple, first.multiple, second.multiple).items() if stays(e)
        },
        absent=first.absent ^ (second.absent ^ call.absent) if first.absent == call.absent else first.absent,
    )


def _changed(before: Mapping[str, T], first: Mapping[str, T], second: Mapping[str, T]) -> dict[str, T]:
    """The entries of the first of two others, and those that the second alone changes."""
    more = {n: v for n, v in second.items() if before.get(n) != v and before.get(n) == first.get(n)}
    return {**first, **more}


def mended(call: Call, failed: Failed, text: str = "") -> Iterator[Call]:
    """Calls that may get past a check, the likeliest first."""
    if failed.condition in ("false", "0"):
        yield from _branched(call, failed, text)
    yield from _ranks(call, failed)
    yield from _types(call, failed)
    # A condition that names a number is about that; what it was compared with may be some extent as well.
    first, second = (_numbers, tied_extents) if _names_a_number(call, failed) else (tied_extents, _numbers)
    yield from first(call, failed)
    yield from second(call, failed)
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
                # An extent that is compared with itself is any.
                elif other is None and _NUMBER.fullmatch(extent) and 0 < int(extent) < 1 << 20:
                    fixed[f"{tensor}_size_{place}"] = int(extent)
            if not any(other.startswith(f"{tensor}_size_") for other in same.values()):
                yield replace(call, ranks={**call.ranks, tensor: len(extents)}, same=same, fixed=fixed)
            yield replace(call, ranks={**call.ranks, tensor: len(extents)})


def _types(call: Call, failed: Failed) -> Iterator[Call]:
    asked = _last(failed, "type")
    wanted = [t for t in (failed.right, failed.left) if t in TYPES]
    shows_numbers = _NUMBER.fullmatch(failed.left) is not None
    asks_type = not wanted and not shows_numbers and re.search(r"type|\bk[A-Z]", failed.condition)
    if failed.op == "dispatch" or asks_type:
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


def _branched(call: Call, failed: Failed, text: str) -> Iterator[Call]:
    """Calls with the numbers of the code's branches, where it fails because none of them was taken."""
    named = [p.name for p in call.parameters if p.kind in ("i", "oi") and _has_word(failed.message, p.name)]
    for name in named:
        for number in compared(name, text):
            if number and call.numbers.get(name) != number:
                yield replace(call, numbers={**call.numbers, name: number})
    if named:
        return
    cases = {subject: numbers for subject, numbers in switches(text) if numbers}
    asked = [(t, i) for t, what, i in reversed(failed.asked) if what == "size" and i < call.ranks.get(t, 2)]
    for tensor, index in asked[:_MOST_BRANCHED]:
        extent = call.root(f"{tensor}_size_{index}")
        words = {call.names.get(extent), call.names.get(f"{tensor}_size_{index}")}
        own = [n for subject, numbers in cases.items() if subject in words for n in numbers]
        own = own or [n for subject, numbers in cases.items() if _SIZE.search(subject) for n in numbers]
        own = own or [n for numbers in cases.values() for n in numbers]
        for number in own:
            if number and call.fixed.get(extent) != number:
                yield replace(call, fixed={**call.fixed, extent: number})


def _has_word(text: str, word: str) -> bool:
    """Whether a message names something, as the code writes it or in words: `block_size`, `Block size`."""
    plain_text, plain_word = (t.replace("_", " ").lower() for t in (text, word))
    return re.search(rf"\b{re.escape(plain_word)}\b", plain_text) is not None


def _names_a_number(call: Call, failed: Failed) -> bool:
    """Whether a condition is about a number among the parameters, and no tensor's extent."""
    words = set(WORD.findall(failed.condition))
    return not _SIZE.search(failed.condition) and any(
        p.name in words for p in call.parameters if p.kind in ("i", "b", "oi")
    )


def _numbers(call: Call, failed: Failed) -> Iterator[Call]:
    """Numbers among the parameters that the condition or its message names."""
    text = f"{failed.condition} {failed.message}"
    for parameter in call.parameters:
        if parameter.kind not in ("i", "b", "oi") or not re.search(rf"\b{re.escape(parameter.name)}\b", text):
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
            and parameter.name in text
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
