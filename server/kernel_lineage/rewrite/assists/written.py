"""Code as written, made comparable: without blanks, or on one line."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Loop, text_of


def dense(node: Node | None) -> str:
    """The text of a node without blanks; "" for None."""
    return "".join(text_of(node).split())


def header_of(loop: Loop) -> str:
    """The head of a for loop on one line, as written: `for (int i = 0; i < C; i++)`."""
    text = text_of(loop.node)
    body = text_of(loop.body)
    head = text[: len(text) - len(body)] if body and text.endswith(body) else text
    return " ".join(head.split())
