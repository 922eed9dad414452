"""How a pattern's file says where it matched."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import span_of
from kernel_lineage.kernels.triton_syntax import TritonUnit


def matched(node: Node, detail: str, bindings: Mapping[str, str]) -> Anchor:
    """A match at a node of a CUDA C++ kernel. Names bound to nothing are left out."""
    return Anchor(span_of(node), detail, {name: text for name, text in bindings.items() if text})


def matched_in(unit: TritonUnit, node: ast.AST, detail: str, bindings: Mapping[str, str]) -> Anchor:
    """A match at a node of a Triton kernel. Names bound to nothing are left out."""
    return Anchor(unit.span(node), detail, {name: text for name, text in bindings.items() if text})
