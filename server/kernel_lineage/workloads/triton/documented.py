"""Shapes of parameters as the text of a function says them: ``x (torch.Tensor): inputs of shape `[B, T, D]` ``.

Docstrings and the comments behind parameters are read. What stands there is no code, so it is asked last.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from kernel_gate.files.reading import read_file

_LISTED = r"[\[(](?P<axes>[\w\s,+*/.-]*)[\])]"
_COMMENTED = re.compile(rf"^\s*(?P<name>\w+)\s*:[^#]*#[^\[(]*{_LISTED}")
_ENTRY = re.compile(r"^\s*[`*-]*\s*(?P<name>\w+)[`*]*\s*(?:\([^)]*\))?\s*:\s*(?P<rest>.*)$")
_SHAPED = re.compile(rf"\bshaped?\b[^\[(]*{_LISTED}")
_AT_ONCE = re.compile(rf"^(?:(?:torch\.)?Tensor\b[\s,]*(?:of\s+)?)?`*{_LISTED}")
_MOST_AXES = 6

Axes = tuple[ast.expr, ...]


@lru_cache(maxsize=1 << 10)
def documented_axes(function: ast.FunctionDef, path: Path) -> dict[str, Axes]:
    """Parameter of a function in a file → its extents, as expressions over names."""
    documented: dict[str, Axes] = {}
    for name, text in (*_in_docstring(ast.get_docstring(function) or ""), *_in_comments(function, path)):
        axes = _axes(text)
        if axes is not None:
            documented.setdefault(name, axes)
    return documented


def _in_docstring(text: str) -> Iterator[tuple[str, str]]:
    """Each name that an entry of a docstring describes, with the first shape of its description."""
    name = ""
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        rest = line
        if entry is not None:
            name, rest = entry["name"], entry["rest"]
        shaped = _SHAPED.search(rest) or (_AT_ONCE.match(rest.strip()) if name else None)
        if name and shaped is not None:
            yield name, shaped["axes"]


def _in_comments(function: ast.FunctionDef, path: Path) -> Iterator[tuple[str, str]]:
    """Each parameter with the list that a comment behind it holds."""
    try:
        lines = read_file(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines[function.lineno - 1 : function.body[0].lineno if function.body else function.lineno]:
        commented = _COMMENTED.match(line)
        if commented is not None:
            yield commented["name"], commented["axes"]


def _axes(text: str) -> Axes | None:
    """The extents of `B, T // 2, D`; None where one of them is no expression over names."""
    parts = [p.strip() for p in text.split(",") if p.strip()]
    if not 0 < len(parts) <= _MOST_AXES:
        return None
    try:
        trees = tuple(ast.parse(part, mode="eval").body for part in parts)
    except SyntaxError:
        return None
    plain = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.Load)
    nodes = [n for tree in trees for n in ast.walk(tree)]
    whole = all(type(n.value) is int for n in nodes if isinstance(n, ast.Constant))
    named = any(isinstance(n, ast.Name) for n in nodes)
    return trees if named and whole and all(isinstance(n, plain) for n in nodes) else None
