"""Chunks of CUDA C++: cut at closing braces in the first column, scanned for functions by their braces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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
_ENUM = re.compile(rb"\benum\b\s*(?:class\b|struct\b)?\s*(\w*)")
_ENUMERATOR = re.compile(rb"[{,]\s*([A-Za-z_]\w*)")
_NAME = re.compile(rb"(operator\s*\S+|~?\w+)\s*(?:<[^<>()]*>)?\s*\Z")
_LAUNCHED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}]{0,1000}?>)?\s*<<<")
_LAUNCH_CALL = re.compile(rb"\b\w*(?:LAUNCH|[lL]aunch)\w*\s*(?:<[^;{}()]*>\s*)?\(([^;]*)")
_FUNCTOR = re.compile(rb"\b([A-Z]\w*)\s*(?:<[^;(){}]*>)?\s*(?:\(\s*\)|\{\s*\})\s*[,)]")
"""An object that is made to be handed over: a kernel of someone else may call it."""
_FUNCTION_VALUE = re.compile(rb"\bauto\s*[*&]?\s*\w+\s*=\s*&?\s*([A-Za-z_]\w*)\s*[<;]")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_LONGEST_VALUE = 4000
"""Characters; a longer constant is a table of data."""
_MAY_MATTER = re.compile(
    rb"__global__|__device__|<<<|[lL]aunch|LAUNCH|DEVICE|#|\b(?:struct|class|union|enum|using|typedef|const|constexpr)\b"
    rb"|__constant__|__host__|\b[A-Z]\w*(?:<[^;(){}]*>)?\s*(?:\(\s*\)|\{\s*\})\s*[,)]"
)
_LAUNCHES = re.compile(rb"<<<|[lL]aunch|LAUNCH")
_TAIL = re.compile(rb"\)\s*(?:const|noexcept|override|final|->[^()]*|\s)*\Z")
_INCLUDE = re.compile(rb"\#\s*include\s*[<\"]([^>\"\n]+)[>\"]")
_DEFINE = re.compile(rb"\#\s*define\s+([A-Za-z_]\w*)(\([^)\n]*\))?(.*)", re.DOTALL)
_MACRO_KERNEL = re.compile(rb"__global__[^{;]*?\b([A-Za-z_]\w*)\s*\([^{;]*\{")
_VALUE = re.compile(
    rb"\s*(?:template\s*<.*>\s*)?(?:using\s+(?P<using>[A-Za-z_]\w*)\s*="
    rb"|typedef\b.*?(?P<typedef>[A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\Z"
    rb"|(?:(?:static|inline|extern|const|__host__)\s+)*(?:constexpr|const|__device__|__constant__|__managed__)\b"
    rb"[^=({]*?(?P<value>[A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:[={].*)?\Z)",
    re.DOTALL,
)
_UPPER = re.compile(rb"\b[A-Z][A-Z0-9_]+\b")
_DEVICE_CALL = re.compile(rb"\boperator\s*\(\s*\)\s*\(")
_NOT_NAMES = frozenset(
    b"if else for while do switch case return break continue const constexpr static inline void int float double char"
    b" bool unsigned signed long short auto template typename class struct sizeof using namespace true false this"
    b" operator __global__ __device__ __host__ __restrict__ __forceinline__ __shared__ threadIdx blockIdx blockDim"
    b" gridDim nullptr public private default".split()
)


def _cuts(data: bytes) -> Iterator[int]:
    at = data.find(b"\n}")
    while at != -1:
        yield at + 2
        at = data.find(b"\n}", at + 2)
    yield len(data)


def _read(data: bytes) -> Chunk:
    if not _MAY_MATTER.search(data) and data.count(b"{") == data.count(b"}"):
        return Chunk()
    found = _Found()
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
            directive = text.lstrip()
            included = _INCLUDE.match(directive)
            if included:
                found.imports.append(("", included[1].decode("utf-8", "replace").strip(), ""))
            depth = _at_directive(directive, depth, conditionals)
            if depth == 0:
                _add_macro(data, token, found)
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
            if text == b";":
                _add_value(data, boundary, token.end(), comments, found)
            boundary, comments = token.end(), []
        elif text == b"}":
            depth -= 1
            if depth == 0:
                if _goes_on(head):
                    continue
                _add_definition(data, opened, token.end(), head, comments, found)
                boundary, comments = token.end(), []
    return Chunk(tuple(found.pieces), tuple(found.imports), open=depth > 0, texts=tuple(found.texts.items()))


@dataclass(slots=True)
class _Found:
    """What a chunk was seen to say so far."""

    pieces: list[Piece] = field(default_factory=list)
    imports: list[tuple[str, str, str]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        role: Role,
        name: str,
        lines: tuple[int, int],
        text: bytes,
        *,
        launches: frozenset[str] = frozenset(),
        comment: str = "",
        entry: bool = False,
        marks: frozenset[str] = frozenset(),
    ) -> None:
        """Keep a piece with its text."""
        words = set(_WORD.findall(_COMMENT.sub(b" ", text))) - _NOT_NAMES
        names = {word.decode() for word in words} - {name}
        key = digest(text)
        self.texts[key] = text.decode("utf-8", "replace")
        self.pieces.append(Piece(role, name, *lines, key, frozenset(names), launches, comment, entry, marks))


def _goes_on(head: bytes) -> bool:
    """Whether what stands before a brace goes on behind it: an initialiser, or a type that is named after its body."""
    if head.startswith(b"typedef"):
        return True
    return not _TYPE.search(head) and not _TAIL.search(head) and bool(_VALUE.match(head))


def _lines(data: bytes, start: int, end: int) -> tuple[int, int]:
    first = data.count(b"\n", 0, start) + 1
    return first, first + data.count(b"\n", start, end)


def _add_macro(data: bytes, token: re.Match[bytes], found: _Found) -> None:
    """A macro is a piece of device code; one whose body is a kernel is that kernel."""
    defined = _DEFINE.match(
        data, token.start() + len(token.group()) - len(token.group().lstrip()), token.end()
    )
    if defined is None or not defined[3].strip():
        return
    lines = _lines(data, token.start(), token.end())
    kernel = _MACRO_KERNEL.search(defined[3])
    if kernel is None:
        found.add(Role.DEVICE, defined[1].decode(), lines, defined[0])
        return
    body = re.sub(rb"\s*##\s*", b"", re.sub(rb"\\[ \t]*\r?\n", b"\n", defined[3]))
    name = _MACRO_KERNEL.search(body)
    found.add(Role.KERNEL, (name or kernel)[1].decode(), lines, body.strip(b"\n"), entry=True)


def _add_value(data: bytes, start: int, end: int, comments: list[re.Match[bytes]], found: _Found) -> None:
    """A constant, an alias or a variable of the device."""
    skip = _LEADING.match(data, start, end)
    start = skip.end() if skip else start
    head = _COMMENT.sub(b" ", data[start : end - 1]).strip()
    if len(head) > _LONGEST_VALUE or (_TAIL.search(head) and b"=" not in head):
        return  # a declaration of a function
    named = _VALUE.match(head)
    if named is None:
        return
    name = named["using"] or named["typedef"] or named["value"]
    comment = _comment_above(data, start, comments)
    found.add(Role.DEVICE, name.decode(), _lines(data, start, end), data[start:end], comment=comment)


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


def _add_definition(
    data: bytes, start: int, end: int, head: bytes, comments: list[re.Match[bytes]], found: _Found
) -> None:
    text = data[start:end]
    enumeration = _ENUM.search(head)
    if enumeration:
        body = _COMMENT.sub(b" ", text[text.find(b"{") :])
        named = [m for m in (enumeration[1], *_ENUMERATOR.findall(body)) if m]
        for name in dict.fromkeys(named):  # an enumerator is as good a name for it as its own
            found.add(Role.DEVICE, name.decode(), _lines(data, start, end), text)
        return
    role, name, marks = _classify(head)
    bare = _COMMENT.sub(b" ", text)
    launches: set[bytes] = set(_FUNCTOR.findall(bare)) if role is Role.HOST else set()
    if role is None or (role is Role.HOST and not marks and not launches and not _LAUNCHES.search(text)):
        return  # what launches nothing is of no kernel
    if role is Role.HOST:
        launches.update(_LAUNCHED.findall(bare))
        if _LAUNCHES.search(bare):
            launches.update(_FUNCTION_VALUE.findall(bare))
        for arguments in _LAUNCH_CALL.findall(bare):
            launches.update(_WORD.findall(arguments))
    functor = role is Role.DEVICE and b"DEVICE" in text.upper() and bool(_DEVICE_CALL.search(text))
    found.add(
        role,
        name,
        _lines(data, start, end),
        text,
        launches=frozenset(n.decode() for n in launches),
        comment=_comment_above(data, start, comments),
        entry=role is Role.KERNEL or (functor and not _TAIL.search(head)),
        marks=marks,
    )


def _classify(head: bytes) -> tuple[Role | None, str, frozenset[str]]:
    """What the head of a definition makes it, its name, and the macros that may make it something else."""
    none: frozenset[str] = frozenset()
    kernel = b"__global__" in head
    tail = _TAIL.search(head)
    if tail is None:
        declared = _TYPE.search(head)
        return (Role.DEVICE, declared[1].decode(), none) if declared else (None, "", none)
    depth, at = 0, tail.start()
    for at in range(tail.start(), -1, -1):
        depth += {41: 1, 40: -1}.get(head[at], 0)
        if depth == 0:
            break
    name = _NAME.search(head[:at])
    if name is None or (not kernel and re.search(rb"(?<![=!<>])=(?!=)", head[:at])):
        return None, "", none
    if kernel or b"__device__" in head or b"constexpr" in head[:at]:
        role = Role.KERNEL if kernel else Role.DEVICE
        return role, name[1].decode("ascii", "replace"), none
    marks = frozenset(m.decode() for m in _UPPER.findall(head[:at]))
    if any("DEVICE" in m for m in marks):  # as libraries call it whose headers are elsewhere
        return Role.DEVICE, name[1].decode("ascii", "replace"), marks
    first = _WORD.search(head, at)
    if name[1].decode("ascii", "replace") in marks and first and head[: name.start()].strip() == b"":
        return Role.HOST, first[0].decode(), marks  # `DEFINE_KERNEL(name, …) {`
    return Role.HOST, name[1].decode("ascii", "replace"), marks


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


CUDA = ChunkReader(
    relevant=lambda _: True,  # a header of constants can be what a kernel reaches
    cuts=_cuts,
    unclosed=lambda _: False,
    read=_read,
)
