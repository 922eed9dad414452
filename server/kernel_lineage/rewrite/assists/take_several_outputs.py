"""Let each thread work out several elements whose flat index differs in one digit or two, loop by loop together.

Before:
    int w = i % W, h = i / W % H, k = i / (W * H);
    for (int c = 0; c < C; c++) { sum += in[(c * H + h) * W + w] * weight[k * C + c]; }
    out[i] = sum;
After: a thread takes the elements of four `k` (or of four `k` and four `h`), with a sum for each: every round of the
loop does its work for all of them, so that what they read in common is read once, and the index is taken apart once for
all. Neighbouring threads still take neighbouring elements. Where a digit's extent is no multiple of four, threads
stride over the grid with the old code. The grid shrinks as much. The candidate's alternatives take other digits.
Neighbours of one row are taken together where each load that moves with them can be one wide access (`wide_loads`): as
many as have 16 bytes, eight channels of halves, say, where `c = i % C` is innermost.

Each element is computed by the same operations in the same order. Refused where elements go different ways through a
loop, or where nothing tells how an index goes on from one of them to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from kernel_gate.expr.polynomials import Polynomial, polynomial
from kernel_gate.expr.terms import Op, Term, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import contains, text_of, uses_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.blocks_at_launch import change_blocks, launches_of
from kernel_lineage.rewrite.assists.digit_steps import Digit, DigitSteps, count_of, divided, strides_in
from kernel_lineage.rewrite.assists.element_work import ElementWork, work_of
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads, macros_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between, changed_in
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.neighbour_steps import ELEMENT, over_element
from kernel_lineage.rewrite.assists.template_types import plain_type
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.together_code import TogetherCode
from kernel_lineage.rewrite.assists.together_values import TogetherValues
from kernel_lineage.rewrite.assists.wide_loads import WideLoads, wide_loads
from kernel_lineage.rewrite.assists.written import in_brackets
from kernel_lineage.rewrite.candidate import Candidate

_ALONE, _BOTH = 4, (4, 4)
"""Elements along one digit, and along two."""
_BESIDE = (16, 8, 4)
"""Neighbours of which a thread loads 16 bytes, by their size."""
_OFFERED = 4
_SIDE_BY_SIDE: Polynomial = {(): 1}
"""How far neighbours lie apart."""
_HIDDEN = re.compile(r"threadIdx|blockIdx|blockDim|gridDim")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    work = work_of(kernel, syntax)
    _check(kernel, syntax, work)
    model = read_open(kernel)
    element = polynomial(model.values[work.start.start_byte, work.start.end_byte])
    values = [over_element(term, element) for term in model.values.values()]
    loads = list(_loads(model, element))
    made: list[tuple[float, _Together]] = []
    refusals: list[Refusal] = []
    in_common = any(all(_is_constant(part) for part in load) for load in loads)
    for strides in _choices([*values, *(one for load in loads for one in load)], in_common):
        together = attempt(partial(_together, kernel, syntax, work, model, strides))
        if isinstance(together, Refusal):
            refusals.append(together)
        else:
            made.append((_for_each_round(together.digits, loads), together))
    if not made:
        raise refusals[-1] if refusals else Refusal(f"`{work.index.name}` is not taken apart into digits")
    made.sort(key=lambda one: one[0])
    return with_alternatives([t for _, t in made[:_OFFERED]], lambda t: _candidate(kernel, syntax, work, t))


def _check(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> None:
    if not any(contains(s, loop.node) for s in work.inner for loop in syntax.entry.loops):
        raise Refusal(f"an element of {kernel.name} is worked out without a loop")
    if work.returns:
        raise Refusal(f"`{text_of(work.returns[0])}` leaves for one element and not for the others")
    if work.before:
        raise Refusal(f"`{text_of(work.before[0])}` stands before the check of `{work.index.name}`")
    text = text_of(syntax.entry.node)
    for what in ("threadIdx", "blockDim", "blockIdx"):
        if len(re.findall(rf"\b{what}\b", text)) > 1:
            raise Refusal(f"{kernel.name} uses {what} beside `{work.index.name}`, which will be another one")
    inside = {v.name for v in syntax.entry.variables if any(contains(w, v.node) for w in work.inner)}
    if changed := changed_between(syntax, work.inner[0].start_byte, work.inner[-1].end_byte) - inside:
        raise Refusal(f"`{min(changed)}` is changed for one element and would be different for the next")
    if any(n.type in ("call_expression", "subscript_expression") for n in descendants(work.bound)):
        raise Refusal(f"the bound `{text_of(work.bound)}` is read or called for")
    check_hidden_reads(kernel, syntax, _HIDDEN, "its thread")
    own = {v.name for v in syntax.entry.variables}
    for name, taken, body in macros_of(kernel):
        if used := own & (set(WORD.findall(body)) - taken):
            raise Refusal(f"the macro {name} uses `{min(used)}`, of which each element has its own")


def _is_constant(term: Term) -> bool:
    """Whether a term is the same for all elements."""
    return ELEMENT.name not in variables(term)


def _choices(terms: list[Term], in_common: bool) -> Iterator[tuple[Polynomial, ...]]:
    """The digits along which a thread may have several elements, told by how far these lie apart.

    `in_common`: there are loads that are the same for all elements, so that neighbours gain though they are no digit.
    """
    strides: list[Polynomial] = [_SIDE_BY_SIDE]
    for term in terms:
        strides += [s for s in strides_in(term) if s not in strides]
    for one in strides:
        if len(strides) > 1 or in_common:
            yield (one,)
        yield from ((one, other) for other in strides if other != one and divided(other, one) is not None)


@dataclass(frozen=True, slots=True)
class _Together:
    """The code for a thread's elements."""

    digits: tuple[Digit, ...]
    lane: str
    lines: list[str]
    wide: WideLoads | None

    @property
    def count(self) -> int:
        return count_of(self.digits)


def _loads(model: Model, element: Polynomial) -> Iterator[tuple[Term, ...]]:
    """The loads of a round: where, and under which conditions beside those of the whole work."""
    everywhere = set.intersection(*({*a.path} for a in model.accesses))
    for access in model.accesses:
        if access.reads and access.loops and access.offset is not None:
            parts = [access.offset, *(c for c in access.path if c not in everywhere)]
            yield tuple(over_element(part, element) for part in parts)


def _for_each_round(digits: tuple[Digit, ...], loads: list[tuple[Term, ...]]) -> float:
    """Loads for an element in a round, where elements that read one place under one condition read it once; a wide
    access is as dear as two.
    """
    total = 0.0
    for load in loads:
        kept = 1.0
        for digit in digits:
            same = all(digit.steps.step(part) == {} for part in load)
            kept /= digit.steps.count if same else 2 if digit.steps.stride == _SIDE_BY_SIDE else 1
        total += kept
    return total


def _together(
    kernel: Kernel,
    syntax: CudaSyntax,
    work: ElementWork,
    model: Model,
    strides: tuple[Polynomial, ...],
) -> _Together:
    """The work of elements that lie so far apart, done together."""
    if len(strides) == 2:
        return _counted(kernel, syntax, work, model, strides, _BOTH)
    tried = [_ALONE] if strides[0] != _SIDE_BY_SIDE else _BESIDE
    made = [attempt(partial(_counted, kernel, syntax, work, model, strides, (n,))) for n in tried]
    fitting = [one for one in made if not isinstance(one, Refusal)]
    if not fitting:
        assert isinstance(made[-1], Refusal)
        raise made[-1]
    return fitting[0]


def _counted(
    kernel: Kernel,
    syntax: CudaSyntax,
    work: ElementWork,
    model: Model,
    strides: tuple[Polynomial, ...],
    counts: tuple[int, ...],
) -> _Together:
    """The work of so many elements along each digit."""
    taken = identifiers_in(syntax.entry.node)
    lane = fresh_name("lane", taken)
    numbers = (lane,) if len(strides) == 1 else (f"{lane} % {counts[0]}", f"{lane} / {counts[0]}")
    rounds = {loop.round for loop in model.loops.values()}
    fixed = {p.name for p in kernel.parameters if not p.pointer} - changed_in(syntax, syntax.entry.node)
    element = polynomial(model.values[work.start.start_byte, work.start.end_byte])
    is_wide = plain_type(kernel, work.type) in ("long long", "unsigned long long")
    steps = [
        DigitSteps(s, n, frozenset(fixed | rounds), model.depends, element)
        for s, n in zip(strides, counts, strict=True)
    ]
    digits = tuple(Digit(one, number, is_wide) for one, number in zip(steps, numbers, strict=True))
    if any(not set(_names(d.steps.stride)) <= fixed for d in digits):
        raise Refusal(f"a digit of `{work.index.name}` is as large as no argument tells")
    together = TogetherValues(syntax, work, model, digits)
    wide = wide_loads(kernel, syntax, work, model, digits, fixed) if strides[0] == _SIDE_BY_SIDE else None
    beside = (wide, numbers[0], counts[0]) if wide is not None else None
    lines = TogetherCode(kernel, syntax, work, together, lane, count_of(digits), beside).lines()
    if any(not set(_names(polynomial(n))) <= fixed for d in digits for n in d.steps.needs):
        raise Refusal(f"a digit of `{work.index.name}` is as large as no argument tells")
    return _Together(digits, lane, lines, wide)


def _names(of: Polynomial) -> Iterator[str]:
    for monomial in of:
        for factor in monomial:
            yield "" if isinstance(factor, Op) else str(factor)


def _candidate(kernel: Kernel, syntax: CudaSyntax, work: ElementWork, made: _Together) -> Candidate:
    data, unit = data_of(kernel), indent_unit(kernel)
    margin, newline = indent_at(data, work.guard.start_byte), newline_of(data)
    taken = identifiers_in(syntax.entry.node) | {made.lane}
    group, at, between = (fresh_name(n, taken) for n in ("group", "at", "between"))
    index, bound, kind = work.index.name, text_of(work.bound), work.type.removeprefix("const ")
    limit = in_brackets(bound)
    old = dedented(data, work.inner, [])
    lines = [
        f"if ({' && '.join(_conditions(made, limit))}) {{",
        f"{unit}if ({group} < {limit} / {made.count}) {{",
        *(2 * unit + line for line in _first(made, group, between, index, kind)),
        *(2 * unit + line if line.strip() else "" for line in made.lines),
        f"{unit}}}",
        "} else {",
        f"{unit}for ({work.counted} {at} = {group}; {at} < {limit}; {at} += ({work.counted})gridDim.x * blockDim.x) {{",
        f"{2 * unit}const {kind} {index} = {at};",
        *(2 * unit + line if line.strip() else "" for line in old),
        f"{unit}}}",
        "}",
    ]
    text = newline.join(margin + line if line else "" for line in lines)[len(margin) :]
    declarator = uses_of(work.index.node, index)[0]
    launches = [
        change_blocks(kernel, launch, lambda blocks: f"({blocks} + {made.count - 1}) / {made.count}")
        for launch in launches_of(kernel)
    ]
    along = " and ".join(d.stride for d in made.digits)
    return ASSIST.candidate(
        kernel,
        [
            replace_node(declarator, group),
            replace_between(kernel, work.guard.start_byte, work.end, text),
            *launches,
        ],
        explanation=f"Each thread takes {made.count} elements that lie {along} apart and reads once what they read in "
        f"common; where their number is no multiple, the old code strides over the grid.",
        guarded=True,
    )


def _conditions(made: _Together, limit: str) -> list[str]:
    """What has to hold for elements to differ in their digits alone; the strides divide what lies above them."""
    conditions = [f"{d.stride} > 0" for d in made.digits if d.stride != "1"]
    above = [*(d.stride for d in made.digits[1:]), limit]
    for digit, whole in zip(made.digits, above, strict=True):
        if digit.stride == "1":
            conditions.append(f"{whole} % {digit.steps.count} == 0")
        else:
            conditions.append(
                f"{whole} % {digit.stride} == 0 && {whole} / {digit.stride} % {digit.steps.count} == 0"
            )
    for digit in made.digits:
        for need in digit.steps.needs:
            text = c_text(need, wide=digit.wide)
            conditions.append(f"{text if text.isidentifier() else f'({text})'} % {digit.steps.count} == 0")
    return list(dict.fromkeys([*conditions, *(made.wide.conditions if made.wide is not None else [])]))


def _first(made: _Together, group: str, between: str, index: str, kind: str) -> list[str]:
    """The first of a thread's elements: the number of the thread, with gaps at each digit."""
    low, *above = made.digits
    count = low.steps.count
    lines: list[str] = []
    for high in above:
        part = f"({high.stride} / {count})"
        text = f"{group} / {part} * {high.steps.count} * {part} + {group} % {part}"
        lines.append(f"const {kind} {between} = {text};")
        group = between
    first = f"{group} / {low.stride} * {count} * {low.stride} + {group} % {low.stride}"
    return [*lines, f"const {kind} {index} = {f'{count} * {group}' if low.stride == '1' else first};"]


ASSIST = Assist(
    title="Take several outputs in each thread",
    skill="outputs-per-thread",
    pattern="looped_element",
    make=_rewrite,
)
