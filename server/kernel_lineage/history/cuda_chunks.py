"""Chunks of CUDA C++: cut at closing braces in the first column, scanned for functions by their braces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.history.outline import Chunk, ChunkReader, Piece, Role, digest

_TOKEN = re.compile(
    rb"//[^\n]*"
    rb"|/\*.*?(?:\*/|\Z)"
    rb'|R"(?P<mark>[^(\s"]{0,16})\(.*?\)(?P=mark)"'
    rb'|"(?:\\.|[^"\\\n])*"'
    rb"|'(?:\\.|[^'\\\n]){1,4}'"
    rb"|^[ \t]*\#(?:[^\n\\]|\\\r?\n|\\.)*"
    rb"|^(?:__global__|template\s*<)"
    rb"|[{};]",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LEADING = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TRANSPARENT = re.compile(rb'(?:inline\s+)?namespace\b|extern\s*"C(?:\+\+)?"\s*\Z')
_TYPE = re.compile(rb"\b(?:struct|class|union)\s+(?:__align__\s*\([^)]*\)\s*|alignas\s*\([^)]*\)\s*)?(\w+)")
_NAME = re.compile(rb"(operator\s*\S+|~?\w+)\s*(?:<[^<>()]*>)?\s*\Z")
_REFERS = re.compile(rb"\b([A-Za-z_]\w*)\s*(?=[(<])")
_LAUNCHED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}]{0,1000}?>)?\s*<<<")
_LAUNCH_CALL = re.compile(rb"\b\w*(?:LAUNCH|[lL]aunch)\w*\s*(?:<[^;{}()]*>\s*)?\(([^;]*)")
_FUNCTION_VALUE = re.compile(rb"\bauto\s*[*&]?\s*\w+\s*=\s*&?\s*([A-Za-z_]\w*)\s*[<;]")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_MAY_MATTER = re.compile(rb"__global__|__device__|<<<|[lL]aunch|LAUNCH")
_TAIL = re.compile(rb"\)\s*(?:const|noexcept|override|final|->[^()]*|\s)*\Z")


def _relevant(data: bytes) -> bool:
    return b"__global__" in data or b"<<<" in data


def _cuts(data: bytes) -> Iterator[int]:
    at = data.find(b"\n}")
    while at != -1:
        yield at + 2
        at = data.find(b"\n}", at + 2)
    yield len(data)


def _read(data: bytes) -> Chunk:
    if not _MAY_MATTER.search(data) and data.count(b"{") == data.count(b"}"):
        return Chunk()
    pieces: list[Piece] = []
    comments: list[re.Match[bytes]] = []
    conditionals: list[int] = []
    depth, boundary, opened, head = 0, 0, 0, b""
    for token in _TOKEN.finditer(data):
        text = token.group()
        first = text.lstrip()[:1]
        if first in b"\"'R" or text[:2] in (b"//", b"/*"):
            if depth == 0 and first == b"/":
                comments.append(token)
        elif first == b"#":
            depth = _at_directive(text.lstrip(), depth, conditionals)
            if depth == 0:
                boundary = token.end()
        elif first in b"_t":
            if (
                depth and first == b"_"
            ):  # an unfinished function above: what begins in the first column is a new one
                depth, boundary, comments = 0, token.start(), []
        elif text == b"{":
            if depth == 0:
                skip = _LEADING.match(data, boundary, token.start())
                opened = skip.end() if skip else boundary
                head = _COMMENT.sub(b" ", data[opened : token.start()]).strip()
                if _TRANSPARENT.match(head):
                    boundary, comments = token.end(), []
                    continue
            depth += 1
        elif depth == 0:
            boundary, comments = token.end(), []
        elif text == b"}":
            depth -= 1
            if depth == 0:
                piece = _piece(data, opened, token.end(), head, comments)
                if piece is not None:
                    pieces.append(piece)
                boundary, comments = token.end(), []
    return Chunk(tuple(pieces), open=depth > 0)


def _at_directive(text: bytes, depth: int, conditionals: list[int]) -> int:
    """The brace depth after a directive: the branches of an `#if` are alternatives and start equally deep."""
    word = text[1:].lstrip()
    if word.startswith(b"if"):
        conditionals.append(depth)
    elif word.startswith((b"else", b"elif")) and conditionals:
        return conditionals[-1]
    elif word.startswith(b"endif") and conditionals:
        conditionals.pop()
    return depth


def _piece(data: bytes, start: int, end: int, head: bytes, comments: list[re.Match[bytes]]) -> Piece | None:
    role, name = _classify(head, data, start, end)
    if role is None:
        return None
    text = data[start:end]
    if role is Role.HOST and not _MAY_MATTER.search(text):
        return None  # it launches nothing
    bare = _COMMENT.sub(b" ", text)
    launches: set[bytes] = set()
    if role is Role.HOST:
        launches.update(_LAUNCHED.findall(bare), _FUNCTION_VALUE.findall(bare))
        for arguments in _LAUNCH_CALL.findall(bare):
            launches.update(_WORD.findall(arguments))
    first = data.count(b"\n", 0, start) + 1
    return Piece(
        role=role,
        name=name,
        first_line=first,
        last_line=first + text.count(b"\n"),
        text=text.decode("utf-8", "replace"),
        digest=digest(text),
        names=frozenset(n.decode() for n in _REFERS.findall(bare)),
        launches=frozenset(n.decode() for n in launches),
        comment=_comment_above(data, start, comments),
        entry=role is Role.KERNEL,
    )


def _classify(head: bytes, data: bytes, start: int, end: int) -> tuple[Role | None, str]:
    kernel = b"__global__" in head
    tail = _TAIL.search(head)
    if tail is None:
        declared = _TYPE.search(head)
        if declared and b"__device__" in data[start:end]:
            return Role.DEVICE, declared[1].decode()
        return None, ""
    depth, at = 0, tail.start()
    for at in range(tail.start(), -1, -1):
        depth += {41: 1, 40: -1}.get(head[at], 0)
        if depth == 0:
            break
    name = _NAME.search(head[:at])
    if name is None or (not kernel and re.search(rb"(?<![=!<>])=(?!=)", head[:at])):
        return None, ""
    role = Role.KERNEL if kernel else Role.DEVICE if b"__device__" in head else Role.HOST
    return role, name[1].decode("ascii", "replace")


def _comment_above(data: bytes, start: int, comments: list[re.Match[bytes]]) -> str:
    lines: list[str] = []
    below = start
    for comment in reversed(comments):
        if comment.end() > start or data.count(b"\n", comment.end(), below) > 1:
            break
        lines[:0] = comment.group().decode("utf-8", "replace").splitlines()
        below = comment.start()
    return "\n".join(line for line in (_without_marks(line) for line in lines) if line)


def _without_marks(line: str) -> str:
    return line.strip().removeprefix("/**").removeprefix("/*").removesuffix("*/").lstrip("/*").strip(" -=")


CUDA = ChunkReader(relevant=_relevant, cuts=_cuts, read=_read)
