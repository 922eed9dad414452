"""Python modules of a repository by what they define at their top level, found by the imports that name them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LARGEST = 400_000
"""Bytes of a module that is read."""
_MOST_FILES = 5000
_SKIPPED = frozenset({"node_modules", "build", "dist", "site-packages", "__pycache__"})
_WORD = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class HostModule:
    """One module."""

    path: Path
    tree: ast.Module
    functions: Mapping[str, ast.FunctionDef]
    """Top-level functions, and methods as `Class.method`."""
    values: Mapping[str, ast.expr]
    """Top-level name → the last value that it is given."""
    imports: Mapping[str, tuple[str, str]]
    """Local name → the module that it comes from, and its name there; "" for a whole module."""
    classes: Mapping[str, ast.ClassDef]
    stars: tuple[str, ...] = ()
    """The modules from which all names are imported."""


def module_of(path: Path, tree: ast.Module) -> HostModule:
    """A module as its tree defines it."""
    functions: dict[str, ast.FunctionDef] = {}
    values: dict[str, ast.expr] = {}
    imports: dict[str, tuple[str, str]] = {}
    classes: dict[str, ast.ClassDef] = {}
    for node in _top_level(tree.body):
        match node:
            case ast.FunctionDef():
                functions[node.name] = node
            case ast.ClassDef():
                classes[node.name] = node
                inner = (n for n in node.body if isinstance(n, ast.FunctionDef))
                functions.update((f"{node.name}.{n.name}", n) for n in inner)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values[name] = value
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                whole = alias.name if alias.asname else alias.name.split(".")[0]
                imports[alias.asname or whole] = (whole, "")
        elif isinstance(statement, ast.ImportFrom):
            base = "." * statement.level + (statement.module or "")
            for alias in statement.names:
                imports[alias.asname or alias.name] = (base, alias.name)
    stars = tuple(base for base, name in imports.values() if name == "*")
    return HostModule(path, tree, functions, values, imports, classes, stars)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those of `if` and `try` too; of the branches of an `if`, the last counts."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top_level(node.body)
            yield from _top_level(node.orelse)


@dataclass(slots=True)
class Modules:
    """The modules of one repository, read when they are asked for."""

    folder: Path
    """Nothing outside of it is read."""
    known: dict[Path, HostModule | None] = field(default_factory=dict)
    words: dict[Path, frozenset[bytes]] = field(default_factory=dict)
    """For each Python file, the words that stand in it."""
    instead: dict[Path, Path] = field(default_factory=dict)
    """File → the one that is read in its place where it is imported."""
    found: dict[tuple[Path, str], Path | None] = field(default_factory=dict)
    """Importing file and dotted name → the file."""
    concluded: dict[Path, Any] = field(default_factory=dict)
    """What was concluded of who uses a module, once for all of its kernels."""

    def mentioning(self, names: frozenset[bytes]) -> list[Path]:
        """The Python files of the folder in which one of some names stands, in the order of their paths."""
        if not self.words:
            self.words.update((path, _words(path)) for path in sorted(_python_files(self.folder)))
        return [path for path, words in self.words.items() if not names.isdisjoint(words)]

    def read(self, path: Path) -> HostModule | None:
        """The module of a file; None when it cannot be read or does not parse."""
        if path not in self.known:
            self.known[path] = self._parsed(path)
        return self.known[path]

    def _parsed(self, path: Path) -> HostModule | None:
        try:
            if path.stat().st_size > _LARGEST:
                return None
            return module_of(path, ast.parse(path.read_bytes()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None

    def defining(self, module: HostModule, name: str, depth: int = 6) -> tuple[HostModule, str] | None:
        """The module that defines what a name of this module stands for, and its name there; imports are followed."""
        if name in module.functions or name in module.classes or name in module.values:
            return module, name
        if depth == 0:
            return None
        from_there = [module.imports[name]] if name in module.imports else [(b, name) for b in module.stars]
        for base, inner in from_there:
            there = self.read(found) if inner and (found := self._file(module.path, base)) else None
            if there is not None and (found_there := self.defining(there, inner, depth - 1)) is not None:
                return found_there
        return None

    def module_named(self, module: HostModule, name: str) -> HostModule | None:
        """The module of the repository that a name of this module stands for."""
        base, inner = module.imports.get(name, ("", ""))
        return self.at(module, base + _joined(base, inner))

    def at(self, module: HostModule, dotted: str) -> HostModule | None:
        """The module that another one imports by this dotted name, if it is one of the repository."""
        file = self._file(module.path, dotted) if dotted else None
        return self.read(file) if file is not None else None

    def stood_for(self, path: Path) -> Path:
        """The file in whose place this one is read."""
        return next((there for there, here in self.instead.items() if here == path), path)

    def _file(self, importer: Path, dotted: str) -> Path | None:
        key = (importer.parent, dotted)
        if key not in self.found:
            self.found[key] = self._looked_up(importer, dotted)
        file = self.found[key]
        return self.instead.get(file, file) if file is not None else None

    def _looked_up(self, importer: Path, dotted: str) -> Path | None:
        """The file of `a.b.c`, or of `..b`, beside or above the module that imports it, or below its `src`."""
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [p for p in dotted[level:].split(".") if p]
        if not level and parts[:1] and parts[0] in _KNOWN:
            return None
        if level:
            folders = [importer.parents[level - 1]]
        else:
            # A folder inside of a package is not where whole names are looked up.
            above = [
                f
                for f in importer.parents
                if f.is_relative_to(self.folder) and (f == self.folder or not (f / "__init__.py").is_file())
            ]
            folders = [*above, self.folder / "src"]
        for folder in folders:
            at = folder.joinpath(*parts)
            candidates: list[Path] = [at.with_name(at.name + ".py")] if parts else []
            candidates += [at / "__init__.py"] if parts or level else []
            for file in candidates:
                if file.is_file() and file.resolve().is_relative_to(self.folder):
                    return file
        return None


_KNOWN = frozenset({"torch", "triton"})
"""Packages whose functions are known; a folder of such a name in a package without `__init__.py` is another one."""


def _joined(base: str, inner: str) -> str:
    return f".{inner}" if inner and not base.endswith(".") else inner


def _python_files(folder: Path) -> Iterator[Path]:
    left = _MOST_FILES
    for at, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in _SKIPPED]
        for name in names:
            if name.endswith(".py") and left > 0:
                left -= 1
                yield Path(at, name)


def _words(path: Path) -> frozenset[bytes]:
    try:
        return frozenset(_WORD.findall(path.read_bytes()))
    except OSError:
        return frozenset()
