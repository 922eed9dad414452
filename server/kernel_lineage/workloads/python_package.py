"""The modules of its own packages that a Python file imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def import_root(file: Path) -> Path:
    """The folder above the outermost package around a file."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def imported_from(node: ast.Import | ast.ImportFrom, importer: str, root: Path) -> Iterator[tuple[str, str]]:
    """Paths of the modules below `root` that an import names, each with the name that is taken; "" for all of it."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from ((m, "") for m in _module(PurePosixPath(*alias.name.split(".")), root))
        return
    base = _base(node, importer)
    for alias in node.names:
        below = list(_module(base / alias.name, root))
        yield from ((m, "") for m in below) if below else ((m, alias.name) for m in _module(base, root))


def _base(node: ast.ImportFrom, importer: str) -> PurePosixPath:
    """The package or module that `from … import` names."""
    named = PurePosixPath(*(node.module.split(".") if node.module else ()))
    if not node.level:
        return named
    folder = PurePosixPath(importer).parent
    for _ in range(node.level - 1):
        folder = folder.parent
    return folder / named


def _module(dotted: PurePosixPath, root: Path) -> Iterator[str]:
    for candidate in (dotted / "__init__.py", dotted.with_name(dotted.name + ".py")) if dotted.name else ():
        file = root / candidate
        if file.is_file() and file.resolve().is_relative_to(root):
            yield candidate.as_posix()
            return
