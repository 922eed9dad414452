"""Host code of which a part does not compile here: that part is left out, so that the rest can be built and run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

LOST = "klineage_lost"
LOST_MAIN = re.compile(rf"\bmain\s*\([^()]*\)\s*\{{ {LOST}\(")
"""A program without its `main`, which launches nothing."""
_FRONT = 16
"""Lines that are put before a text."""
_REGISTERS = re.compile(r"(?:TORCH_LIBRARY|PYBIND11_MODULE)\w*\s*\(")
"""What offers functions to Python: one that is left out says nothing of the others."""
_SCOPES = ("translation_unit", "namespace_definition", "declaration_list", "linkage_specification", "preproc_if",
           "preproc_ifdef", "preproc_else", "preproc_elif")  # fmt: skip
"""What holds declarations of its own: it is never left out as a whole."""


def without_errors(text: str, errors: Mapping[int, str]) -> str | None:
    """The text without what the errors, by their lines, stand in; None where one stands in nothing that can go.

    A function keeps its head and says at run time that it is lost; where the head is wrong, all of it goes. Of what
    offers functions to Python only the statement goes. What is left keeps its lines.
    """
    data = text.encode()
    root = read(data, Language.CUDA).root
    if root is None:
        return None
    # Lines count from the last directive at the front on, if there is one.
    before = max(
        (i + 1 for i, line in enumerate(text.split("\n")[:_FRONT]) if line.strip() == "#line 1"), default=0
    )
    errors = {line + before: message for line, message in errors.items()}
    gone: dict[tuple[int, int], bytes] = {}
    functions = [node for node in inside(root) if node.type == "function_definition"]
    for line, message in errors.items():
        around = [f for f in functions if _covers(f, line)]
        innermost = max(around, key=lambda f: f.start_byte, default=None)
        body = innermost.child_by_field_name("body") if innermost is not None else None
        registers = innermost is not None and _REGISTERS.match(text_of(innermost)) is not None
        statement = (
            next((c for c in body.named_children if _covers(c, line)), None) if body is not None else None
        )
        if registers and statement is not None:
            gone[statement.start_byte, statement.end_byte] = b""
            continue
        if innermost is not None and body is not None and _in_body(body, line):
            gone[body.start_byte, body.end_byte] = _lost(innermost, body, data, message)
            continue
        node = _whole(innermost) if innermost is not None else _declaration(root, line)
        if node is None:
            return None
        gone[node.start_byte, node.end_byte] = b""
    parts, at = [], 0
    for (start, end), new in sorted(gone.items(), key=lambda one: (one[0][0], -one[0][1])):
        if start >= at:
            parts += [data[at:start], new, b"\n" * (data.count(b"\n", start, end) - new.count(b"\n"))]
            at = end
    return b"".join((*parts, data[at:])).decode("utf-8", "replace")


def _covers(node: Node, line: int) -> bool:
    (last, column), row = node.end_point, line - 1
    return node.start_point[0] <= row and (row < last or (row == last and column > 0))


def _in_body(body: Node, line: int) -> bool:
    """Whether a line lies in a body that is still there."""
    in_head = body.start_point[0] == line - 1 < body.end_point[0]
    return _covers(body, line) and not in_head and bool(body.named_children) and LOST not in text_of(body)


def _lost(function: Node, body: Node, data: bytes, message: str) -> bytes:
    head = data[function.start_byte : body.start_byte]
    if b"__device__" in head or b"__global__" in head:
        return b"{}"
    declarator = text_of(function.child_by_field_name("declarator")).split("(")[0].strip(" *&")
    why = f"`{declarator}` does not compile here: {message}"[:300]
    return f"{{ {LOST}({json.dumps(why)}); }}".encode()


def _whole(function: Node) -> Node:
    """A function with the template that it is of."""
    above = function.parent
    return above if above is not None and above.type == "template_declaration" else function


def _declaration(node: Node, line: int) -> Node | None:
    """The declaration outside of functions in which a line lies."""
    for child in node.named_children:
        if _covers(child, line):
            return _declaration(child, line) if child.type in _SCOPES else child
    return None
