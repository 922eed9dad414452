"""A constant is wrong: a number in the arithmetic is ten times too large (`1e-5f`), or one off where it is 0 or 1."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for node in ground.of("number_literal", "float"):
        if _is_fraction(node) and ground.is_value(node):
            text = text_of(node)
            number = float(text.rstrip("fF"))
            yield (replace_node(node, f"({text} + 1)" if number == 0 else f"({text} * 10)"),)


def _is_fraction(node: Node) -> bool:
    text = text_of(node).rstrip("fF")
    if text.lower().startswith("0x") or not ("." in text or "e" in text.lower()):
        return False
    try:
        float(text)
    except ValueError:
        return False
    # Where a variable starts is a mistake of its own kind.
    return node.parent is None or node.parent.type not in ("init_declarator", "assignment")


MUTATION = Mutation(
    title="constant wrong",
    mutate=_mutate,
    may_survive="an epsilon only shows with inputs as small as itself",
)
