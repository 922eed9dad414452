"""Slices: the smallest device code of a file that holds one kernel and compiles without a host compiler.

A slice keeps what the kernel's names lead to (device functions, types, constants, aliases) in the order of the file,
with every macro and conditional, so that the preprocessor decides as it does in the whole file. Project headers are
read through the caller and put where they were included; host code and host headers go.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_outline import Declaration, What, outline
from kernel_lineage.kernels.cuda_text import Directive, Text, directives, text_of
from kernel_lineage.kernels.device_headers import (
    gives_one_of,
    header_name,
    is_hosts,
    is_toolkit,
    is_torch,
    stand_ins,
)
from kernel_lineage.kernels.host_functions import without_host_functions, without_members
from kernel_lineage.kernels.slice_needs import (
    KEYWORDS,
    Piece,
    closure,
    device_marks,
    given_by,
    host_functions,
    macros_of,
)
from kernel_lineage.kernels.source import Language, Problem, SourceFile
from kernel_lineage.kernels.words import WORD_OF_BYTES

_STANDARD_NAME = re.compile(rb"\bstd\s*::\s*([A-Za-z_]\w*)")
_INVARIANT = re.compile(rb"[ \t]*//[ \t]*klineage:")
_KEPT_DIRECTIVES = frozenset(
    {"define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "pragma"}
)

Resolve = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class DeviceSlice:
    """Device code of one kernel."""

    text: str
    """With `#line` directives, so that a compiler names the user's files and lines."""
    problems: tuple[Problem, ...] = ()
    declarations: tuple[str, ...] = ()
    """Names of what the kernel needs, in order."""
    lacking: tuple[str, ...] = ()
    """A header of each library that nobody has and that the kernel names, as `glm` of `glm/glm.hpp`."""


def device_slice(
    source: SourceFile,
    kernel: str | Sequence[str],
    resolve: Resolve,
    path: str = "kernel.cu",
    names: Iterable[str] = (),
    before: Sequence[str] = (),
) -> DeviceSlice:
    """The slice of a CUDA file for the kernels of these names. `resolve` gives a header by its path, or None.

    Headers are asked for relative to the file that includes them and then as written; `path` names the file itself in
    `#line`; `names` are also needed, such as those in template arguments. `before` are headers that stand before this
    file wherever it is included: what only they declare is taken from them. A header that nobody has,
    and a kernel that is not there, are problems.
    """
    problems: list[Problem] = []
    if source.language is not Language.CUDA:
        return DeviceSlice(
            "", (Problem("only CUDA C++ is sliced; a Triton kernel is compiled by its own module"),)
        )
    seen = {path}
    pieces = list(_pieces(source.data, path, resolve, seen, problems))
    functions = [p for p in pieces if p.declaration and p.declaration.what is What.FUNCTION]
    wanted = []
    for name in (kernel,) if isinstance(kernel, str) else kernel:
        kernels = [p for p in functions if _is_kernel(p, name)]
        if not kernels:
            problems.append(Problem(f"{path} holds no kernel named `{name}`"))
            return DeviceSlice("", tuple(problems))
        wanted += kernels
    also = [word for name in names for word in WORD_OF_BYTES.findall(name.encode())]
    chosen, needed = closure(pieces, wanted, also)
    if earlier := list(_of_earlier(before, needed - given_by(pieces), resolve, seen)):
        pieces = [*earlier, *pieces]
        chosen, needed = closure(pieces, wanted, also)
    lines = _written(pieces, chosen, needed, before)
    names = tuple(dict.fromkeys(p.declaration.name for p in pieces if id(p) in chosen and p.declaration))
    return DeviceSlice("\n".join(lines) + "\n", tuple(problems), names, _lacking(pieces, needed))


def _pieces(
    data: bytes, path: str, resolve: Resolve, seen: set[str], problems: list[Problem]
) -> Iterator[Piece]:
    """Directives and declarations of a file in order, those of its project headers at their place."""
    text = text_of(without_host_functions(data))
    declared = outline(text)
    inside = [(d.start, d.end) for d in declared if d.defined]
    marks: list[tuple[int, Declaration | Directive]] = [(d.start, d) for d in declared]
    position = 0
    for directive in directives(text):
        while position < len(inside) and inside[position][1] <= directive.start:
            position += 1
        if position == len(inside) or directive.start < inside[position][0]:
            marks.append((directive.start, directive))
    for start, mark in sorted(marks, key=lambda m: m[0]):
        if isinstance(mark, Declaration):
            words = frozenset(WORD_OF_BYTES.findall(text.masked, start, mark.end)) - KEYWORDS
            yield Piece(path, text, start, mark.end, declaration=mark, words=words)
        elif mark.word == "include":
            yield from _included(text, mark, path, resolve, seen, problems)
        elif mark.word in _KEPT_DIRECTIVES and b"once" not in data[mark.start : mark.end]:
            words = frozenset(WORD_OF_BYTES.findall(text.masked, mark.start, mark.end))
            yield Piece(path, text, start, mark.end, directive=mark, words=words)


def _included(
    text: Text, mark: Directive, path: str, resolve: Resolve, seen: set[str], problems: list[Problem]
) -> Iterator[Piece]:
    named = header_name(text.data[mark.start : mark.end])
    if named is None:
        return
    name, quoted = named
    if is_toolkit(name):
        yield Piece(path, text, mark.start, mark.end, directive=mark)
        return
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    for candidate in dict.fromkeys((beside, name)):
        if candidate in seen:
            return
        data = resolve(candidate)
        if data is not None:
            seen.add(candidate)
            yield from _pieces(data, candidate, resolve, seen, problems)
            return
    yield Piece(path, text, mark.start, mark.end, directive=mark)
    if quoted and not is_hosts(name) and not is_torch(name):
        where = text.span(mark.start, mark.end) if len(seen) == 1 else None
        problems.append(
            Problem(f"{path} includes `{name}`, which was not found; what it declares is missing", where)
        )


def _of_earlier(
    headers: Sequence[str], lacking: frozenset[bytes], resolve: Resolve, seen: set[str]
) -> Iterator[Piece]:
    """The pieces of those headers that give something of what is lacking."""
    for header in headers:
        data = resolve(header) if header not in seen else None
        if data is None:
            continue
        seen.add(header)
        pieces = list(_pieces(data, header, resolve, seen, []))
        if not given_by(pieces).isdisjoint(lacking):
            yield from pieces


def _lacking(pieces: Sequence[Piece], needed: frozenset[bytes]) -> tuple[str, ...]:
    headers = dict.fromkeys(_header_of(piece) for piece in pieces if _is_include(piece))
    others = [h for h in headers if not (is_toolkit(h) or is_torch(h) or is_hosts(h))]
    libraries = {re.split(r"[/.]", h)[0]: h for h in reversed(others)}
    return tuple(h for library, h in libraries.items() if library.encode() in needed)


def _is_kernel(piece: Piece, kernel: str) -> bool:
    declaration = piece.declaration
    if declaration is None or declaration.name != kernel or not declaration.defined:
        return False
    head = set(WORD_OF_BYTES.findall(piece.text.code, declaration.start, declaration.name_at[0]))
    return not head.isdisjoint({b"__global__", *_words_for(piece.text, "__global__")})


def _words_for(text: Text, qualifier: str) -> set[bytes]:
    return {m.name.encode() for m in text.macros if m.parameters is None and qualifier in m.body}


def _written(
    pieces: Sequence[Piece], chosen: set[int], needed: frozenset[bytes], before: Sequence[str]
) -> list[str]:
    names = [word.decode() for word in needed]
    following: tuple[str, int] | None = None
    on_device = device_marks(macros_of(pieces))
    of_the_host = host_functions(pieces, on_device)
    lines = list(_stand_ins(pieces, chosen, names, before))
    for piece in pieces:
        if piece.declaration is not None:
            if id(piece) not in chosen:
                continue
        elif _is_include(piece):
            header = _header_of(piece)
            if not is_toolkit(header) or not gives_one_of(header, names):
                continue
        namespace = piece.declaration.namespace if piece.declaration else ""
        in_c = piece.declaration is not None and piece.declaration.extern_c
        start = piece.start if piece.declaration is None else _with_invariants(piece.text, piece.start)
        first = piece.text.span(start, piece.end).first_line
        opened = ['extern "C" {'] * in_c + [f"namespace {namespace} {{"] * bool(namespace)
        lines.extend(opened)
        if following != (piece.path, first) or opened:
            quoted = piece.path.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'#line {first} "{quoted}"')
        data = _without_members(piece, of_the_host, on_device)[start : piece.end]
        written = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        lines.extend(written)
        following = (piece.path, first + len(written))
        if opened:
            lines.append("}" * len(opened))
            following = None
    return lines


def _without_members(piece: Piece, of_the_host: set[bytes], on_device: set[bytes]) -> bytes:
    declaration = piece.declaration
    if declaration is None or declaration.what is not What.TYPE or piece.words.isdisjoint(of_the_host):
        return piece.text.data
    return without_members(piece.text, declaration.head_end, piece.end, of_the_host, on_device)


def _with_invariants(text: Text, start: int) -> int:
    """Where a declaration starts with the invariants that are stated in the lines directly above it."""
    line = text.span(start, start + 1).first_line - 1
    first = start
    while line > 0:
        above = text.line_starts[line - 1]
        if not _INVARIANT.match(text.data, above):
            break
        first, line = above, line - 1
    return first


def _stand_ins(
    pieces: Sequence[Piece], chosen: set[int], names: Sequence[str], before: Sequence[str]
) -> Iterator[str]:
    headers = [*before, *(_header_of(p) for p in pieces if _is_include(p))]
    members = {
        match.group(1).decode()
        for piece in pieces
        if id(piece) in chosen or piece.directive is not None
        for match in _STANDARD_NAME.finditer(piece.text.masked, piece.start, piece.end)
    }
    return stand_ins(headers, names, members)


def _is_include(piece: Piece) -> bool:
    return piece.directive is not None and piece.directive.word == "include"


def _header_of(piece: Piece) -> str:
    named = header_name(piece.text.data[piece.start : piece.end])
    return named[0] if named else ""
