"""What one node of a Triton kernel's tree says: its dotted name, its parts, a call, what an assignment gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_MARKS = (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)


def dotted(node: ast.expr | None) -> str:
    """`tl.math.rsqrt` for such an expression; the attribute alone for one of anything else (`.to` of a call)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else node.attr
    return ""


@dataclass(frozen=True, slots=True)
class TritonCall:
    """A call: `tl.load(p, mask=m)` has name `load`, qualified name `tl.load`."""

    name: str
    qualified: str
    node: ast.Call

    def keyword(self, name: str) -> ast.expr | None:
        """The keyword argument of that name."""
        return next((k.value for k in self.node.keywords if k.arg == name), None)

    @property
    def of_language(self) -> bool:
        """Whether it is a function of `tl`, not a method or a function of the file."""
        return self.qualified.startswith(("tl.", "triton.language.", "language."))


def each_given(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of an assignment's target, each with what it is given."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, element in zip(target.elts, value.elts, strict=False):
            yield from each_given(one, element)


def elements(listed: ast.expr | None) -> list[ast.expr]:
    """What a tuple or list lists; nothing for anything else."""
    return list(listed.elts) if isinstance(listed, ast.Tuple | ast.List) else []


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node. `ast.iter_child_nodes` gives the marks too (`Load`, `Add`), and takes twice the time."""
    for value in node.__dict__.values():
        if isinstance(value, ast.AST):
            if not isinstance(value, _MARKS):
                yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST) and not isinstance(item, _MARKS):
                    yield item
