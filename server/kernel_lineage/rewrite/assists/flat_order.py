"""Let neighbouring threads take neighbours along another digit of the flat index that counts them.

Before: `int column = i / rows, row = i % rows;` and `out[row * columns + column]`, with `i < rows * columns`.
After: `int column = i % columns, row = i / columns;`: the digits change places, and each element is taken once as
before. Where more is done with `i`, or the elements are not known to be whole multiples of the digits, the number of a
thread's element is worked out from that of the thread, and the last elements keep their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, polynomial, term_of, times
from kernel_gate.expr.terms import Term, variables
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import above, contains, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.linear_forms import Coefficient
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.digit_steps import DigitSteps, digit_of, divided, factor_text
from kernel_lineage.rewrite.assists.element_work import ElementWork, strided_work_of, work_of
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    indent_at,
    insert_before,
    newline_of,
    taken_name,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between, changed_in
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.named_sizes import by_names, named_sizes
from kernel_lineage.rewrite.assists.neighbour_steps import over_element
from kernel_lineage.rewrite.assists.template_types import plain_type
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.warp_sectors import Strides, nearer
from kernel_lineage.rewrite.assists.written import in_brackets

_OF_A_THREAD = re.compile(r"\bthreadIdx\b")
_OF_A_WARP = 32
_NEIGHBOUR: Polynomial = {(): 1}
_KINDS = ("int", "unsigned int", "long long", "unsigned long long")
"""Types in the order in which two of them are converted to one."""
_WITHOUT_BRACKETS = {"init_declarator", "parenthesized_expression", "subscript_argument_list"}


@dataclass(frozen=True, slots=True)
class _Digit:
    """The part `i / inner % count` of the flat index."""

    inner: Polynomial
    count: Polynomial | None
    """None for what is left of the index above `inner`, where that is not known to be a whole number."""
    is_last: bool
    """Nothing is left above it."""
    is_whole: bool
    """The elements are a whole multiple of its values and of what lies below it."""


def in_another_order(kernel: Kernel, syntax: CudaSyntax) -> tuple[list[Edit], str]:
    """The edits by which neighbouring threads take neighbours along another digit, and the pointers that gain by it.

    Raises `Refusal`.
    """
    work = strided_work_of(kernel, syntax) or work_of(kernel, syntax)
    index = work.index.name
    statements = [*work.before, *work.inner]
    changed = changed_between(syntax, statements[0].start_byte, statements[-1].end_byte)
    if work.index.name in changed or identifiers_in(work.bound) & changed:
        raise Refusal(f"`{index}` or its bound is changed by the work itself")
    if len(_OF_A_THREAD.findall(text_of(syntax.entry.node))) > 1:
        raise Refusal(f"{kernel.name} uses threadIdx beside `{index}`")
    for name, taken, body in macros_of(kernel):
        if index in set(WORD.findall(body)) - taken:
            raise Refusal(f"the macro {name} uses `{index}`")
    return by_names(kernel, partial(_made, kernel, syntax, work, statements))


def _made(
    kernel: Kernel, syntax: CudaSyntax, work: ElementWork, statements: list[Node], model: Model
) -> tuple[list[Edit], str]:
    uses = [
        n
        for s in statements
        for n in descendants(s)
        if n.type == "identifier" and text_of(n) == work.index.name
    ]
    value = next((v for n in uses if (v := _value(model, n)) is not None), None)
    if value is None:
        raise Refusal(f"what `{work.index.name}` counts is not followed")
    element = polynomial(value)
    fixed = _fixed(kernel, syntax)
    refusals: list[Refusal] = []
    for digit in sorted(_digits(model, element, work, fixed), key=lambda d: d.is_last):
        gain = attempt(partial(_gain, syntax, model, element, digit, fixed))
        if not isinstance(gain, Refusal):
            return _edits(kernel, work, model, element, statements, uses, digit), gain
        refusals.append(gain)
    raise refusals[0] if refusals else Refusal(f"`{work.index.name}` is not taken apart into digits")


def _value(model: Model, node: Node) -> Term | None:
    return model.values.get((node.start_byte, node.end_byte))


def _fixed(kernel: Kernel, syntax: CudaSyntax) -> frozenset[str]:
    """What is the same for all threads: arguments that nothing changes, and the names of sizes."""
    changed = changed_in(syntax, syntax.entry.node)
    arguments = {p.name for p in kernel.parameters if not p.pointer} - changed
    return frozenset(arguments | named_sizes(kernel))


def _digits(model: Model, element: Polynomial, work: ElementWork, fixed: frozenset[str]) -> Iterator[_Digit]:
    """The digits that the flat index is taken apart into, but for its lowest."""
    bound = _value(model, work.bound)
    elements = polynomial(bound) if bound is not None and set(variables(bound)) <= fixed else None
    seen: list[_Digit] = []
    for term in model.values.values():
        parts = digit_of(over_element(term, element))
        if parts is None or not all(set(variables(p)) <= fixed for p in parts if p is not None):
            continue
        inner, above_it, below = parts
        size = polynomial(inner)
        if above_it is None:
            count = divided(elements, size) if elements is not None else None
            one = _Digit(size, count, is_last=True, is_whole=count is not None)
        else:
            count = divided(polynomial(above_it), polynomial(below))
            whole = elements is not None and count is not None and bool(divided(elements, times(count, size)))
            one = _Digit(size, count, is_last=False, is_whole=whole)
            if whole and elements == times(count or {}, size):
                one = _Digit(size, count, is_last=True, is_whole=True)
            if count is None:
                continue
        if size not in (_NEIGHBOUR, {}) and one not in seen and not (count and _is_few(count)):
            seen.append(one)
            yield one


def _is_few(count: Polynomial) -> bool:
    """Whether so many neighbours are known to be fewer than the threads of a warp."""
    return set(count) <= {()} and count.get((), 0) < _OF_A_WARP


def _gain(syntax: CudaSyntax, model: Model, element: Polynomial, digit: _Digit, fixed: frozenset[str]) -> str:
    """The pointers whose accesses come nearer when neighbouring threads are neighbours along a digit."""
    unit = syntax.entry
    same = fixed | set(model.loops)
    ways = [DigitSteps(by, 1, same, model.depends, element) for by in (_NEIGHBOUR, digit.inner)]
    strides: list[Strides] = []
    for access in indexing(unit).accesses:
        if access.space != "global" or access.address is None:
            continue
        place = over_element(access.address.offset, element)
        before, after = (_elements(way.step(place), access) for way in ways)
        strides.append(Strides(access, len(unit.loops_around(access.node)), before, after))
    inner = c_text(term_of(digit.inner))
    return nearer(strides, f"the flat index and by single elements along its digit `/ {in_brackets(inner)}`")


def _elements(step: Polynomial | None, access: Access) -> Coefficient:
    """A step in bytes as one in elements: a number, or what it is made of."""
    size = access.address.nbytes if access.address is not None else 0
    if step is None or not size or any(number % size for number in step.values()):
        return "?"
    whole = {factors: number // size for factors, number in step.items()}
    return whole.get((), 0) if set(whole) <= {()} else str(term_of(whole))


@dataclass(frozen=True, slots=True)
class _Exchanged:
    """The spelling of an exchange of digits."""

    digit: _Digit
    index: str
    along: str
    """What the number of the digit's values is called, where that is none of the kernel's sizes."""
    wide: bool
    """Elements are counted in 64 bits."""

    @property
    def count(self) -> str:
        return self.text(self.digit.count) if self.digit.count is not None else self.along

    def text(self, sizes: Polynomial) -> str:
        """A product of sizes as a factor."""
        return factor_text(c_text(term_of(sizes), wide=self.wide))

    @property
    def element(self) -> str:
        """The number of the element that a thread takes."""
        index, count, inner = self.index, self.count, self.text(self.digit.inner)
        if self.digit.is_last:
            return f"{index} % {count} * {inner} + {index} / {count}"
        assert self.digit.count is not None
        both = self.text(times(self.digit.count, self.digit.inner))
        return f"({index} / {both} * {count} + {index} % {count}) * {inner} + {index} / {count} % {inner}"

    def part(self, term: Term) -> str | None:
        """A part of the element's number, told by the thread's; "" where that is the same part, None where it is none
        by itself.
        """
        parts, digit = digit_of(term), self.digit
        if parts is None or digit.count is None:
            return None
        inner, count = polynomial(parts[0]), None
        if parts[1] is not None:
            count = divided(polynomial(parts[1]), polynomial(parts[2]))
            if count is None:
                return None
        part = divided(inner, digit.inner)
        own = f"{self.index} % {self.count}" + (
            f" / {self.text(part)}" if part and part != _NEIGHBOUR else ""
        )
        if part is not None and count is None and digit.is_last:
            return own
        if part is not None and count is not None and (fits := divided(digit.count, times(part, count))):
            return own if fits == _NEIGHBOUR else f"{own} % {self.text(count)}"
        if count is not None and divided(digit.inner, times(inner, count)) is not None:
            rest = f"{self.index} / {self.text(times(digit.count, inner))}"
            all_of_it = digit.is_last and digit.inner == times(inner, count)
            return rest if all_of_it else f"{rest} % {self.text(count)}"
        return "" if divided(inner, times(digit.inner, digit.count)) is not None else None


def _edits(
    kernel: Kernel,
    work: ElementWork,
    model: Model,
    element: Polynomial,
    statements: list[Node],
    uses: list[Node],
    digit: _Digit,
) -> list[Edit]:
    kind = plain_type(kernel, work.type.removeprefix("const "))
    taken = {n for s in (work.index.node, work.guard, *statements) for n in identifiers_in(s)}
    taken |= {p.name for p in kernel.parameters}
    spelled = _Exchanged(digit, work.index.name, taken_name("along", taken), wide="long long" in kind)
    edits: list[Edit] = []
    left = list(uses)
    if digit.is_whole and _of_one_type(kernel, kind, digit):
        for use in uses:
            node, text = _part_around(model, element, use, spelled)
            if node is not None and use in left:
                left = [n for n in left if not contains(node, n)]
                edits += [replace_node(node, text)] if text else []
    if left:
        first = statements[0]
        if first.parent is None or first.parent.type != "compound_statement":
            raise Refusal(f"line {first.start_point.row + 1} stands without braces around it")
        name = taken_name("element", taken)
        lines = _element(work, spelled, name, taken)
        gap = newline_of(data_of(kernel)) + indent_at(data_of(kernel), first.start_byte)
        edits += [replace_node(n, name) for n in left]
        edits.append(insert_before(kernel, first.start_byte, "".join(line + gap for line in lines)))
    return edits


def _part_around(
    model: Model, element: Polynomial, use: Node, spelled: _Exchanged
) -> tuple[Node | None, str]:
    """The largest expression around a use of the index that is a part of its number, and how the thread's tells it."""
    around = takewhile(lambda n: n.type in ("binary_expression", "parenthesized_expression"), above(use))
    largest: tuple[Node | None, str] = None, ""
    for node in around:
        value = _value(model, node)
        text = spelled.part(over_element(value, element)) if value is not None else None
        if text is not None:
            plain = node.parent is not None and node.parent.type in _WITHOUT_BRACKETS
            largest = node, text if plain or not text else f"({text})"
    return largest


def _of_one_type(kernel: Kernel, kind: str, digit: _Digit) -> bool:
    """Whether the index divided by one size is of the same type as the index divided by any other."""
    assert digit.count is not None
    names = {n for m in (*digit.inner, *digit.count) for f in m for n in variables(f)}
    sizes = [plain_type(kernel, p.type) for p in kernel.parameters if p.name in names]
    all_told = len(sizes) == len(names) and {kind, *sizes} <= set(_KINDS)
    return all_told and len({max(kind, size, key=_KINDS.index) for size in sizes}) <= 1


def _element(work: ElementWork, spelled: _Exchanged, name: str, taken: set[str]) -> list[str]:
    """What declares the number of a thread's element."""
    digit, kind, bound = spelled.digit, work.type.removeprefix("const "), text_of(work.bound)
    inner = spelled.text(digit.inner)
    lines = [f"// Neighbouring threads take elements that lie {inner.strip('()')} apart; each is taken once."]
    if digit.is_whole:
        return [*lines, f"const {kind} {name} = {spelled.element};"]
    if any(n.type in ("call_expression", "subscript_expression") for n in descendants(work.bound)):
        raise Refusal(f"the bound `{bound}` is read or called for")
    whole = taken_name("whole", taken)
    if digit.count is None:
        lines.append(f"const {kind} {spelled.count} = {in_brackets(bound)} / {inner};")
        last = f"{spelled.count} * {inner}"
    else:
        both = spelled.text(times(digit.count, digit.inner))
        last = f"{in_brackets(bound)} / {both} * {both}"
    index = spelled.index
    return [
        *lines,
        f"const {kind} {whole} = {last};",
        f"const {kind} {name} = {index} < {whole} ? {spelled.element} : {index};",
    ]
