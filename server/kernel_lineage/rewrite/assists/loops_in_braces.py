"""Loops that stand as the body of another loop or of an `if` without braces, put between them.

`for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) sum += a[y * w + x];` has the inner loop in a block of its own.
Nothing else changes: this is no rewrite by itself, but what other rewrites start from, which put statements before a
loop and behind it.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import contains
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    descendants,
    indent_at,
    indent_unit,
    insert_before,
    newline_of,
    replace_between,
    syntax_of,
)
from kernel_lineage.rewrite.candidate import Edit

_HOLDERS = {"for_statement": "body", "while_statement": "body", "if_statement": "consequence"}
"""What has a statement of its own, and what that is called."""


def loops_in_braces(kernel: Kernel) -> list[Edit]:
    """The edits that put the outermost loops without braces between them; none where there is none.

    What stands in a loop that is put between braces is left for another time, and so is what a directive, or a comment
    that ends its line, stands in front of.
    """
    syntax = syntax_of(kernel)
    edits: list[Edit] = []
    done: list[Node] = []
    for loop in sorted(syntax.entry.loops, key=lambda one: one.node.start_byte):
        node, holder = loop.node, loop.node.parent
        if holder is None or holder.child_by_field_name(_HOLDERS.get(holder.type, "none")) != node:
            continue
        if any(contains(outer, node) for outer in done) or not _is_plain(node):
            continue
        edits += _between_braces(kernel, holder, node)
        done.append(node)
    return edits


def _is_plain(node: Node) -> bool:
    """Whether only blanks stand between a statement and the head before it, and it holds no directive."""
    before = node.prev_sibling
    return (
        before is not None
        and before.type in (")", "condition_clause")
        and not any(n.type.startswith("preproc") for n in descendants(node))
    )


def _between_braces(kernel: Kernel, holder: Node, node: Node) -> list[Edit]:
    data, before = data_of(kernel), node.prev_sibling
    assert before is not None
    margin, newline = indent_at(data, holder.start_byte), newline_of(data)
    inner = newline + margin + indent_unit(kernel)
    own_line = begins_line(data, node.start_byte)
    opening = (
        insert_before(kernel, before.end_byte, " {")
        if own_line
        else replace_between(kernel, before.end_byte, node.start_byte, " {" + inner)
    )
    return [opening, insert_before(kernel, node.end_byte, f"{newline}{margin}}}")]
