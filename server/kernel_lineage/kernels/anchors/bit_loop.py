"""A loop over the bits of a word that counts those set, where one instruction counts them all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_WIDEST = 64
_GOES_ON = re.compile(r"(\w+)(?:(?:!=|>)0[uUlL]*)?")


def bits_of(loop: Loop) -> int:
    """How many bits a loop goes over, all from the lowest on: `32` of `for (int b = 0; b < 32; b++)`, and of
    `for (int b = 31; b >= 0; b--)`; 0 for other loops.
    """
    condition, start, bound = bare(loop.condition), integer_of(loop.start), integer_of(loop.bound)
    if loop.node.type != "for_statement" or start is None or bound is None:
        return 0
    if text_of(bare(field_of(condition, "left"))) != loop.counter or condition is None:
        return 0
    bits = 0
    match loop.step, operator_of(condition):
        case "1", "<" | "<=" | "!=" as operator if start == 0:
            bits = bound + (operator == "<=")
        case "-1", ">=" if bound == 0:
            bits = start + 1
    return bits if 1 < bits <= _WIDEST else 0


def word_shifted(node: Node, counter: str) -> Node | None:
    """The word in `word >> b`, for the loop's counter `b`; None for other expressions."""
    shift = bare(node)
    if shift is None or shift.type != "binary_expression" or operator_of(shift) != ">>":
        return None
    return field_of(shift, "left") if text_of(bare(field_of(shift, "right"))) == counter else None


def emptied_by(loop: Loop) -> tuple[str, str] | None:
    """The word that a loop goes on with until none of its bits is left, and what counts them: `w` and `n` of
    `while (w) { n += w & 1; w >>= 1; }`, and of `for (unsigned w = x; w != 0; w &= w - 1) n++;`. None for other loops.
    """
    test = _GOES_ON.fullmatch(_dense(bare(loop.condition)))
    if test is None or loop.body is None or loop.node.type not in ("while_statement", "for_statement"):
        return None
    inner = loop.body.named_children if loop.body.type == "compound_statement" else [loop.body]
    steps = [_dense(n).rstrip(";") for n in (*inner, loop.update) if n is not None and n.type != "comment"]
    if len(steps) != 2:
        return None
    word = re.escape(test[1])
    one, empties = rf"(\w+)\+=\(?{word}&1[uUlL]*\)?", rf"{word}(?:>>=1|/=2|={word}>>1|={word}/2)"
    counts, clears = (
        r"(?:\+\+)?(\w+)(?:\+\+|\+=1)?",
        rf"{word}(?:&=\(?{word}-1[uUlL]*\)?|={word}&\({word}-1[uUlL]*\))",
    )
    match = re.fullmatch(f"{one};{empties}", ";".join(steps))
    for ordered in (steps, steps[::-1]):
        match = match or re.fullmatch(f"{counts};{clears}", ";".join(ordered))
    return (test[1], match[1]) if match is not None and match[1] != test[1] else None


def _dense(node: Node | None) -> str:
    return "".join(text_of(node).split())


def _find(unit: Unit) -> Iterator[Anchor]:
    for loop in unit.loops:
        if (emptied := emptied_by(loop)) is not None:
            names = {"b": emptied[1], "word": emptied[0]}
            yield matched(loop.node, f"the loop counts the bits of {emptied[0]} one by one", names)
            continue
        if not bits_of(loop) or loop.body is None or unit.has_loop_in(loop.node):
            continue
        shifts = [n for n in unit.of("binary_expression") if contains(loop.body, n)]
        words = [word for n in shifts if (word := word_shifted(n, loop.counter)) is not None]
        changes = (*unit.of("update_expression"), *unit.of("assignment_expression"))
        if words and any(contains(loop.body, change) for change in changes):
            names = {"b": loop.counter, "word": text_of(bare(words[0]))}
            yield matched(loop.node, f"the loop over {loop.counter} counts bits one by one", names)


PATTERN = AnchorPattern(
    title="Bits counted one by one",
    names={
        "b": "the loop's counter, or what counts the bits",
        "word": "the first word whose bits it looks at",
    },
    find=in_entry(_find),
)
