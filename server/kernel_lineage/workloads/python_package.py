"""The modules of its own packages that a Python file imports, as texts: what the gate's compiler child may import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_MOST_MODULES = 400


def package_of(text: str, path: Path, import_path: Path | None = None) -> tuple[str, dict[str, str]]:
    """A file's path below its import path, and the texts of the modules there that it reaches, by path.

    The import path is the folder above the outermost package around the file, unless it is given. A package's
    `__init__` counts only where something is imported from it by name.

    Raises `SyntaxError` for a text that does not parse and `ValueError` for a file that is not below its import path,
    or reaches too much.
    """
    file = path.resolve()
    root = import_path.resolve() if import_path else import_root(file)
    if not file.is_relative_to(root):
        raise ValueError(f"{path} does not lie below the import path {import_path}")
    own = file.relative_to(root).as_posix()
    found: dict[str, str] = {}
    waiting = [(own, text)]
    while waiting:
        importer, code = waiting.pop()
        for module in _imported(code, importer, root):
            if module == own or module in found:
                continue
            found[module] = (root / module).read_text("utf-8", "replace")
            waiting.append((module, found[module]))
            if len(found) > _MOST_MODULES:
                raise ValueError(f"{path} reaches more than {_MOST_MODULES} modules below {root}")
    return own, found


def import_root(file: Path) -> Path:
    """The folder above the outermost package around a file."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def _imported(code: str, importer: str, root: Path) -> Iterator[str]:
    """Paths of the modules below `root` that a module names in its imports, wherever these stand."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (module for module, _ in imported_from(node, importer, root))


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
    for candidate in (dotted.with_name(dotted.name + ".py"), dotted / "__init__.py") if dotted.name else ():
        file = root / candidate
        if file.is_file() and file.resolve().is_relative_to(root):
            yield candidate.as_posix()
            return
