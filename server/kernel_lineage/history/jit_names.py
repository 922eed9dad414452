"""Which functions of Python modules are compiled for the device, whatever the names are that `triton.jit` goes by.

`import triton as t`, `from triton import jit`, `jit = triton.jit`, `f = triton.jit(g)`, and decorators of the
repository's own that call it on the function that they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel_lineage.history.outline import Outline, Piece
from kernel_lineage.history.reference_graph import ReferenceGraph

_DEPTH = 4
"""Through so many modules a name that is passed on is followed."""


@dataclass(frozen=True, slots=True)
class JitNames:
    """Resolves names of modules in one state."""

    outline: Callable[[str, ReferenceGraph], Outline]
    graph: ReferenceGraph

    def in_file(self, path: str) -> tuple[list[Piece], dict[str, set[str]]]:
        """The compiled functions of a module, and the further names that they are launched under."""
        outline = self.outline(path, self.graph)
        also: dict[str, set[str]] = {}
        wrapped: dict[str, set[str]] = {}
        for wrap in outline.wrapped:
            wrapped.setdefault(wrap.function, set()).add(wrap.name)
            if self.is_jit(path, wrap.wrapper):
                also.setdefault(wrap.function, set()).add(wrap.name)
        jitted = []
        for piece in outline.pieces:
            if not piece.constant and (piece.name in also or self.is_jitted(path, piece)):
                jitted.append(piece)
                also.setdefault(piece.name, set()).update(wrapped.get(piece.name, ()))
        return jitted, also

    def is_jitted(self, path: str, piece: Piece) -> bool:
        """Whether a decorator compiles a function."""
        return any(self.is_jit(path, mark) for mark in piece.marks)

    def gives_jit(self, path: str, piece: Piece) -> bool:
        """Whether a function is a decorator that compiles what it is given."""
        return bool(piece.wraps) and any(self.is_jit(path, name) for name in piece.wraps)

    def is_jit(self, path: str, name: str, depth: int = _DEPTH) -> bool:
        """Whether a dotted name means `triton.jit`, or a decorator of the repository that calls it."""
        if depth == 0:
            return False
        full = self._full(path, name)
        parts = full.split(".")
        if parts[-1] == "jit" and ("triton" in parts[0] or "triton" in parts[:-1]):
            return True
        return any(
            self.is_jit(at, wrapped, depth - 1)
            for at, piece in self.defined(path, name)
            if not piece.constant
            for wrapped in piece.wraps
        )

    def defined(self, path: str, name: str, depth: int = _DEPTH) -> list[tuple[str, Piece]]:
        """The definitions that a name of a module means, here or where it is imported from."""
        outline = self.outline(path, self.graph)
        own = [(path, piece) for piece in outline.by_name.get(name, ())]
        first, _, rest = name.partition(".")
        if own or depth == 0 or first not in outline.imported:
            return own
        module, there = outline.imported[first]
        file, wanted = self.graph.module(module, path), there or rest
        if there and rest:  # `from . import utils` and `utils.f`
            inner = f"{module}{there}" if module.strip(".") == "" else f"{module}.{there}"
            file, wanted = self.graph.module(inner, path), rest
        return self.defined(file, wanted, depth - 1) if file is not None and wanted else []

    def _full(self, path: str, name: str) -> str:
        first, _, rest = name.partition(".")
        module, there = self.outline(path, self.graph).imported.get(first, (first, ""))
        return ".".join(part for part in (module, there, rest) if part)
