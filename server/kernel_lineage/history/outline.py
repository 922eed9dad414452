"""Where the functions of a file lie: the cheap first look that lets mining parse each distinct function once.

A history holds the same function text thousands of times. A file is therefore cut into *chunks* that usually hold one
top-level definition; a chunk that was seen before costs one hash, and only new chunks are looked into. What is found
here is extents and names; what they mean is read by `kernels`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from kernel_lineage.kernels.embedded import cuda_in_python
from kernel_lineage.kernels.reading import language_of
from kernel_lineage.kernels.source import Language


class Role(StrEnum):
    """What a piece of a file is to a kernel."""

    KERNEL = "kernel"
    DEVICE = "device"
    """What device code is made of besides kernels: device functions, types, macros and constants of CUDA C++, and
    functions with decorators or not of Python that are compiled for the device."""
    HOST = "host"
    """A host function, or (Triton) a module constant that host code and kernels read."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One definition. Lines are 1-based; in a chunk they count from the chunk's first line."""

    role: Role
    name: str
    first_line: int
    last_line: int
    digest: str
    """The hash of its text, which the outliner keeps under it."""
    names: frozenset[str]
    """What it refers to, as far as it can be a definition of the repository."""
    launches: frozenset[str] = frozenset()
    """Names that it launches as kernels."""
    comment: str = ""
    """The comment block directly above."""
    entry: bool = False
    """It can be launched: `__global__`, a type that the device can call, a Python function that gives nothing."""
    marks: frozenset[str] = frozenset()
    """What may make it device code, as far as its own chunk tells: macros before its name (CUDA), the dotted names of
    its decorators (Python)."""
    wraps: frozenset[str] = frozenset()
    """Python: the dotted names of what it calls on what it is given: as a decorator it stands for one of them."""
    constant: bool = False
    """Python: an assignment of the module."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """`name = wrapper(function)` in Python."""

    name: str
    wrapper: str
    function: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one chunk says."""

    pieces: tuple[Piece, ...] = ()
    imports: tuple[tuple[str, str, str], ...] = ()
    """(name here, module, name there); for a whole module the last is "", for a header the first too."""
    wrapped: tuple[Wrapped, ...] = ()
    open: bool = False
    """The chunk ends inside a definition: look at it together with what follows."""
    texts: tuple[tuple[str, str], ...] = ()
    """(digest, text) of the pieces."""


@dataclass(frozen=True)
class Outline:
    """The pieces of a file in order, what it imports, and the comment or docstring that it begins with."""

    pieces: tuple[Piece, ...] = ()
    imports: tuple[tuple[str, str, str], ...] = ()
    wrapped: tuple[Wrapped, ...] = ()
    header: str = ""
    language: Language = Language.CUDA

    @cached_property
    def by_name(self) -> dict[str, list[Piece]]:
        """The pieces by their names."""
        pieces: dict[str, list[Piece]] = {}
        for piece in self.pieces:
            pieces.setdefault(piece.name, []).append(piece)
        return pieces

    @cached_property
    def launching(self) -> tuple[tuple[Piece, frozenset[str]], ...]:
        """Its functions that launch something, each with what it may launch: all that it names, as a pointer to a
        kernel has any name.
        """
        return tuple((p, p.launches | p.names) for p in self.pieces if p.launches)

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """Name here → module and name there; of several imports of a name the first."""
        imports: dict[str, tuple[str, str]] = {}
        for here, module, there in self.imports:
            imports.setdefault(here, (module, there))
        return imports


@dataclass(frozen=True, slots=True)
class ChunkReader:
    """How one language is cut and looked into."""

    relevant: Callable[[bytes], bool]
    """Whether a file can hold kernels, launches or what kernels reach."""
    cuts: Callable[[bytes], Iterator[int]]
    """End offsets of the chunks, in order; the last is the file's length."""
    unclosed: Callable[[bytes], bool]
    """Whether a text ends inside a string, so that more of it is needed; cheap."""
    read: Callable[[bytes], Chunk]


_MERGE_AT_MOST = 6
_HEADER = re.compile(
    rb"\s*(?:/\*.{0,8000}?\*/|(?://[^\n]*\n\s*){1,80}|\"\"\".{0,8000}?\"\"\"|(?:#[^\n]*\n\s*){1,80})",
    re.DOTALL,
)


def digest(*parts: bytes) -> str:
    """A 80-bit content hash: enough for millions of texts, short enough for a cache."""
    state = hashlib.blake2b(digest_size=10)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


class Outliner:
    """Outlines files, remembering every chunk that it has seen."""

    def __init__(self, readers: dict[Language, ChunkReader]):
        self._readers = readers
        self._seen: dict[tuple[Language, bytes], Chunk] = {}

    def outline(self, path: str, data: bytes, texts: dict[str, str]) -> Outline:
        """The file's outline, empty when it cannot matter to kernels (or is binary). Texts of pieces go to `texts`.

        A Python file is read as Triton, or as the CUDA C++ in its strings where it has that and no Triton.
        """
        language = Language.CUDA
        if path.endswith(".py"):
            language = language_of(path, data) or Language.TRITON
            data = cuda_in_python(data) if language is Language.CUDA else data
        reader = self._readers[language]
        if not reader.relevant(data) or b"\0" in data:
            return Outline()
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        pieces: list[Piece] = []
        imports: list[tuple[str, str, str]] = []
        wrapped: list[Wrapped] = []
        start, line, merged, chunk = 0, 0, 0, Chunk()
        for end in reader.cuts(data):
            last = end == len(data)
            text = data[start:end]
            if not last and reader.unclosed(text):
                continue
            if merged < _MERGE_AT_MOST or last:  # give up on an unclosed one: the rest is one chunk
                chunk = self._chunk(text, language, reader)
            if chunk.open and not last:
                merged += 1
                continue
            pieces += [_shift(p, line) for p in chunk.pieces]
            imports += chunk.imports
            wrapped += chunk.wrapped
            texts.update(chunk.texts)
            line += text.count(b"\n")
            start, merged = end, 0
        header = _HEADER.match(data)
        comment = header[0].decode("utf-8", "replace") if header else ""
        return Outline(tuple(pieces), tuple(imports), tuple(wrapped), comment, language)

    def _chunk(self, data: bytes, language: Language, reader: ChunkReader) -> Chunk:
        key = language, hashlib.blake2b(data, digest_size=12).digest()
        chunk = self._seen.get(key)
        if chunk is None:
            chunk = self._seen[key] = reader.read(data)
        return chunk


def _shift(p: Piece, lines: int) -> Piece:
    return replace(p, first_line=p.first_line + lines, last_line=p.last_line + lines) if lines else p
