"""Chunks of CUDA C++: cut at closing braces in the first column, read as the outline of their declarations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_lineage.history.outline import Chunk, ChunkReader, Piece, Role, digest
from kernel_lineage.kernels.cuda import comment_above
from kernel_lineage.kernels.cuda_outline import Declaration, What, outline
from kernel_lineage.kernels.cuda_text import Macro, Text, directives, text_of
from kernel_lineage.kernels.device_headers import header_name
from kernel_lineage.kernels.words import WORD_OF_BYTES

_ENUM = re.compile(rb"\benum\b")
_ENUMERATOR = re.compile(rb"[{,]\s*([A-Za-z_]\w*)")
_LAUNCHED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}]{0,1000}?>)?\s*<<<")
_LAUNCH_CALL = re.compile(rb"\b\w*(?:LAUNCH|[lL]aunch)\w*\s*(?:<[^;{}()]*>\s*)?\(([^;]*)")
_FUNCTOR = re.compile(rb"\b([A-Z]\w*)\s*(?:<[^;(){}]*>)?\s*(?:\(\s*\)|\{\s*\})\s*[,)]")
"""An object that is made to be handed over: a kernel of someone else may call it."""
_FUNCTION_VALUE = re.compile(rb"\bauto\s*[*&]?\s*\w+\s*=\s*&?\s*([A-Za-z_]\w*)\s*[<;]")
_LONGEST_VALUE = 4000
"""Characters; a longer constant is a table of data."""
_MAY_MATTER = re.compile(
    rb"__global__|__device__|<<<|[lL]aunch|LAUNCH|DEVICE|#|\b(?:struct|class|union|enum|using|typedef|const|constexpr)\b"
    rb"|__constant__|__host__|\b[A-Z]\w*(?:<[^;(){}]*>)?\s*(?:\(\s*\)|\{\s*\})\s*[,)]"
)
_LAUNCHES = re.compile(rb"<<<|[lL]aunch|LAUNCH")
_TAIL = re.compile(rb"\)\s*(?:const|noexcept|override|final|->[^()]*|\s)*\Z")
_MACRO_KERNEL = re.compile(r"__global__[^{;]*?\b([A-Za-z_]\w*)\s*\([^{;]*\{")
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
    text = text_of(data)
    declared = outline(text)
    starts = [d.start for d in declared]
    chunk = _Chunks(text)
    places: list[tuple[int, Declaration | Macro]] = [(d.start, d) for d in declared]
    for macro in text.macros:
        around = bisect_right(starts, macro.start) - 1
        if around < 0 or declared[around].end <= macro.start:
            places.append((macro.start, macro))
    for _, one in sorted(places, key=lambda place: place[0]):
        if isinstance(one, Macro):
            _add_macro(chunk, one)
        elif one.what is What.FUNCTION:
            _add_function(chunk, one)
        elif one.what is What.TYPE:
            _add_type(chunk, one)
        else:
            _add_value(chunk, one)
    included = (header_name(data[d.start : d.end]) for d in directives(text) if d.word == "include")
    imports = tuple(("", header[0], "") for header in included if header is not None)
    is_open = bool(declared) and not declared[-1].closed
    return Chunk(tuple(chunk.pieces), imports, open=is_open, texts=tuple(chunk.texts.items()))


@dataclass(slots=True)
class _Chunks:
    """What a chunk was seen to say so far."""

    text: Text
    pieces: list[Piece] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        role: Role,
        name: str,
        place: tuple[int, int],
        *,
        written: bytes | None = None,
        launches: frozenset[str] = frozenset(),
        entry: bool = False,
        marks: frozenset[str] = frozenset(),
    ) -> None:
        """Keep a piece with its text: that of its place, or what is `written` instead."""
        if not name:
            return
        data = self.text.data[slice(*place)] if written is None else written
        words = set(WORD_OF_BYTES.findall(self.text.masked[slice(*place)])) - _NOT_NAMES
        names = frozenset(word.decode() for word in words) - {name}
        key = digest(data)
        self.texts[key] = data.decode("utf-8", "replace")
        span = self.text.span(*place)
        comment = comment_above(self.text, place[0])
        lines = span.first_line, span.last_line
        self.pieces.append(Piece(role, name, *lines, key, names, launches, comment, entry, marks))


def _add_macro(chunk: _Chunks, macro: Macro) -> None:
    """A macro is a piece of device code; one whose body is a kernel is that kernel."""
    if not macro.body:
        return
    start = chunk.text.data.index(b"#", macro.start)
    body = re.sub(r"\s*##\s*", "", macro.body)
    kernel = _MACRO_KERNEL.search(body)
    if kernel is None:
        chunk.add(Role.DEVICE, macro.name, (start, macro.end))
    else:
        chunk.add(Role.KERNEL, kernel[1], (start, macro.end), written=body.encode(), entry=True)


def _add_value(chunk: _Chunks, declared: Declaration) -> None:
    """A constant, an alias or a variable of the device."""
    head = chunk.text.code[declared.start : declared.end - 1].replace(b"#", b" ")
    if len(head) > _LONGEST_VALUE or (_TAIL.search(head) and b"=" not in head):
        return  # a table of data, or a declaration of a function
    named = _VALUE.match(head)
    if named is not None:
        name = named["using"] or named["typedef"] or named["value"]
        chunk.add(Role.DEVICE, name.decode(), (declared.start, declared.end))


def _add_type(chunks: _Chunks, declared: Declaration) -> None:
    """A type is a piece of device code, by each of its names: those behind its body and of enumerators are some too."""
    place = declared.start, declared.end
    code = chunks.text.code[slice(*place)]
    opening = declared.head_end - declared.start
    named = [declared.name.encode()]
    if _ENUM.search(code, 0, opening):
        named += _ENUMERATOR.findall(code[opening:])
    if code.startswith(b"typedef"):
        named += WORD_OF_BYTES.findall(code[code.rfind(b"}") :])
    functor = b"DEVICE" in code.upper() and _DEVICE_CALL.search(code) is not None
    for name in dict.fromkeys(named):
        chunks.add(Role.DEVICE, name.decode(), place, entry=functor)


def _add_function(chunks: _Chunks, declared: Declaration) -> None:
    place = declared.start, declared.end
    masked = chunks.text.masked[slice(*place)]
    role, name, marks = _classify(chunks.text, declared)
    if role is not Role.HOST:
        chunks.add(role, name, place, entry=role is Role.KERNEL, marks=marks)
        return
    launches: set[bytes] = set(_FUNCTOR.findall(masked))
    may_launch = _LAUNCHES.search(masked) is not None
    if not marks and not launches and not may_launch:
        return  # what launches nothing is of no kernel
    launches.update(_LAUNCHED.findall(masked))
    if may_launch:
        launches.update(_FUNCTION_VALUE.findall(masked))
    for arguments in _LAUNCH_CALL.findall(masked):
        launches.update(WORD_OF_BYTES.findall(arguments))
    names = frozenset(n.decode() for n in launches)
    chunks.add(role, name, place, launches=names, marks=marks)


def _classify(text: Text, declared: Declaration) -> tuple[Role, str, frozenset[str]]:
    """What the head of a function makes it, its name, and the macros that may make it something else."""
    before = text.code[declared.start : declared.name_at[0]]
    head = text.code[declared.start : declared.head_end]
    if b"__global__" in head:
        return Role.KERNEL, declared.name, frozenset()
    if b"__device__" in head or b"constexpr" in before:
        return Role.DEVICE, declared.name, frozenset()
    marks = frozenset(m.decode() for m in _UPPER.findall(text.code, declared.start, declared.name_at[1]))
    if any("DEVICE" in m for m in marks):  # as libraries call it whose headers are elsewhere
        return Role.DEVICE, declared.name, marks
    first = WORD_OF_BYTES.search(text.code, *declared.parameters)
    if declared.name in marks and first and not before.strip():
        return Role.HOST, first[0].decode(), marks  # `DEFINE_KERNEL(name, …) {`
    return Role.HOST, declared.name, marks


CUDA = ChunkReader(
    relevant=lambda _: True,  # a header of constants can be what a kernel reaches
    cuts=_cuts,
    unclosed=lambda _: False,
    read=_read,
)
