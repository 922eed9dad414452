"""A kernel whose threads have an element each and work out something of its row, with a thread for each row instead.

Before:
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= rows * C) return;
    for (int k = 0; k < C; k++) { sum += x[i / C * C + k]; }
    y[i] = x[i] / sum;
After: `row` counts the threads, `if (row >= rows) return;`, the sum is worked out once, and a loop over the columns
does what is done to each element. So it is for an index of rows along y and one of columns along x.

This is no rewrite by itself, but what others start from, which share a row out among threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import takewhile
from math import prod

from tree_sitter import Node

from kernel_gate.expr.terms import Var, variables
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Variable, above, contains, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.kernels.words import WORD, short
from kernel_lineage.rewrite.assists.blocks_at_launch import (
    block_extents,
    change_blocks,
    laid_along_x,
    launches_of,
)
from kernel_lineage.rewrite.assists.counting_loops import counts
from kernel_lineage.rewrite.assists.element_rows import (
    COLUMN,
    ROW,
    ElementRows,
    changed_later,
    element_rows,
    fixed_sizes,
    type_of,
    value_of,
)
from kernel_lineage.rewrite.assists.element_work import check_alone
from kernel_lineage.rewrite.assists.flat_outputs import at_launch
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    dedented,
    descendants,
    edited_kernel,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    start_of_line,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.named_sizes import by_names
from kernel_lineage.rewrite.assists.row_work import writes_memory
from kernel_lineage.rewrite.assists.template_types import plain_type
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.written import in_brackets
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_THREAD = "blockIdx.x * blockDim.x + threadIdx.x"
_KINDS = ("int", "unsigned int", "long long", "unsigned long long")
_LEAVES = frozenset({"return_statement", "goto_statement", "break_statement", "continue_statement"})


def with_rows_of_elements(kernel: Kernel) -> Kernel | Refusal:
    """The kernel and its launches with a thread for each row; else why its threads have no elements of rows that they
    work out something in common of.
    """
    made = attempt(partial(by_names, kernel, partial(_form, kernel)))
    if isinstance(made, Refusal):
        return made
    return edited_kernel(kernel, made) or Refusal(f"{kernel.name} by rows does not parse")


def _form(kernel: Kernel, model: Model) -> list[Edit]:
    syntax = syntax_of(kernel)
    check_alone(kernel, syntax)
    refusals: list[Refusal] = []
    for elements in element_rows(kernel, syntax, model):
        made = attempt(partial(_edits, kernel, syntax, model, elements))
        if not isinstance(made, Refusal):
            return made
        refusals.append(made)
    raise refusals[0] if refusals else Refusal(f"threads of {kernel.name} have no elements of rows")


def _edits(kernel: Kernel, syntax: CudaSyntax, model: Model, elements: ElementRows) -> list[Edit]:
    data, across, down = data_of(kernel), elements.heads["x"], elements.heads.get("y")
    sizes = [p.type for p in kernel.parameters if p.name in variables(elements.columns)]
    if any(_rank(kernel, size) > _rank(kernel, type_of(across)) for size in sizes):
        raise Refusal(f"`{across.name}` has fewer values than a row may have elements")
    taken = identifiers_in(syntax.entry.node)
    row = down.name if down is not None else fresh_name("row", taken)
    counter, kind, named = fresh_name("column", taken), type_of(across), None
    if down is not None:
        counter = across.name
    elif (named := _column_of(kernel, syntax, model, elements)) is not None:
        counter, kind = named.name, type_of(named)
    statements = [s for s in elements.statements if named is None or s != named.node]
    changes = (
        []
        if down is not None
        else _by_place(syntax, model, elements, statements, {ROW: row, COLUMN: counter})
    )
    once, each = _shared(syntax, statements, changes, {across.name, counter})
    columns, unit = c_text(elements.columns), indent_unit(kernel)
    replaced = [n for n, _ in changes]
    named_beside = any(
        text_of(n) == across.name and not any(contains(c, n) for c in replaced)
        for s in each
        for n in descendants(s)
        if n.type == "identifier"
    )
    place = f"{unit}const {type_of(across)} {across.name} = {row} * {in_brackets(columns)} + {counter};"
    lines = [
        f"if ({row} >= {c_text(elements.rows, wide=True)}) {{ return; }}",
        *_lines(data, once, changes),
        f"for ({kind} {counter} = 0; {counter} < {columns}; {counter}++) {{",
        *([place] if named_beside and down is None else []),
        *(unit + line if line.strip() else "" for line in _lines(data, each, changes)),
        "}",
    ]
    margin = indent_at(data, elements.guard.start_byte)
    text = newline_of(data).join(margin + line if line.strip() else "" for line in lines)[len(margin) :]
    end = max(elements.guard.end_byte, *(s.end_byte for s in elements.statements))
    head = down or across
    number = f"{type_of(head)} {row} = {_THREAD};"
    edits = [replace_node(head.node, number), replace_between(kernel, elements.first, end, text)]
    if down is not None:
        edits.append(_without_line(kernel, across.node))
    return [*edits, *(e for one in launches_of(kernel) for e in _launched(kernel, one, elements))]


def _rank(kernel: Kernel, written: str) -> int:
    """The place of a type in the order in which two of them are converted to one."""
    kind = plain_type(kernel, written.removeprefix("const "))
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _column_of(kernel: Kernel, syntax: CudaSyntax, model: Model, elements: ElementRows) -> Variable | None:
    """The variable that is declared as an element's column and stays that."""
    for one in syntax.entry.variables:
        if (
            one.node in elements.statements
            and elements.placed(value_of(model, one.value)) == COLUMN
            and len(one.node.children_by_field_name("declarator")) == 1
            and counts(kernel, type_of(one))
            and _rank(kernel, type_of(one)) >= _rank(kernel, type_of(elements.heads["x"]))
            and one.name not in changed_later(syntax, one)
        ):
            return one
    return None


def _by_place(
    syntax: CudaSyntax, model: Model, elements: ElementRows, statements: list[Node], names: Mapping[Var, str]
) -> list[tuple[Node, str]]:
    """The expressions over a flat index that tell the row alone, or the column alone, and what tells it then."""
    index, changes = elements.heads["x"].name, list[tuple[Node, str]]()
    spelled = {place.name: name for place, name in names.items()}
    of_row = fixed_sizes(syntax.kernel, syntax) | {ROW.name}
    for use in (
        n for s in statements for n in descendants(s) if n.type == "identifier" and text_of(n) == index
    ):
        around = [use, *takewhile(lambda n: n.type.endswith("expression"), above(use))]
        values = [(n, elements.placed(value_of(model, n))) for n in around]
        for node, value in values:
            if value == COLUMN or set(variables(value)) <= of_row:
                text = c_text(value, spelled)
                inside = node.parent is not None and node.parent.type == "parenthesized_expression"
                changes.append((node, text if inside else in_brackets(text)))
                break
    return [(n, t) for n, t in changes if not any(m != n and contains(m, n) for m, _ in changes)]


def _shared(
    syntax: CudaSyntax, statements: list[Node], changes: list[tuple[Node, str]], names: set[str]
) -> tuple[list[Node], list[Node]]:
    """The statements that are done once for a row, and those that are done for each element."""
    each: list[Node] = []
    while True:
        more = [s for s in statements if s not in each and _is_of_element(syntax, s, changes, names)]
        if not more:
            break
        each = [s for s in statements if s in each or s in more]
        names = names.union(*(changed_in(syntax, s) for s in more))
    once = [s for s in statements if s not in each]
    if not each or not any(contains(s, loop.node) for s in once for loop in syntax.entry.loops):
        raise Refusal("no loop works out what the elements of a row have in common")
    within = [v for v in syntax.entry.variables if any(contains(s, v.node) for s in each)]
    outside = {v.name for v in syntax.entry.variables if v not in within}
    carried = set[str]().union(*(changed_in(syntax, s) for s in each)) - {v.name for v in within}
    if carried or {v.name for v in within} & outside:
        name = min(carried or {v.name for v in within} & outside)
        raise Refusal(f"`{name}` is changed for one element and would be different for the next")
    for statement in each:
        for node in descendants(statement):
            if node.type in _LEAVES or any(node == loop.node for loop in syntax.entry.loops):
                raise Refusal(
                    f"`{short(text_of(node))}` within the work of one element is not for the others"
                )
    for late in once:
        for early in (s for s in each if s.start_byte < late.start_byte):
            if writes_memory(syntax, early) or changed_in(syntax, late) & identifiers_in(early):
                raise Refusal(f"line {early.start_point.row + 1} comes before what is worked out for the row")
    return once, each


def _is_of_element(
    syntax: CudaSyntax, statement: Node, changes: list[tuple[Node, str]], names: set[str]
) -> bool:
    """Whether a statement has something to do with one element alone, or writes memory."""
    if statement.type.startswith("preproc") and statement.type != "preproc_call":
        raise Refusal(f"line {statement.start_point.row + 1} is compiled under a condition")
    by_row = [n for n, text in changes if not set(WORD.findall(text)) & names]
    used = (n for n in descendants(statement) if n.type == "identifier" and text_of(n) in names)
    return writes_memory(syntax, statement) or any(not any(contains(c, n) for c in by_row) for n in used)


def _lines(data: bytes, statements: list[Node], changes: list[tuple[Node, str]]) -> Iterator[str]:
    """Statements as lines, with the comments between those that follow each other."""
    while statements:
        count = 1
        while count < len(statements) and _next(statements[count - 1]) == statements[count]:
            count += 1
        run, statements = statements[:count], statements[count:]
        inside = [(n, t) for n, t in changes if run[0].start_byte <= n.start_byte < run[-1].end_byte]
        yield from dedented(data, run, inside)


def _next(statement: Node) -> Node | None:
    after = statement.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    return after


def _without_line(kernel: Kernel, node: Node) -> Edit:
    """An edit that takes a statement out, with its line where it has one of its own."""
    data = data_of(kernel)
    start, end = start_of_line(data, node.start_byte), data.find(b"\n", node.end_byte) + 1
    alone = begins_line(data, node.start_byte) and not data[node.end_byte : end].strip()
    return replace_between(kernel, *((start, end) if alone else (node.start_byte, node.end_byte)), "")


def _launched(kernel: Kernel, launch: Launch, elements: ElementRows) -> list[Edit]:
    """A launch with a thread for each row, in blocks of as many threads as before."""
    extents, line = block_extents(kernel, launch), launch.span.first_line
    constants = {**constants_of(kernel), **launch.definitions}
    beyond = launch.grid[len(elements.heads) :]
    if None in extents or any(constant(e, constants) != 1 for e in beyond):
        raise Refusal(
            f"the launch in line {line} does not tell the threads of a block, or repeats its elements"
        )
    threads = prod(e or 0 for e in extents)
    if threads % 32 or ("y" not in elements.heads and extents[0] != threads):
        raise Refusal(
            f"the {threads} threads of a block in line {line} are no whole warps along the elements"
        )
    rows = in_brackets(at_launch(kernel, launch, {"rows": elements.rows})["rows"])
    blocks = f"({rows} + {threads - 1}) / {threads}"
    if "y" not in elements.heads:
        return [change_blocks(kernel, launch, lambda _: blocks)]
    return laid_along_x(kernel, launch, blocks, str(threads))
