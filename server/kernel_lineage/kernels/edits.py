"""Edits of a file's text: each replaces a span, and all are made at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.source import Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a span (UTF-8 bytes) of the file with text."""

    span: Span
    text: str


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """A file's contents with disjoint edits made."""
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        data = data[: edit.span.start] + edit.text.encode() + data[edit.span.end :]
    return data


def differing_lines(wanted: str, text: str, start: int = 0, first_line: int = 1) -> Iterator[Edit]:
    """The edits that make what is wanted of a text, which begins at a byte and a line (1-based) of its file."""
    new, old = text.splitlines(keepends=True), wanted.splitlines(keepends=True)
    starts = [start]
    for line in new:
        starts.append(starts[-1] + len(line.encode()))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, a, b, first, last in matcher.get_opcodes():
        if tag != "equal":
            span = Span(starts[first], starts[last], first_line + first, first_line + max(last - 1, first))
            yield Edit(span, "".join(old[a:b]))


def replace_node(node: Node, text: str) -> Edit:
    """An edit that puts text in a node's place."""
    return Edit(Span(node.start_byte, node.end_byte, node.start_point.row + 1, node.end_point.row + 1), text)
