"""Edits of a file's text: each replaces a span, and all are made at once."""

from __future__ import annotations

from collections.abc import Iterable
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


def replace_node(node: Node, text: str) -> Edit:
    """An edit that puts text in a node's place."""
    return Edit(Span(node.start_byte, node.end_byte, node.start_point.row + 1, node.end_point.row + 1), text)
