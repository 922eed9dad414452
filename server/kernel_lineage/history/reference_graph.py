"""Which file reads which: the includes and imports of one state of a repository, resolved among its own files."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernel_lineage.history.outline import Outline
from kernel_lineage.kernels.source import Language

Outlines = Callable[[str, str], Outline]
"""(path, blob) → what the file says."""


@dataclass(slots=True)
class _Resolved:
    """What was worked out of a state; shared by states of which nothing in it differs."""

    files: frozenset[str]
    by_name: dict[str, list[str]]
    edges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    closures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    readers: dict[str, list[str]] = field(default_factory=dict)
    """By the file that is read; empty until it is asked for."""
    endings: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """(end of a path, folder of the reader) → the file that is meant."""


class ReferenceGraph:
    """The files of a state and what each of them includes or imports; read while the state is as it was given."""

    def __init__(
        self,
        blobs: Mapping[str, str],
        outline_of: Outlines,
        before: ReferenceGraph | None = None,
        changed: Iterable[str] = (),
    ):
        """`before` is the graph of a state from which this one differs in the `changed` files only."""
        self.blobs = blobs
        self._outline_of = outline_of
        self.resolved: _Resolved
        """What was worked out so far; shared with the states before of which nothing in it differs."""
        changed = tuple(changed)
        old = before.resolved if before else None
        if old is None or any((p in blobs) != (p in old.files) for p in changed):
            self.resolved = _Resolved(frozenset(blobs), _by_name(blobs))
            return
        self.resolved = old
        if any(old.edges.get(p) != self._references(p) for p in changed if p in blobs):
            edges = {p: e for p, e in old.edges.items() if p not in changed}
            self.resolved = _Resolved(old.files, old.by_name, edges, endings=old.endings)

    def closure(self, path: str) -> tuple[str, ...]:
        """The file, and what it includes or imports, directly or not, nearest first."""
        closure = self.resolved.closures.get(path)
        if closure is None:
            order: dict[str, None] = {path: None}
            waiting = [path]
            for current in waiting:
                for reached in self._reached(current):
                    if reached not in order:
                        order[reached] = None
                        waiting.append(reached)
            closure = self.resolved.closures[path] = tuple(order)
        return closure

    def readers(self, path: str) -> frozenset[str]:
        """The files whose closure holds a path, itself among them."""
        readers = self.resolved.readers
        if not readers:
            for reader in sorted(self.resolved.files):
                for reached in self._reached(reader):
                    readers.setdefault(reached, []).append(reader)
        files = {path}
        waiting = [path]
        for current in waiting:
            for reader in readers.get(current, ()):
                if reader not in files:
                    files.add(reader)
                    waiting.append(reader)
        return frozenset(files)

    def module(self, module: str, importer: str) -> str | None:
        """The file of a Python module as an importer names it (`..ops.softmax`, `liger.ops`)."""
        dots = len(module) - len(module.lstrip("."))
        parts = [p for p in module.split(".") if p]
        if dots:
            folder = posixpath.dirname(importer)
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            stem = posixpath.join(folder, *parts)
            return next((p for p in (f"{stem}/__init__.py", f"{stem}.py") if p in self.resolved.files), None)
        if not parts:
            return None
        stem = "/".join(parts)
        file = self._ending(f"{stem}/__init__.py", importer) or self._ending(f"{stem}.py", importer)
        return file if file != importer else None

    def _reached(self, path: str) -> tuple[str, ...]:
        paths = self.resolved.edges.get(path)
        if paths is None:
            paths = self.resolved.edges[path] = self._references(path)
        return paths

    def _references(self, path: str) -> tuple[str, ...]:
        outline = self._outline_of(path, self.blobs[path])
        resolve = self._modules if outline.language is Language.TRITON else self._headers
        return tuple(dict.fromkeys(p for p in resolve(outline, path) if p != path))

    def _headers(self, outline: Outline, path: str) -> Iterator[str]:
        folder = posixpath.dirname(path)
        for _, name, _ in outline.imports:
            beside = posixpath.normpath(posixpath.join(folder, name))
            header = beside if beside in self.resolved.files else self._ending(posixpath.normpath(name), path)
            if header is not None:
                yield header

    def _modules(self, outline: Outline, path: str) -> Iterator[str]:
        for _, module, there in dict.fromkeys(outline.imports):
            file = self.module(module, path)
            if file is not None:
                yield file
            if there:
                inner = self.module(
                    f"{module.rstrip('.')}.{there}" if module.strip(".") else module + there, path
                )
                if inner is not None:
                    yield inner

    def _ending(self, name: str, reader: str) -> str | None:
        """The file whose path ends so: with several, that which shares most folders with its reader."""
        folder = posixpath.dirname(reader)
        endings = self.resolved.endings
        if (name, folder) not in endings:
            end = name.lstrip("./")
            named = self.resolved.by_name.get(posixpath.basename(end), ())
            fit = [p for p in named if p == end or p.endswith(f"/{end}")]
            endings[name, folder] = min(fit, key=lambda p: (-_common(p, folder), len(p), p), default=None)
        return endings[name, folder]


def _by_name(blobs: Iterable[str]) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for path in blobs:
        paths.setdefault(posixpath.basename(path), []).append(path)
    return paths


def _common(path: str, folder: str) -> int:
    return len(posixpath.commonpath([posixpath.dirname(path) or ".", folder or "."]).split("/"))
