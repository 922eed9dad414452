"""The parts of a project that one Triton kernel needs: its own module, and what it imports from the project's others.

Only statements that the kernel reaches are kept, so that compiling it does not import a whole package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernel_lineage.workloads.triton_module import lines_of, reached


@dataclass(slots=True)
class Parts:
    """Module texts by path, for a folder that stands first on the import path."""

    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    _wanted: dict[Path, set[str]] = field(default_factory=dict)

    def main(self, path: Path, kernel: str) -> str:
        """The text of the kernel's own module; what it imports from the project goes into `texts`.

        Raises `SyntaxError` for a module that does not parse.
        """
        return self._part(path, {kernel})

    def _part(self, path: Path, names: set[str]) -> str:
        text = path.read_text("utf-8", "replace")
        tree = ast.parse(text)
        chosen, needed = reached(tree, names)
        lines = text.split("\n")
        kept = {number for statement in chosen for number in lines_of(statement)}
        written = [line if number in kept else "" for number, line in enumerate(lines, 1)]
        for statement in chosen:
            for node in ast.walk(statement):
                if isinstance(node, ast.ImportFrom):
                    self._import(node, path, needed, written)
        return "\n".join(written)

    def _import(self, node: ast.ImportFrom, path: Path, needed: Iterable[str], written: list[str]) -> None:
        """Follow `from … import …` into the project; only what is needed of it is still imported."""
        target = self._resolve(node, path)
        if target is None:
            return
        file, module = target
        wanted = set(needed)
        aliases = [a for a in node.names if (a.asname or a.name) in wanted]
        submodules = {
            a.name for a in aliases if _file_of(file.parent, [a.name]) and file.name == "__init__.py"
        }
        self._add(file, module, {a.name for a in aliases} - submodules)
        narrowed = ast.ImportFrom(module, aliases or [ast.alias("__name__")], 0)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            written[number - 1] = ""
        written[node.lineno - 1] = " " * node.col_offset + ast.unparse(narrowed)

    def _add(self, file: Path, module: str, names: set[str]) -> None:
        """Put the part of a module that gives some names among the texts."""
        known = self._wanted.setdefault(file, set())
        if names <= known and known:
            return
        known |= names
        where = "/".join(module.split("."))
        self.texts[f"{where}/__init__.py" if file.name == "__init__.py" else f"{where}.py"] = self._part(
            file, known
        )

    def _resolve(self, node: ast.ImportFrom, path: Path) -> tuple[Path, str] | None:
        """The project's file that an import names, and the module's full name."""
        parts = node.module.split(".") if node.module else []
        if node.level:
            base = path.parents[node.level - 1]
            found = _file_of(base, parts)
            return (found, ".".join((*_package(base, self.root), *parts))) if found else None
        for base in self._bases(path):
            found = _file_of(base, parts)
            if found is not None:
                return found, ".".join(parts)
        return None

    def _bases(self, path: Path) -> Iterator[Path]:
        return (base for base in path.parents if base.is_relative_to(self.root))


def _file_of(base: Path, parts: list[str]) -> Path | None:
    target = base.joinpath(*parts)
    for candidate in (target.with_name(target.name + ".py") if parts else target, target / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _package(folder: Path, root: Path) -> tuple[str, ...]:
    """The dotted name of a folder, from the outermost folder that is a package."""
    parts: list[str] = []
    while folder != root and (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return tuple(parts) or (folder.name,)
