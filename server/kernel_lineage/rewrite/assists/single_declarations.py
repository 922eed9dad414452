"""Declarations of several variables, written as a statement for each of them.

`int i = blockIdx.x * blockDim.x + threadIdx.x, n = rows * cols;` is two declarations in the same order. Nothing else
changes: this is no rewrite by itself, but what other rewrites start from, which give a variable another meaning.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of, descendants, indent_at, newline_of, syntax_of
from kernel_lineage.rewrite.candidate import Edit


def single_declarations(kernel: Kernel) -> list[Edit]:
    """The edits that take apart each declaration of several variables in a block; none where there is none."""
    data = data_of(kernel)
    edits: list[Edit] = []
    for node in syntax_of(kernel).entry.of("declaration"):
        listed = node.children_by_field_name("declarator")
        if len(listed) < 2 or not _can_be_split(node):
            continue
        kind = data[node.start_byte : listed[0].start_byte].decode()
        between = newline_of(data) + indent_at(data, node.start_byte)
        edits.append(replace_node(node, between.join(f"{kind}{text_of(one)};" for one in listed)))
    return edits


def _can_be_split(node: Node) -> bool:
    """Whether a declaration is a statement of a block that holds plain types and names, and nothing like a comment."""
    aside = {"comment", "preproc_call", "struct_specifier", "enum_specifier", "class_specifier", "ERROR"}
    block = node.parent is not None and node.parent.type == "compound_statement"
    return block and not node.has_error and not any(n.type in aside for n in descendants(node))
