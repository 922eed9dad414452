"""The kernels of a file with all that they reach: device code in other files of the same state, and their launchers.

CUDA C++ is reached by name through the repository's own includes; Triton by import. A version of a kernel is the text
of all that, so a changed `num_warps`, a guard in the wrapper or a device function in a header is a new version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kernel_lineage.history.jit_names import JitNames
from kernel_lineage.history.launcher_parts import LauncherParts
from kernel_lineage.history.outline import Outline, Piece, Role
from kernel_lineage.history.reference_graph import Outlines, ReferenceGraph
from kernel_lineage.history.seen import ForeignLaunch, KernelSeen, Part, digest_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD

_KEPT = 4000
"""Files in one state whose kernels are remembered."""
Placed = tuple[str, Piece]
"""A piece and the file that it is in."""


class Units:
    """Reads kernels and launches from outlines; texts come from and go to the store that mining keeps."""

    def __init__(self, outline_of: Outlines, text_of: Callable[[str], str], keep: Callable[[str, str], None]):
        self._outline_of = outline_of
        self._text_of = text_of
        self._launchers = LauncherParts(text_of, keep)
        self._kernels: dict[tuple[str, ...], tuple[KernelSeen, ...]] = {}
        self._reachable: dict[tuple[str, ...], dict[str, list[Placed]]] = {}
        self._makes: dict[str, Role | None] = {}
        self._launched: dict[tuple[str, str], dict[str, str]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._names: dict[str, frozenset[str]] = {}

    def kernels(self, path: str, graph: ReferenceGraph) -> tuple[KernelSeen, ...]:
        """The kernels of a file in a state."""
        outline = self._outline(path, graph)
        if not outline.pieces:
            return ()
        key = self._key(path, graph)
        kernels = self._kernels.get(key)
        if kernels is None:
            if len(self._kernels) > _KEPT:
                self._kernels.clear()
                self._reachable.clear()
            kernels = self._kernels[key] = tuple(self._read(path, graph, outline))
        return kernels

    def language(self, path: str, blob: str) -> Language:
        """What a file's kernels are written in."""
        return self._outline_of(path, blob).language

    def launched(self, path: str, blob: str) -> dict[str, str]:
        """What a file launches: each name with the module that it is imported from ("" where the file does not say)."""
        if (path, blob) in self._launched:
            return self._launched[path, blob]
        outline = self._outline_of(path, blob)
        imported = {here: (module, there) for here, module, there in outline.imports if here}
        cuda = outline.language is Language.CUDA
        launched: dict[str, str] = {}
        for name in sorted({name for _, names in outline.launching for name in names}):
            module, symbol = imported.get(name, ("", name))
            if module or cuda:
                launched[symbol or name] = module
        if len(self._launched) > _KEPT:
            self._launched.clear()
        self._launched[path, blob] = launched
        return launched

    def launch(self, path: str, blob: str, symbol: str) -> ForeignLaunch:
        """The launches of a kernel in a file that does not define it."""
        outline = self._outline_of(path, blob)
        names = {here for here, _, there in outline.imports if there == symbol and here} | {symbol}
        parts = self._launchers.of(outline, frozenset(names), outline.language)
        unique = tuple(dict.fromkeys(parts))
        return ForeignLaunch(digest_of(unique), unique)

    def changed_names(self, path: str, before: str | None, after: str | None) -> frozenset[str]:
        """The names whose definitions differ between two blobs of a file."""
        old, new = (
            {(p.name, p.digest) for p in self._outline_of(path, blob).pieces} if blob else set()
            for blob in (before, after)
        )
        return frozenset(name for name, _ in old ^ new)

    def mentions(self, part: Part) -> frozenset[str] | None:
        """The names that a part refers to; None where that was not read in this run."""
        return self._names.get(part.digest)

    def _outline(self, path: str, graph: ReferenceGraph) -> Outline:
        blob = graph.blobs.get(path)
        return self._outline_of(path, blob) if blob is not None else Outline()

    def _key(self, path: str, graph: ReferenceGraph) -> tuple[str, ...]:
        return tuple(text for reached in graph.closure(path) for text in (reached, graph.blobs[reached]))

    def _read(self, path: str, graph: ReferenceGraph, outline: Outline) -> Iterator[KernelSeen]:
        language = outline.language
        if language is Language.CUDA:
            entries = [(piece, frozenset({piece.name})) for piece in self._cuda_entries(path, graph, outline)]
        else:
            entries = list(self._triton_entries(path, graph, outline))
        counts: dict[str, int] = {}
        for piece, names in entries:
            parts = [self._part(path, path, piece, Role.KERNEL)]
            reach = (
                self._cuda_reach(piece, self._index(path, graph))
                if language is Language.CUDA
                else self._triton_reach(path, piece, graph)
            )
            launchers = tuple(self._launchers.of(outline, names, language))
            if language is Language.CUDA:  # what it is instantiated with is named where it is launched
                words = frozenset[str]().union(*(self._words_of(part.digest) for part in launchers))
                named = replace(piece, names=words - piece.names)
                reach += self._cuda_reach(named, self._index(path, graph))
            device = [(at, p) for at, p in reach if p.digest != piece.digest]
            parts += [self._part(path, at, p, Role.DEVICE) for at, p in _in_order(path, device)]
            parts += launchers
            unique = tuple(dict.fromkeys(parts))
            ordinal = counts[piece.name] = counts.get(piece.name, -1) + 1
            yield KernelSeen(piece.name, ordinal, digest_of(unique), unique, piece.comment)

    def _words_of(self, digest: str) -> frozenset[str]:
        if digest not in self._words:
            if len(self._words) > _KEPT:
                self._words.clear()
            self._words[digest] = frozenset(WORD.findall(self._text_of(digest)))
        return self._words[digest]

    def _part(self, own: str, path: str, piece: Piece, role: Role) -> Part:
        self._names[piece.digest] = piece.names
        elsewhere = "" if path == own else path
        return Part(role, piece.name, piece.digest, piece.first_line, piece.last_line, elsewhere)

    def _index(self, path: str, graph: ReferenceGraph) -> dict[str, list[Placed]]:
        """The device code that a CUDA file can name, by name."""
        key = self._key(path, graph)
        index = self._reachable.get(key)
        if index is None:
            index = self._reachable[key] = {}
            undecided: list[Placed] = []
            for at in graph.closure(path):
                for piece in self._outline(at, graph).pieces:
                    if piece.role is Role.DEVICE:
                        index.setdefault(piece.name, []).append((at, piece))
                    elif piece.role is Role.HOST and piece.marks:
                        undecided.append((at, piece))
            for at, piece in undecided:
                if self._made(piece, index) is Role.DEVICE:
                    index.setdefault(piece.name, []).append((at, piece))
        return index

    def _made(self, piece: Piece, index: dict[str, list[Placed]]) -> Role | None:
        """What the macros before its name make of a function."""
        made = {self._macro_makes(p) for mark in piece.marks for _, p in index.get(mark, ())}
        return Role.KERNEL if Role.KERNEL in made else Role.DEVICE if Role.DEVICE in made else None

    def _macro_makes(self, macro: Piece) -> Role | None:
        if macro.digest not in self._makes:
            text = self._text_of(macro.digest)
            role = Role.KERNEL if "__global__" in text else Role.DEVICE if "__device__" in text else None
            self._makes[macro.digest] = role if text.lstrip().startswith("#") else None
        return self._makes[macro.digest]

    def _cuda_entries(self, path: str, graph: ReferenceGraph, outline: Outline) -> Iterator[Piece]:
        for piece in outline.pieces:
            if piece.role is Role.KERNEL:
                yield piece
            elif piece.role is Role.HOST and piece.marks:
                if self._made(piece, self._index(path, graph)) is Role.KERNEL:
                    yield replace(piece, launches=frozenset())
            elif piece.entry and not self._is_called(path, piece, graph):
                yield piece  # a type with a call operator that host code hands to a kernel of someone else

    def _is_called(self, path: str, piece: Piece, graph: ReferenceGraph) -> bool:
        """Whether device code of this repository names a type."""
        return any(
            piece.name in other.names and other.role is not Role.HOST and other is not piece
            for reader in sorted(graph.readers(path))
            for other in self._outline(reader, graph).pieces
        )

    def _cuda_reach(self, piece: Piece, index: dict[str, list[Placed]]) -> list[Placed]:
        pieces: dict[tuple[str, int, str], Placed] = {}
        done: set[str] = {piece.name}
        waiting = [piece]
        while waiting:
            names = (waiting.pop().names & index.keys()) - done
            done |= names
            for name in sorted(names):
                for at, reached in index[name]:
                    pieces[at, reached.first_line, reached.name] = (at, reached)
                    waiting.append(reached)
        return list(pieces.values())

    def _triton_entries(
        self, path: str, graph: ReferenceGraph, outline: Outline
    ) -> Iterator[tuple[Piece, frozenset[str]]]:
        """The kernels of a module, each with the names that it is launched under."""
        jitted, also = JitNames(self._outline, graph).in_file(path)
        launched = {name for p in outline.pieces for name in p.launches}
        called = {name for p in jitted for name in p.names}
        for piece in jitted:
            names = frozenset({piece.name, *also.get(piece.name, ())})
            if names & launched or (piece.entry and piece.name not in called):
                yield piece, names

    def _triton_reach(self, path: str, piece: Piece, graph: ReferenceGraph) -> list[Placed]:
        """Compiled functions and constants by the names that the module gives them, imported ones where they are."""
        jit = JitNames(self._outline, graph)
        pieces: dict[tuple[str, int, str], Placed] = {}
        done: set[tuple[str, str]] = set()
        waiting: list[Placed] = [(path, piece)]
        while waiting:
            at, current = waiting.pop()
            for name in sorted(current.names):
                if (at, name) in done:
                    continue
                done.add((at, name))
                for place, reached in jit.defined(at, name):
                    if reached.constant or jit.is_jitted(place, reached) or jit.gives_jit(place, reached):
                        pieces[place, reached.first_line, reached.name] = (place, reached)
                        waiting.append((place, reached))
        return list(pieces.values())


def _in_order(own: str, placed: Sequence[Placed]) -> list[Placed]:
    return sorted(placed, key=lambda at: (at[0] != own, at[0], at[1].first_line, at[1].name))
