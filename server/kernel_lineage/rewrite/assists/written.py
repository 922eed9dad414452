"""Code as written, made comparable or part of other code: without blanks, on one line, in brackets."""

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


def in_brackets(text: str) -> str:
    """An expression as a part of another one: in brackets where it is more than a name."""
    return text if text.isidentifier() else f"({text})"
