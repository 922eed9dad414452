"""What one blob says: its kernels, each with the device functions it reaches and its launchers.

A version of a kernel is the text of all three, so a changed `num_warps` or a guard in the wrapper is a new version.
Launchers of kernels that are defined in another file are kept apart, as `ForeignLaunch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel_lineage.history.outline import Outline, Piece, Role, digest
from kernel_lineage.kernels.source import Language

LONG_LAUNCHER_LINES = 120
"""Of a longer launcher (a `main`, a whole training step) only the launch and what it uses belongs to the kernel."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(
    r"^\s*(?:(?:static|const|constexpr)\s+)*(?:int|size_t|dim3|auto|unsigned|long|float)\b\s*(\w+)\s*[=({]"
)


@dataclass(frozen=True, slots=True)
class Part:
    """One definition that belongs to a version; its text is kept under its digest."""

    role: Role
    name: str
    digest: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class KernelSeen:
    """One kernel of a blob. `parts[0]` is the kernel itself."""

    symbol: str
    ordinal: int
    """Counts kernels of the same name in one file (overloads, `#if` branches) from 0."""
    digest: str
    """Of everything that makes the version."""
    parts: tuple[Part, ...]
    comment: str = ""

    @property
    def key(self) -> str:
        """What identifies it within its file."""
        return f"{self.symbol}#{self.ordinal + 1}" if self.ordinal else self.symbol

    @property
    def body(self) -> str:
        """The digest of the kernel's own text."""
        return self.parts[0].digest

    @property
    def launchers(self) -> tuple[str, ...]:
        """Names of the host functions that launch it."""
        return tuple(p.name for p in self.parts if p.role is Role.HOST)


@dataclass(frozen=True, slots=True)
class ForeignLaunch:
    """A launch of a kernel that another file defines."""

    symbol: str
    module: str
    """Where it is imported from (`liger.ops.softmax`), or "" when the file does not say (CUDA)."""
    digest: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class FileSeen:
    """What one blob says of kernels."""

    kernels: tuple[KernelSeen, ...] = ()
    foreign: tuple[ForeignLaunch, ...] = ()
    header: str = ""
    """The comment that the file begins with."""


def see(outline: Outline, language: Language, texts: dict[str, str]) -> FileSeen:
    """The kernels and foreign launches of an outlined file. The text of every part is put into `texts`."""
    device = _by_name(p for p in outline.pieces if p.role is Role.DEVICE)
    host = _by_name(p for p in outline.pieces if p.role is Role.HOST)
    launching = [p for p in outline.pieces if p.launches]
    kernels = list(_kernels(outline, language))
    if not kernels and not launching:
        return FileSeen()
    names = {k.name for k in kernels}
    seen: list[KernelSeen] = []
    counts: dict[str, int] = {}
    for kernel in kernels:
        parts = [_part(kernel, kernel.text, texts, Role.KERNEL)]
        for piece in _reached(kernel, device):
            if piece.digest != kernel.digest:
                parts.append(_part(piece, piece.text, texts))
                if language is Language.TRITON:
                    parts += [_part(c, c.text, texts) for c in _constants(piece, host)]
        parts += _launcher_parts(kernel.name, launching, host, language, texts)
        if language is Language.TRITON:
            parts += [_part(c, c.text, texts) for c in _constants(kernel, host)]
        parts = list(dict.fromkeys(parts))
        ordinal = counts[kernel.name] = counts.get(kernel.name, -1) + 1
        seen.append(KernelSeen(kernel.name, ordinal, _digest(parts), tuple(parts), kernel.comment))
    return FileSeen(
        tuple(seen),
        tuple(_foreign(outline, names, launching, host, language, texts)),
        outline.header if kernels else "",
    )


def _kernels(outline: Outline, language: Language) -> Iterator[Piece]:
    if language is Language.CUDA:
        yield from (p for p in outline.pieces if p.role is Role.KERNEL)
        return
    jitted = [p for p in outline.pieces if p.role is Role.DEVICE]
    launched = {n for p in outline.pieces for n in p.launches}
    called = {n for p in jitted for n in p.names}
    yield from (p for p in jitted if p.name in launched or (p.entry and p.name not in called))


def _foreign(
    outline: Outline,
    own: set[str],
    launching: list[Piece],
    host: dict[str, list[Piece]],
    language: Language,
    texts: dict[str, str],
) -> Iterator[ForeignLaunch]:
    imported = {here: (module, there) for here, module, there in outline.imports}
    for name in sorted({n for p in launching for n in p.launches} - own):
        module, symbol = imported.get(name, ("", name))
        if language is Language.TRITON and not module:
            continue
        parts = tuple(dict.fromkeys(_launcher_parts(name, launching, host, language, texts)))
        yield ForeignLaunch(symbol, module, _digest(parts), parts)


def _launcher_parts(
    kernel: str,
    launching: list[Piece],
    host: dict[str, list[Piece]],
    language: Language,
    texts: dict[str, str],
) -> Iterator[Part]:
    for launcher in launching:
        if kernel not in launcher.launches:
            continue
        if language is Language.CUDA and (
            launcher.name == "main" or launcher.last_line - launcher.first_line > LONG_LAUNCHER_LINES
        ):
            yield _part(launcher, _launch_excerpt(launcher.text, kernel), texts)
            continue
        yield _part(launcher, launcher.text, texts)
        if language is Language.TRITON:
            for piece in _reached(launcher, host):
                if not piece.launches:
                    yield _part(piece, piece.text, texts)


def _reached(start: Piece, among: dict[str, list[Piece]]) -> list[Piece]:
    """The pieces that `start` refers to, directly or not, in order of definition."""
    found: dict[str, Piece] = {}
    open_names = [n for n in start.names if n in among]
    done = {start.name}
    while open_names:
        name = open_names.pop()
        if name in done:
            continue
        done.add(name)
        for piece in among[name]:
            if not piece.launches:
                found[f"{piece.first_line:08}{piece.name}"] = piece
                open_names += [n for n in piece.names if n in among and n not in done]
    return [found[k] for k in sorted(found)]


def _constants(piece: Piece, host: dict[str, list[Piece]]) -> Iterator[Piece]:
    """Module constants that a Triton function reads."""
    for name in sorted(piece.names & host.keys()):
        yield from (
            c for c in host[name] if not c.text.lstrip().startswith(("def ", "async ", "@", "class "))
        )


@lru_cache(maxsize=4096)
def _launch_excerpt(text: str, kernel: str) -> str:
    """The statements that launch `kernel` and the lines that define what these name."""
    launches = []
    for mention in re.finditer(rf"\b{re.escape(kernel)}\b", text):
        start = max(text.rfind(mark, 0, mention.start()) for mark in ";{}") + 1
        end = text.find(";", mention.end())
        launches.append(text[start : end + 1 if end != -1 else len(text)].strip())
    used = {w for launch in launches for w in _WORD.findall(launch)} - {kernel}
    lines = [line for line in text.splitlines() if (m := _DEFINED.match(line)) and m[1] in used]
    return "\n".join([*lines, *dict.fromkeys(launches)])


def _part(piece: Piece, text: str, texts: dict[str, str], role: Role | None = None) -> Part:
    key = piece.digest if text is piece.text else digest(text.encode("utf-8", "replace"))
    texts.setdefault(key, text)
    return Part(role or piece.role, piece.name, key, piece.first_line, piece.last_line)


def _digest(parts: Iterable[Part]) -> str:
    own: list[str] = []
    rest: list[str] = []
    for part in parts:
        (own if part.role is Role.KERNEL else rest).append(part.digest)
    return digest(*(d.encode() for d in [*own, *sorted(set(rest))]))


def _by_name(pieces: Iterable[Piece]) -> dict[str, list[Piece]]:
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.name, []).append(piece)
    return found
