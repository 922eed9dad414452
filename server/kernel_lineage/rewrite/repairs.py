"""Candidates that may mend a kernel that was found wrong at a line. None is made an edit before a check finds it right.

What was changed since a text that was right is put back, one change at a time, the nearest to the line first. For a
race a barrier is put between the two accesses, or at the end of a loop around them; before an access out of bounds, a
test that its index is less than a whole number which the kernel is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.edits import Edit, differing_lines
from kernel_lineage.kernels.source import Kernel, Language, Span

_MOST = 8
"""Candidates of one finding: each is built and run."""
_BARRIER = "__syncthreads();"
_RACE, _OUT_OF_BOUNDS = "race", "out-of-bounds"
_WAITS = re.compile(r"__sync|__shfl|__ballot|__any|__all|__reduce|barrier|wait|return\b")
"""What all threads of a block or a warp come to, or what a later statement relies on."""
_WHOLE_NUMBERS = frozenset({"int16", "int32", "int64", "uint16", "uint32", "uint64"})
_LOOPS = ("for_statement", "while_statement", "do_statement")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that may mend a kernel."""

    title: str
    edits: tuple[Edit, ...]


def repairs(kernel: Kernel, code: str, lines: Iterable[int], earlier: Iterable[Kernel]) -> Iterator[Repair]:
    """The candidates for a finding, most likely first.

    `code` says what is wrong (`race`), `lines` where, the finding's own line first; `earlier` are texts of the kernel
    that may have been right.
    """
    where = list(lines)
    made: dict[tuple[Edit, ...], Repair] = {}
    for repair in _all(kernel, code, where, earlier):
        made.setdefault(repair.edits, repair)
        if len(made) == _MOST:
            break
    yield from made.values()


def _all(kernel: Kernel, code: str, where: list[int], earlier: Iterable[Kernel]) -> Iterator[Repair]:
    for before in earlier:
        yield from _restored(kernel, before, where)
    if code == _RACE and kernel.language is Language.CUDA and kernel.node is not None:
        yield from _barriers(kernel.node, where)
    if code == _OUT_OF_BOUNDS and kernel.language is Language.CUDA and kernel.node is not None:
        yield from _guards(kernel, kernel.node, where[0])


def _restored(kernel: Kernel, before: Kernel, where: list[int]) -> Iterator[Repair]:
    edits = differing_lines(before.text, kernel.text, kernel.span.start, kernel.span.first_line)

    def distance(edit: Edit) -> int:
        first, last = edit.span.first_line, edit.span.last_line
        return min((max(first - at, at - last, 0) for at in where), default=0)

    for edit in sorted(edits, key=distance):
        shown = " ".join(edit.text.split())[:_SHOWN]
        what = f"`{shown}` put back" if shown else "what was added taken out"
        yield Repair(f"{what} at line {edit.span.first_line}", (edit,))


def _guards(kernel: Kernel, root: Node, line: int) -> Iterator[Repair]:
    """A test before the statement on a line: each of its indices, the plainest first, with each number as its bound."""
    node: Node | None = root
    while node is not None and node.type != "expression_statement":
        node = next((c for c in node.named_children if _covers(c, line)), None)
    if node is None or node.parent is None or node.parent.type not in (*_LOOPS, "compound_statement"):
        return
    if _WAITS.search(node.text.decode() if node.text else ""):
        return
    bounds = [p.name for p in kernel.parameters if not p.pointer and p.dtype in _WHOLE_NUMBERS]
    for index in sorted(dict.fromkeys(_indices(node)), key=len):
        for bound in bounds:
            if bound != index:
                at = node.start_byte
                test = f"if ({index} < {bound})"
                yield Repair(f"`{test}` at line {line}", (Edit(Span(at, at, line, line), f"{test} "),))


def _indices(node: Node) -> Iterator[str]:
    if node.type == "subscript_argument_list" and node.named_child_count == 1:
        text = node.named_children[0].text
        yield text.decode() if text else ""
    for child in node.named_children:
        yield from _indices(child)


def _barriers(root: Node, where: list[int]) -> Iterator[Repair]:
    """A barrier before the later access, in each block that holds both; then at the end of each loop around them."""
    paths = [_blocks(root, line) for line in sorted(where)]
    if not all(paths):
        return
    shared = [
        (block, [path[block] for path in paths])
        for block in paths[-1]
        if all(block in path for path in paths)
    ]
    before = [_before(children[-1]) for _, children in reversed(shared) if len({c.id for c in children}) > 1]
    after = [
        _after(block)
        for block, _ in reversed(shared)
        if block.parent is not None and block.parent.type in _LOOPS
    ]
    for edit in (*before, *after):
        yield Repair(_title(edit), (edit,))
    for first in before:
        yield from (
            Repair(f"{_title(first)} and at line {last.span.last_line}", (first, last)) for last in after
        )


def _blocks(root: Node, line: int) -> dict[Node, Node]:
    """Each block around a line, outermost first, with its statement that the line belongs to."""
    blocks: dict[Node, Node] = {}
    node: Node | None = root
    while node is not None:
        inside = next((c for c in node.named_children if _covers(c, line)), None)
        if inside is not None and node.type == "compound_statement":
            blocks[node] = inside
        node = inside
    return blocks


def _covers(node: Node, line: int) -> bool:
    return node.start_point.row < line <= node.end_point.row + 1


def _before(statement: Node) -> Edit:
    at, line = statement.start_byte, statement.start_point.row + 1
    indent = " " * statement.start_point.column
    return Edit(Span(at, at, line, line), f"{_BARRIER}\n{indent}")


def _after(block: Node) -> Edit:
    """At the end of a block, behind its last statement."""
    last = block.named_children[-1]
    indent = " " * last.start_point.column
    line = last.end_point.row + 1
    return Edit(Span(last.end_byte, last.end_byte, line, line), f"\n{indent}{_BARRIER}")


def _title(edit: Edit) -> str:
    return f"a barrier at line {edit.span.first_line + edit.text.startswith(chr(10))}"
