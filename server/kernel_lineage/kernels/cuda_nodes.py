"""tree-sitter nodes for extents that bracket structure found."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node, Point, Range

from kernel_lineage.kernels.cuda_outline import Declaration
from kernel_lineage.kernels.cuda_text import Text
from kernel_lineage.kernels.cuda_trees import parsed


def descendants(node: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text, outer before inner."""
    cursor = node.walk()
    while True:
        here = cursor.node
        assert here is not None
        yield here
        if not (cursor.goto_first_child() or cursor.goto_next_sibling()):
            while cursor.goto_parent():
                if cursor.goto_next_sibling():
                    break
            else:
                return


def definition_node(text: Text, root: Node, head: Declaration) -> Node | None:
    """The `function_definition` of a function: from the tree of the file, else from a parse of its extent alone.

    The latter reads past directives and macros in the head, and where branches of `#if` share a bracket it takes the
    first branch. When even that gives no definition, the node is the root of the parse of the extent.
    """
    node = root.descendant_for_byte_range(*head.name_at)
    while node is not None and node.type != "function_definition":
        node = node.parent
    if node is not None and node.start_byte >= head.start and _has_the_body(node, head):
        return node
    alone: Node | None = None
    for ranges in (_whole, _from_qualifier, _first_branches):
        parsed = _alone(text, ranges(text, head))
        alone = alone or parsed
        for child in _outer_nodes(parsed):
            if child.type == "function_definition" and _has_the_body(child, head):
                return child
    return alone


def _alone(text: Text, ranges: list[tuple[int, int]]) -> Node:
    """The root of a parse of some ranges of a file, at their own places."""
    included = [Range(_point(text, a), _point(text, b), a, b) for a, b in ranges if a < b]
    return parsed(text.data, ranges=included, masked=lambda: text.masked)[0].root_node


def _around_directives(text: Text, start: int, end: int, head_end: int) -> list[tuple[int, int]]:
    """[start, end) without the directives between qualifiers, where no grammar expects them."""
    ranges: list[tuple[int, int]] = []
    position = start
    for line in text.lines(start, head_end):
        first, last = line
        if text.masked[first:last].lstrip().startswith(b"#"):
            ranges.append((position, first))
            position = last
    return [*ranges, (position, end)]


def _whole(text: Text, head: Declaration) -> list[tuple[int, int]]:
    return _around_directives(text, head.start, head.end, head.head_end)


def _first_branches(text: Text, head: Declaration) -> list[tuple[int, int]]:
    """The extent with the first branch of each conditional, and without the directives themselves."""
    ranges: list[tuple[int, int]] = []
    position, depth = head.start, 0
    left_out: int | None = None
    for at, kind in sorted(text.conditionals.items()):
        if not head.start <= at < head.end:
            continue
        line = text.line_starts[text.span(at, at).first_line - 1]
        behind = text.masked.find(b"\n", at) + 1 or len(text.masked)
        depth += kind == b"if"
        if left_out is None:
            ranges.append((position, line))
            position = behind
            left_out = depth if kind == b"else" else None
        elif kind == b"endif" and left_out == depth:
            position, left_out = behind, None
        depth -= kind == b"endif"
    return [*ranges, (position, head.end)]


def _from_qualifier(text: Text, head: Declaration) -> list[tuple[int, int]]:
    """From `__global__` on, where what stands before it confuses; from the name on, where a macro stands for that."""
    qualifier = text.code.find(b"__global__", head.start, head.name_at[0])
    return _around_directives(text, qualifier if qualifier >= 0 else head.name_at[0], head.end, head.head_end)


def _point(text: Text, offset: int) -> Point:
    line = text.span(offset, offset).first_line
    return Point(line - 1, offset - text.line_starts[line - 1])


def _has_the_body(node: Node, head: Declaration) -> bool:
    body = node.child_by_field_name("body")
    return body is not None and body.start_byte == head.head_end and body.end_byte == head.end


def _outer_nodes(root: Node) -> Iterator[Node]:
    for child in root.named_children:
        yield child
        if child.type in ("template_declaration", "linkage_specification", "ERROR"):
            yield from _outer_nodes(child)
