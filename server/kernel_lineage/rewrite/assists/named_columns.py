"""A kernel whose sums down columns name the column: `v[t * D + column]` for `v[t * D + threadIdx.x]`, and for
`mine[t * D]` with `const float* mine = v + threadIdx.x`.

Nothing else changes: this is no rewrite by itself, but what others start from, which give a lane other columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    Variable,
    bare,
    changed_by,
    contains,
    field_of,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    edited_kernel,
    indent_at,
    insert_before,
    newline_of,
    syntax_of,
    taken_name,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.shared_sums import sums_of
from kernel_lineage.rewrite.assists.written import dense

_THREAD = "threadIdx.x"


def with_named_columns(kernel: Kernel) -> Kernel:
    """The kernel with names for the columns of its sums; the same kernel where there are none to name."""
    syntax = syntax_of(kernel)
    taken = identifiers_in(syntax.entry.node)
    edits: list[Edit] = []
    for loop in syntax.entry.loops:
        if not isinstance(attempt(partial(sums_of, syntax, loop)), Refusal):
            edits += _named_in(kernel, syntax, loop, taken)
    return (edited_kernel(kernel, edits) or kernel) if edits else kernel


def _named_in(kernel: Kernel, syntax: CudaSyntax, loop: Loop, taken: set[str]) -> list[Edit]:
    data, body = data_of(kernel), loop.body
    if body is None or loop.node.parent is None or loop.node.parent.type != "compound_statement":
        return []
    plain = [n for n in descendants(body) if n.type == "field_expression" and dense(n) == _THREAD]
    pointers = {v.name: (v, column) for v, column in _pointers(syntax)}
    moved = [
        n
        for n in descendants(body)
        if n.type == "subscript_expression" and text_of(n.child_by_field_name("argument")) in pointers
    ]
    numbers = {pointers[text_of(n.child_by_field_name("argument"))][1] for n in moved} | {
        _THREAD for _ in plain
    }
    if len(numbers) != 1:
        return []
    (number,) = numbers
    edits: list[Edit] = []
    column = number
    if number == _THREAD:
        column = taken_name("column", taken)
        at = with_pragmas(loop.node).start_byte
        edits.append(insert_before(kernel, at, f"const int {column} = {_THREAD};{_line(data, at)}"))
        edits += [replace_node(n, column) for n in plain if not any(contains(m, n) for m in moved)]
    starts: dict[str, str] = {}
    for node in moved:
        name = text_of(node.child_by_field_name("argument"))
        listed = node.child_by_field_name("indices")
        if listed is None or len(listed.named_children) != 1:
            return []
        if name not in starts:
            starts[name] = taken_name(f"{name}_from", taken)
            variable = pointers[name][0]
            value = _without(bare(variable.value), number)
            declarator = variable.node.children_by_field_name("declarator")[0]
            kind = data[variable.node.start_byte : declarator.start_byte].decode()
            text = f"{kind.rstrip()}* {starts[name]} = {value};"
            edits.append(
                insert_before(kernel, variable.node.start_byte, text + _line(data, variable.node.start_byte))
            )
        index = text_of(listed.named_children[0]).replace(_THREAD, column)
        brackets = bare(listed.named_children[0]) is not None and "?" in index
        edits.append(replace_node(node, f"{starts[name]}[{f'({index})' if brackets else index} + {column}]"))
    return edits


def _pointers(syntax: CudaSyntax) -> Iterator[tuple[Variable, str]]:
    """Pointers of a thread's own that nothing moves, and the number of the thread that their value has as a term."""
    names = {
        v.name for v in syntax.entry.variables if v.value is not None and dense(bare(v.value)) == _THREAD
    }
    changed = {changed_by(n, addressed=True) for n in descendants(syntax.entry.node)}
    for variable in syntax.entry.variables:
        alone = len(variable.node.children_by_field_name("declarator")) == 1
        block = variable.node.parent is not None and variable.node.parent.type == "compound_statement"
        if not variable.pointer or variable.sizes or variable.name in changed or not alone or not block:
            continue
        if text_of(variable.node).split("=")[0].count("*") != 1 or variable.value is None:
            continue
        for number in (_THREAD, *sorted(names - changed)):
            if _without(bare(variable.value), number) is not None:
                yield variable, number


def _without(value: Node | None, number: str) -> str | None:
    """A sum without one of its terms; None where it has not just one such term."""
    if value is None or value.type != "binary_expression" or operator_of(value) != "+":
        return None
    left, right = field_of(value, "left"), field_of(value, "right")
    if dense(right) == number and left is not None and number not in dense(left):
        return text_of(value.child_by_field_name("left"))
    rest = _without(left, number)
    if rest is None or number in dense(right):
        return None
    return f"{rest} + {text_of(value.child_by_field_name('right'))}"


def _line(data: bytes, at: int) -> str:
    """The end of a line, and the indentation of the one that it makes room for."""
    return newline_of(data) + indent_at(data, at)
