"""Python modules of a repository by what they define at their top level, found by the imports that name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_lineage.workloads.files_below import files_below
from kernel_lineage.workloads.triton.host_modules import HostModule, read_module, words_of

_SKIPPED = frozenset({"node_modules", "build", "dist", "site-packages", "__pycache__"})


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
    reworded: Callable[[HostModule], HostModule] | None = None
    """How modules are read in other words."""
    concluded: dict[Path, Any] = field(default_factory=dict)
    """What was concluded of who uses a module, once for all of its kernels."""

    def mentioning(self, names: frozenset[bytes]) -> list[Path]:
        """The Python files of the folder in which one of some names stands, in the order of their paths."""
        if not self.words:
            self.words.update(
                (path, words_of(path)) for path in sorted(files_below(self.folder, (".py",), _SKIPPED))
            )
        return [path for path, words in self.words.items() if not names.isdisjoint(words)]

    def read(self, path: Path) -> HostModule | None:
        """The module of a file; None when it cannot be read or does not parse."""
        if path not in self.known:
            within = path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
            module = read_module(path, str(within))
            self.known[path] = self.reworded(module) if self.reworded and module is not None else module
        return self.known[path]

    def defining(self, module: HostModule, name: str, depth: int = 6) -> tuple[HostModule, str] | None:
        """The module that defines what a name of this module stands for, and its name there; imports are followed."""
        if name in module.functions or name in module.classes or name in module.values:
            return module, name
        if depth == 0:
            return None
        from_there = [module.imports[name]] if name in module.imports else [(b, name) for b in module.stars]
        for base, inner in from_there:
            there = self.read(file) if inner and (file := self.file_of(module.path, base)) else None
            if there is not None and (found_there := self.defining(there, inner, depth - 1)) is not None:
                return found_there
        return None

    def module_named(self, module: HostModule, name: str) -> HostModule | None:
        """The module of the repository that a name of this module stands for."""
        base, inner = module.imports.get(name, ("", ""))
        return self.at(module, base + _joined(base, inner))

    def at(self, module: HostModule, dotted: str) -> HostModule | None:
        """The module that another one imports by this dotted name, if it is one of the repository."""
        file = self.file_of(module.path, dotted) if dotted else None
        return self.read(file) if file is not None else None

    def stood_for(self, path: Path) -> Path:
        """The file in whose place this one is read."""
        return next((there for there, here in self.instead.items() if here == path), path)

    def file_of(self, importer: Path, base: str, inner: str = "") -> Path | None:
        """The file of a module that another file imports; with `inner`, of the module of this name in it."""
        dotted = base + _joined(base, inner)
        key = (importer.parent, dotted)
        if key not in self.found:
            self.found[key] = self._looked_up(importer, dotted)
        file = self.found[key]
        return self.instead.get(file, file) if file is not None else None

    def _looked_up(self, importer: Path, dotted: str) -> Path | None:
        """The file of `a.b.c`, or of `..b`, beside or above the module that imports it, or below its `src`."""
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [p for p in dotted[level:].split(".") if p]
        if not level and parts[:1] and parts[0] in _STOOD_IN:
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
            # A package comes before a module of its name, as in Python.
            candidates = [at / "__init__.py"] if parts or level else []
            candidates += [at.with_name(at.name + ".py")] if parts else []
            for file in candidates:
                if file.is_file() and file.resolve().is_relative_to(self.folder):
                    return file
        return None


_STOOD_IN = frozenset({"torch", "triton"})
"""Packages whose functions are known; a folder of such a name in a package without `__init__.py` is another one."""


def _joined(base: str, inner: str) -> str:
    return f".{inner}" if inner and not base.endswith(".") else inner
