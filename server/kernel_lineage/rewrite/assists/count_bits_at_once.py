"""Count the bits of whole words by one instruction, instead of a loop over them: `__popc`, `__popcll`.

Before:
    for (int b = 0; b < 32; b++) {
        int x = (q[i] >> b) & 1, y = (d[j] >> b) & 1;
        if (x == 1 && y == 1) both++;
    }
After:
    const auto x_bits = q[i];
    const auto y_bits = d[j];
    both += __popc(x_bits & y_bits);

What a round asks of bits is asked of words: `&&` is `&`, `||` is `|`, `!=` is `^`, `!` is `~`. Bits beyond those that
the loop goes over are masked. Refused where the loop does anything else, counts in floats, or may read a word that
`&&` and `||` leave out. Loops that go on until a word is empty, `while (w) { n += w & 1; w >>= 1; }` and
`while (w) { w &= w - 1; n++; }`, count at once as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.anchors.bit_loop import bits_of, emptied_by, word_shifted
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in, integer_of
from kernel_lineage.kernels.cuda_forms import Loop, bare, declarators, field_of, operator_of, test_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    indent_at,
    indent_unit,
    loop_at,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
    taken_name,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.template_types import plain_type
from kernel_lineage.rewrite.candidate import Candidate

_WHOLE = ("int", "uint", "bool")
_OF_BITS = {"&&": "&", "&": "&", "||": "|", "|": "|", "^": "^", "!=": "^"}


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    loop = loop_at(syntax.entry.loops, anchor.span)
    emptied = emptied_by(loop) if loop is not None else None
    bits = bits_of(loop) if loop is not None else 0
    if loop is None or not (bits or emptied):
        raise Refusal(f"no loop of {kernel.name} goes over the bits of a word")
    if "volatile" in kernel.text:
        raise Refusal(f"{kernel.name} has something volatile, which each round is to read again")
    data, first = data_of(kernel), with_pragmas(loop.node)
    reading = _Reading(kernel, syntax, loop, bits, identifiers_in(syntax.entry.node))
    lines = reading.lines() if emptied is None else reading.until_empty(*emptied)
    margin, newline = indent_at(data, first.start_byte), newline_of(data)
    parent = loop.node.parent
    if len(lines) > 1 and (parent is None or parent.type != "compound_statement"):
        lines = ["{", *(indent_unit(kernel) + line for line in lines), "}"]
    edit = replace_between(kernel, first.start_byte, loop.node.end_byte, (newline + margin).join(lines))
    return ASSIST.candidate(
        kernel, [edit], explanation=f"One instruction counts {bits or 'all'} bits; each count is what it was."
    )


@dataclass(frozen=True, slots=True)
class _Bits:
    """What a round asks of one bit, as an expression over words."""

    text: str
    is_one: bool
    """Whether the round's value is 0 or 1, and not any number for true."""
    wide: bool
    """Whether the words have 64 bits."""


@dataclass(slots=True)
class _Reading:
    """One loop, as counts of bits of words."""

    kernel: Kernel
    syntax: CudaSyntax
    loop: Loop
    bits: int
    taken: set[str]
    words: dict[str, str] = field(default_factory=dict)
    """Expression for a word → the name that it gets before the loop's place."""
    named: dict[str, _Bits] = field(default_factory=dict)
    """Variable of a round → what it is."""
    counts: list[tuple[str, _Bits]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What stands for the loop."""
        initializer = self.loop.node.child_by_field_name("initializer")
        if initializer is None or initializer.type != "declaration":
            raise Refusal(f"{self.loop.counter} is used behind the loop as well, as far as is seen")
        for statement in statements_of(self.loop.body):
            self._statement(statement, ())
        if not self.counts:
            raise Refusal("the loop counts nothing")
        changed = {*self.named, *(counter for counter, _ in self.counts), self.loop.counter}
        for word in self.words:
            if inside := changed & {*WORD.findall(word)}:
                raise Refusal(f"`{word}` is another word in each round, as {min(inside)} is")
        declared = [f"const auto {name} = {word};" for word, name in self.words.items() if word != name]
        return [*declared, *(f"{counter} += {self._counted(bits)};" for counter, bits in self.counts)]

    def until_empty(self, word: str, counter: str) -> list[str]:
        """What stands for a loop that goes on until a word has no bits left."""
        self._check_counter(counter)
        dtype, text = self._dtype_of(word, is_element=False), text_of(self.loop.node)
        if not dtype.startswith("uint") and (dtype not in ("int32", "int64") or re.search(r">|/", text)):
            raise Refusal(f"`{word}` is not known to be a number that the loop empties of all its bits")
        counts = f"{counter} += __popc{'ll' if dtype.endswith('64') else ''}({word});"
        initializer = self.loop.node.child_by_field_name("initializer")
        if initializer is None:
            return [counts, f"{word} = 0;"]
        begins = text_of(initializer).rstrip("; ") + ";"
        if initializer.type != "declaration":
            return [begins, counts, f"{word} = 0;"]
        unit = indent_unit(self.kernel)
        return ["{", unit + begins, unit + counts, "}"]

    def _counted(self, bits: _Bits) -> str:
        width = 64 if bits.wide else 32
        text = bits.text
        if self.bits > width:
            raise Refusal(f"the loop goes over {self.bits} bits of a word that has {width}")
        if self.bits < width:
            mask = f"0x{(1 << self.bits) - 1:x}{'ull' if bits.wide else 'u'}"
            text = f"{_in_parentheses(text)} & {mask}"
        return f"__popc{'ll' if bits.wide else ''}({text})"

    def _statement(self, node: Node, conditions: tuple[_Bits, ...]) -> None:
        sure = not conditions
        match node.type:
            case "declaration" if sure:
                kind = DTYPES.get(plain_type(self.kernel, text_of(node.child_by_field_name("type"))), "")
                for name, value, sizes, pointer in declarators(node):
                    if value is None or sizes or pointer or not kind.startswith(_WHOLE):
                        raise Refusal(f"`{text_of(node)}` is more than a bit")
                    self.named[name] = self._bits(value, True, name)
            case "if_statement" if node.child_by_field_name("alternative") is None:
                asked = self._bits(test_of(node), sure)
                for inner in statements_of(node.child_by_field_name("consequence")):
                    self._statement(inner, (*conditions, asked))
            case "expression_statement":
                self._count(next(iter(node.named_children), node), conditions)
            case _:
                raise Refusal(f"`{text_of(node).splitlines()[0]}` does more than to count bits")

    def _count(self, node: Node, conditions: tuple[_Bits, ...]) -> None:
        one, counter = False, bare(field_of(node, "argument") or field_of(node, "left"))
        added: Node | None = None
        if node.type == "update_expression":
            one = operator_of(node) == "++"
        elif node.type == "assignment_expression" and operator_of(node) == "+=":
            added = field_of(node, "right")
            one = integer_of(added) == 1
        if counter is None or counter.type != "identifier" or not (one or added is not None):
            raise Refusal(f"`{text_of(node)}` does more than to count bits")
        name = text_of(counter)
        self._check_counter(name)
        parts = list(conditions)
        if not one:
            parts.append(self._bits(added, not conditions))
            if not parts[-1].is_one:
                raise Refusal(f"`{text_of(added)}` is not known to be 0 or 1")
        if not parts:
            raise Refusal(f"`{text_of(node)}` counts rounds, not bits")
        whole = parts[0]
        for part in parts[1:]:
            whole = self._joined(whole, "&", part)
        self.counts.append((name, whole))

    def _check_counter(self, name: str) -> None:
        types = {
            v.type
            for v in self.syntax.entry.variables
            if v.name == name and not (v.pointer or v.sizes or v.shared)
        }
        dtypes = {DTYPES.get(plain_type(self.kernel, kind), "") for kind in types}
        if not dtypes or not all(d.startswith(_WHOLE[:2]) for d in dtypes):
            raise Refusal(f"{name} is not known to count in whole numbers")

    def _bits(self, node: Node | None, sure: bool, name: str = "word") -> _Bits:
        """What an expression of a round is over words; `sure` where every round comes to it."""
        node = bare(node)
        if node is None:
            raise Refusal("the loop is not understood")
        if node.type == "identifier" and text_of(node) in self.named:
            return self.named[text_of(node)]
        left, right = field_of(node, "left"), field_of(node, "right")
        operator = operator_of(node)
        if node.type == "binary_expression" and left is not None and right is not None:
            for one, shifted in ((right, left), (left, right)):
                word = word_shifted(shifted, self.loop.counter)
                if operator == "&" and integer_of(one) == 1 and word is not None:
                    return self._word(word, sure, name)
            for number, other in ((right, left), (left, right)):
                value = integer_of(number)
                if operator in ("==", "!=") and value in (0, 1):
                    return self._compared(self._bits(other, sure), (operator == "==") == (value == 1), value)
            if operator in _OF_BITS:
                is_lazy = operator in ("&&", "||")
                sides = self._bits(left, sure), self._bits(right, sure and not is_lazy)
                if not is_lazy and not all(side.is_one for side in sides):
                    raise Refusal(f"`{text_of(node)}` is not of single bits")
                return self._joined(sides[0], _OF_BITS[operator], sides[1])
        if node.type == "unary_expression" and operator == "!":
            return self._compared(self._bits(field_of(node, "argument"), sure), False, 0)
        raise Refusal(f"`{text_of(node)}` is not understood as a bit")

    def _compared(self, bits: _Bits, stays: bool, value: int) -> _Bits:
        if value == 1 and not bits.is_one:
            raise Refusal("a number that is not known to be 0 or 1 is compared with 1")
        text = bits.text if stays else f"~{_in_parentheses(bits.text)}"
        return _Bits(text, True, bits.wide)

    def _joined(self, one: _Bits, operator: str, other: _Bits) -> _Bits:
        if one.wide != other.wide:
            raise Refusal("bits of words of different sizes are compared")
        texts = (_in_parentheses(side.text) for side in (one, other))
        return _Bits(f" {operator} ".join(texts), True, one.wide)

    def _word(self, node: Node, sure: bool, name: str) -> _Bits:
        plain = bare(node)
        assert plain is not None
        text, wide = text_of(plain), self._is_wide(plain)
        if any(
            n.type in ("call_expression", "assignment_expression", "update_expression")
            for n in descendants(plain)
        ):
            raise Refusal(f"`{text}` may do more than to give a word")
        if text not in self.words:
            if not sure and any(
                n.type in ("subscript_expression", "pointer_expression") for n in descendants(plain)
            ):
                raise Refusal(f"`{text}` is not read in all rounds, and may lie outside of what can be read")
            is_name = plain.type == "identifier"
            self.words[text] = (
                text if is_name else taken_name(f"{name}_bits" if name != "word" else name, self.taken)
            )
        return _Bits(self.words[text], True, wide)

    def _is_wide(self, node: Node) -> bool:
        """Whether a word has 64 bits. Refused where its type is not known, or has no bits to shift."""
        dtype = self._dtype(node)
        if not dtype.startswith(_WHOLE):
            raise Refusal(f"`{text_of(node)}` is not known to be a whole number")
        return dtype.endswith("64")

    def _dtype(self, node: Node | None) -> str:
        node = bare(node)
        if node is None:
            return ""
        if node.type == "cast_expression":
            return DTYPES.get(plain_type(self.kernel, text_of(node.child_by_field_name("type"))), "")
        if node.type == "binary_expression" and operator_of(node) in ("&", "|", "^"):
            sides = {self._dtype(field_of(node, side)) for side in ("left", "right")}
            return sides.pop() if len(sides) == 1 else ""
        is_element = node.type == "subscript_expression"
        of = field_of(node, "argument") if is_element else node
        if of is None or of.type != "identifier":
            return ""
        return self._dtype_of(text_of(of), is_element)

    def _dtype_of(self, name: str, is_element: bool) -> str:
        """The type of a variable, or of its elements; "" where it is not known."""
        dtypes = {
            DTYPES.get(plain_type(self.kernel, v.type), "")
            for v in self.syntax.entry.variables
            if v.name == name and bool(v.pointer or v.sizes) == is_element and not v.shared
        }
        parameter = self.kernel.parameter(name)
        if not dtypes and parameter is not None and parameter.pointer == is_element:
            dtypes = {parameter.dtype or ""}
        return dtypes.pop() if len(dtypes) == 1 else ""


def _in_parentheses(text: str) -> str:
    return text if text.lstrip("~").isidentifier() else f"({text})"


ASSIST = Assist(
    title="Count the bits of a word at once",
    skill="population-count",
    pattern="bit_loop",
    make=_rewrite,
)
