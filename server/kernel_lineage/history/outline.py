"""Where the functions of a file lie: the cheap first look that lets mining parse each distinct function once.

A history holds the same function text thousands of times. A file is therefore cut into *chunks* that usually hold one
top-level definition; a chunk that was seen before costs one hash, and only new chunks are looked into. What is found
here is extents and names; what they mean is read by `kernels`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kernel_lineage.kernels.source import Language


class Role(StrEnum):
    """What a piece of a file is to a kernel."""

    KERNEL = "kernel"
    DEVICE = "device"
    """A device function, a `@triton.jit` function, or a type with device methods."""
    HOST = "host"
    """A host function, or (Triton) a module constant that host code and kernels read."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One definition. Lines are 1-based; in a chunk they count from the chunk's first line."""

    role: Role
    name: str
    first_line: int
    last_line: int
    text: str
    digest: str
    names: frozenset[str]
    """What it refers to, as far as it can be a function or constant of the same file."""
    launches: frozenset[str] = frozenset()
    """Names that it launches as kernels."""
    comment: str = ""
    """The comment block directly above."""
    entry: bool = False
    """It can be launched: `__global__`, or a `@triton.jit` function that returns nothing."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one chunk says."""

    pieces: tuple[Piece, ...] = ()
    imports: tuple[tuple[str, str, str], ...] = ()
    """(name here, module, name there)."""
    open: bool = False
    """The chunk ends inside a definition: look at it together with what follows."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The pieces of a file in order, what it imports, and the comment or docstring that it begins with."""

    pieces: tuple[Piece, ...]
    imports: tuple[tuple[str, str, str], ...] = ()
    header: str = ""


@dataclass(frozen=True, slots=True)
class ChunkReader:
    """How one language is cut and looked into."""

    relevant: Callable[[bytes], bool]
    """Whether a file can hold kernels or launches at all."""
    cuts: Callable[[bytes], Iterator[int]]
    """End offsets of the chunks, in order; the last is the file's length."""
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


def language_of(path: str) -> Language:
    """The language that a path's suffix stands for."""
    return Language.TRITON if path.endswith(".py") else Language.CUDA


class Outliner:
    """Outlines files, remembering every chunk that it has seen."""

    def __init__(self, readers: dict[Language, ChunkReader]):
        self._readers = readers
        self._seen: dict[tuple[Language, bytes], Chunk] = {}

    def outline(self, data: bytes, language: Language) -> Outline | None:
        """The file's outline, or None when it cannot hold kernels or launches (or is binary)."""
        reader = self._readers[language]
        if not reader.relevant(data) or b"\0" in data:
            return None
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        pieces: list[Piece] = []
        imports: list[tuple[str, str, str]] = []
        start, line, merged, chunk = 0, 0, 0, Chunk()
        for end in reader.cuts(data):
            if merged < _MERGE_AT_MOST or end == len(
                data
            ):  # give up on an unclosed one: the rest is one chunk
                chunk = self._chunk(data[start:end], language, reader)
            if chunk.open and end < len(data):
                merged += 1
                continue
            pieces += [_shift(p, line) for p in chunk.pieces]
            imports += chunk.imports
            line += data.count(b"\n", start, end)
            start, merged = end, 0
        header = _HEADER.match(data)
        return Outline(tuple(pieces), tuple(imports), header[0].decode("utf-8", "replace") if header else "")

    def _chunk(self, data: bytes, language: Language, reader: ChunkReader) -> Chunk:
        key = language, hashlib.blake2b(data, digest_size=12).digest()
        chunk = self._seen.get(key)
        if chunk is None:
            chunk = self._seen[key] = reader.read(data)
        return chunk


def _shift(p: Piece, lines: int) -> Piece:
    if not lines:
        return p
    first, last = p.first_line + lines, p.last_line + lines
    return Piece(p.role, p.name, first, last, p.text, p.digest, p.names, p.launches, p.comment, p.entry)
