"""An element's work on a group of neighbours whose places are read by meaning, however the index is taken apart.

Where `vector_body` sees `p[i]` and `p[offset + i]`, here the reader's addresses say which elements neighbours touch:
the next one (`x[(i / half) * 2 * half + i % half]`), the next pair or triple (`x[2 * i]` and `x[2 * i + 1]`), or the
same one for all of a group (`scale[i / size]`). The places of a group are worked out once, for its first element, and
its elements move in wide accesses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial
from kernel_gate.expr.terms import variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access as Touch
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import changed_by, contains, declarators, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import dedented, descendants, taken_name
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.neighbour_runs import Run, check_order, runs_in, widest
from kernel_lineage.rewrite.assists.neighbour_steps import NeighbourSteps
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.vector_body import (
    WIDEST,
    aligned_to,
    changed_names,
    check_atomics,
    check_statements,
    group_word,
    vector,
)
from kernel_lineage.rewrite.assists.ways_through import always
from kernel_lineage.rewrite.assists.written import in_brackets


@dataclass(frozen=True, slots=True)
class NeighbourBody:
    """An element's code that can be run on a group of neighbours."""

    lanes: int
    index: str
    runs: tuple[Run, ...]
    needs: tuple[str, ...]
    """What has to be a multiple of `lanes`, as code."""
    statements: tuple[Node, ...]
    first: tuple[Node, ...]
    """Declarations that the places of a group are worked out with."""
    left_out: tuple[Node, ...]
    """Declarations that nothing else of the work uses."""
    assigned_outside: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """What a group is called in the code."""
        return group_word(self.lanes)

    @property
    def stored(self) -> set[str]:
        """The buffers that wide accesses write."""
        return {r.pointer for r in self.runs if r.writes}

    def aligned(self) -> str:
        """The condition under which the wide accesses are allowed, at run time."""
        sizes: dict[int, list[str]] = {}
        for run in self.runs:
            address = f"reinterpret_cast<size_t>({run.pointer})"
            listed = sizes.setdefault(self.lanes * run.bytes, []) if run.width else []
            if address not in listed:
                listed.append(address)
        return " && ".join([*(f"{need} % {self.lanes} == 0" for need in self.needs), *aligned_to(sizes)])

    def lines(self, data: bytes, index_type: str, quad: str, lane: str, unit: str) -> list[str]:
        """The code for the elements of a group, from lanes * quad on, without outer indentation."""
        lanes = self.lanes
        plain = index_type.removeprefix("const ")
        lines = [f"const {plain} {self.index} = {lanes} * {quad};"]
        lines += [line for node in self.first for line in dedented(data, [node], [])]
        for run in self.runs:
            lines += self._loaded(run)
        lines += ["#pragma unroll", f"for (int {lane} = 0; {lane} < {lanes}; {lane}++) {{"]
        changes = [
            (n, f"{r.name}{_at(r, lane, k)}")
            for r in self.runs
            for k, p in enumerate(r.places)
            for n in p
            if not _within(n, self.left_out)
        ]
        inner = dedented(data, self.statements, [*changes, *((n, "") for n in self.left_out)])
        if self._uses_index():
            lines.append(f"{unit}{index_type} {self.index} = {lanes} * {quad} + {lane};")
        lines += [unit + line for line in inner if line.strip()]
        lines.append("}")
        for run in self.runs:
            if run.writes:
                kind = vector(run.type, run.bytes, lanes)
                for n in range(run.width):
                    lines.append(f"{_wide(kind, self._address(run), n)} = {_wide(kind, run.name, n)};")
        return lines

    def _loaded(self, run: Run) -> list[str]:
        if not run.width:
            return [f"const {run.type} {run.name} = {text_of(run.places[0][0])};"]
        lines = [f"alignas({WIDEST}) {run.type} {run.name}[{run.width * self.lanes}];"]
        kind = vector(run.type, run.bytes, self.lanes)
        if run.reads:
            source = self._address(run)
            lines += [
                f"{_wide(kind, run.name, n)} = {_wide(f'const {kind}', source, n)};" for n in range(run.width)
            ]
        return lines

    def _address(self, run: Run) -> str:
        return f"&{text_of(run.places[0][0])}"

    def _uses_index(self) -> bool:
        gone = [n for r in self.runs for p in r.places for n in p] + list(self.left_out)
        return self.index in _used(self.statements, gone)


def _at(run: Run, lane: str, position: int) -> str:
    if run.width < 2:
        return f"[{lane}]" if run.width else ""
    return f"[{run.width} * {lane} + {position}]" if position else f"[{run.width} * {lane}]"


def _wide(kind: str, pointer: str, number: int) -> str:
    whole = f"reinterpret_cast<{kind}*>({pointer})"
    return f"{whole}[{number}]" if number else f"*{whole}"


def neighbour_body(
    kernel: Kernel,
    syntax: CudaSyntax,
    statements: list[Node],
    index: str,
    element: Polynomial,
    around: tuple[str, ...] = (),
) -> NeighbourBody:
    """The form of an element's statements for a group of neighbours, or why there is none.

    `element` is the value of `index` over threads and rounds, and `around` are the loops that count it. Elements have
    no order among each other.
    """
    nodes = check_statements(statements, index)
    check_atomics(syntax, statements, index)
    _check_kept_inside(syntax, statements, nodes)
    model = read_open(kernel)
    if model.problems or model.events:
        raise Refusal(f"what {kernel.name} does could not be read as a whole")
    by_place = {(n.start_byte, n.end_byte): n for n in nodes if n.type in _PLACES}
    begin, end = statements[0].start_byte, statements[-1].end_byte
    touches: dict[tuple[int, int], list[Touch]] = {}
    for touch in model.accesses:
        if touch.at is None:
            raise Refusal(f"where `{touch.text}` stands in {kernel.name} is not seen")
        if begin <= touch.at[0] < end:
            touches.setdefault(touch.at, []).append(touch)
    arguments = frozenset(p.name for p in kernel.parameters if not p.pointer)
    changed = changed_in(syntax, syntax.entry.node)
    steps, runs = widest(
        lambda steps: runs_in(kernel, syntax, touches, by_place, steps),
        sorted({t.nbytes for listed in touches.values() for t in listed}),
        lambda lanes: NeighbourSteps(lanes, arguments, model.depends, element, around),
    )
    needs = steps.least()
    check_order(touches, runs)
    for run in runs:
        if run.width:
            for places in run.places:
                _check_always(statements, places)
    for name in sorted({n for need in needs for n in variables(need)} | {r.pointer for r in runs if r.width}):
        if name in changed - {v.name for v in syntax.entry.variables}:
            raise Refusal(f"`{name}` is changed by the kernel")
    wide = [n for r in runs if r.width for p in r.places for n in p]
    for run in runs:
        if not run.width:
            run.places[0] = [n for n in run.places[0] if not any(contains(w, n) for w in wide)]
    runs = [r for r in runs if r.width or (r.places[0] and always(statements, r.places[0]))]
    taken = identifiers_in(syntax.entry.node)
    for run in runs:
        run.name = taken_name(f"{run.pointer}_{group_word(steps.lanes) if run.width else 'value'}", taken)
    first = _worked_out(syntax, statements, [p[0] for r in runs for p in r.places[:1]])
    gone = [n for r in runs for p in r.places for n in p]
    left_out = _left_out(statements, gone)
    runs = [r for r in runs if r.width or any(not _within(n, left_out) for n in r.places[0])]
    return NeighbourBody(
        steps.lanes,
        index,
        tuple(runs),
        tuple(in_brackets(c_text(need)) for need in needs),
        tuple(statements),
        tuple(first),
        tuple(left_out),
    )


def _within(node: Node, others: Iterable[Node]) -> bool:
    return any(contains(other, node) for other in others)


def _check_kept_inside(syntax: CudaSyntax, statements: list[Node], nodes: list[Node]) -> None:
    """Refuse work that leaves something behind in a variable of the thread's."""
    used = {text_of(n) for n in nodes if n.type == "identifier"}
    changed = changed_names(nodes)
    for variable in syntax.entry.variables:
        outside = not _within(variable.node, statements)
        if outside and (variable.name in changed or (variable.sizes and variable.name in used)):
            raise Refusal(f"`{variable.name}` is changed by the element's work")


_PLACES = ("subscript_expression", "pointer_expression")


def _check_always(statements: list[Node], places: list[Node]) -> None:
    """Refuse elements that are touched under a condition only: a wide access would touch them always."""
    if not always(statements, places):
        raise Refusal(f"`{text_of(places[0])}` is touched only under a condition")


def _worked_out(syntax: CudaSyntax, statements: list[Node], places: Iterable[Node]) -> list[Node]:
    """The declarations among the statements that places are worked out with, in their order."""
    changed = {changed_by(n) for s in statements for n in descendants(s)}
    declared = {name: s for s in statements if s.type == "declaration" for name, *_ in declarators(s)}
    inside = {v.name for v in syntax.entry.variables if any(contains(s, v.node) for s in statements)}
    needed: list[Node] = []
    waiting = [name for place in places for name in identifiers_in(place)]
    while waiting:
        name = waiting.pop()
        if name not in inside:
            continue
        statement = declared.get(name)
        if statement is None or name in changed:
            raise Refusal(f"`{name}`, which tells a place, has several values in an element's work")
        if statement not in needed:
            needed.append(statement)
            waiting += identifiers_in(statement) - {name}
    return sorted(needed, key=lambda s: s.start_byte)


def _left_out(statements: list[Node], gone: list[Node]) -> list[Node]:
    """Declarations that only told places: what is left uses none of their names."""
    out: list[Node] = []
    waiting = [s for s in statements if s.type == "declaration" and not _does_more(s)]
    while waiting:
        for statement in reversed(waiting):
            others = [s for s in statements if s != statement and s not in out]
            if not {name for name, *_ in declarators(statement)} & _used(others, gone):
                out.append(statement)
                waiting.remove(statement)
                break
        else:
            break
    return out


def _does_more(statement: Node) -> bool:
    kinds = ("call_expression", "assignment_expression", "update_expression")
    return any(n.type in kinds for n in descendants(statement))


def _used(statements: Iterable[Node], gone: list[Node]) -> set[str]:
    """The names that statements use outside of some nodes."""
    return {
        text_of(n)
        for s in statements
        for n in descendants(s)
        if n.type == "identifier" and not any(contains(g, n) for g in gone)
    }
