"""Slices: the smallest device code of a file that holds one kernel and compiles without a host compiler.

A slice keeps what the kernel's names lead to (device functions, types, constants, aliases) in the order of the file,
with every macro and conditional, so that the preprocessor decides as it does in the whole file. Project headers are
read through the caller and put where they were included; host code and host headers go.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_lineage.kernels.cuda_outline import Declaration, What, outline, skip_templates
from kernel_lineage.kernels.cuda_text import Directive, Text, closing_angle, directives, text_of
from kernel_lineage.kernels.device_headers import (
    gives_one_of,
    header_name,
    is_hosts,
    is_toolkit,
    is_torch,
    stand_ins,
)
from kernel_lineage.kernels.host_functions import without_host_functions, without_members
from kernel_lineage.kernels.source import Language, Problem, SourceFile

_WORD = re.compile(rb"[A-Za-z_]\w*")
_KEYWORDS = frozenset(
    b"alignas auto bool break case char class const constexpr continue default delete do double else enum explicit"
    b" extern false float for friend if inline int long namespace new nullptr operator private protected public return"
    b" short signed sizeof static static_assert static_cast reinterpret_cast struct switch template this true typedef"
    b" typename union unsigned using virtual void volatile while __device__ __global__ __host__ __shared__ __constant__"
    b" __forceinline__ __restrict__ __launch_bounds__ __align__ __noinline__".split()
)
_ON_THE_DEVICE = frozenset({b"__device__", b"__constant__", b"__shared__", b"__managed__", b"constexpr"})
_NAMES_A_TYPE = frozenset({b"typedef", b"using", b"struct", b"class", b"enum", b"union", b"concept"})
_CONSTANT = re.compile(
    rb"\s*(?:static\s+|inline\s+)*const\s+(?:unsigned\s+|signed\s+|long\s+|short\s+)*\w*\s*\w+\s*="
)
_USING_NAMESPACE = re.compile(rb"using\s+namespace\s+([\w:]+)")
_STANDARD_NAME = re.compile(rb"\bstd\s*::\s*([A-Za-z_]\w*)")
_SPECIALISED = re.compile(rb"\s*(?:struct|class)\s+(?:\w+\s*::\s*)*\w+\s*<")
_OF_LIBRARY = re.compile(rb"\b(?:at|c10|torch|std)\s*::\s*(\w+)")
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
    line_map: tuple[tuple[str, int] | None, ...]
    """For each line of `text`, the file and line that it was; None for a line that the slice added."""
    problems: tuple[Problem, ...] = ()
    declarations: tuple[str, ...] = ()
    """Names of what the kernel needs, in order."""
    lacking: tuple[str, ...] = ()
    """A header of each library that nobody has and that the kernel names, as `glm` of `glm/glm.hpp`."""


@dataclass(frozen=True, slots=True)
class _Piece:
    path: str
    text: Text
    start: int
    end: int
    declaration: Declaration | None = None
    directive: Directive | None = None
    words: frozenset[bytes] = field(default_factory=frozenset)


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
            "", (), (Problem("only CUDA C++ is sliced; a Triton kernel is compiled by its own module"),)
        )
    seen = {path}
    pieces = list(_pieces(source.data, path, resolve, seen, problems))
    functions = [p for p in pieces if p.declaration and p.declaration.what is What.FUNCTION]
    wanted = []
    for name in (kernel,) if isinstance(kernel, str) else kernel:
        found = [p for p in functions if _is_kernel(p, name)]
        if not found:
            problems.append(Problem(f"{path} holds no kernel named `{name}`"))
            return DeviceSlice("", (), tuple(problems))
        wanted += found
    also = [word for name in names for word in _WORD.findall(name.encode())]
    chosen, needed = _closure(pieces, wanted, also)
    if earlier := list(_of_earlier(before, needed - _given(pieces), resolve, seen)):
        pieces = [*earlier, *pieces]
        chosen, needed = _closure(pieces, wanted, also)
    lines, line_map = _written(pieces, chosen, needed, before)
    names = tuple(dict.fromkeys(p.declaration.name for p in pieces if id(p) in chosen and p.declaration))
    return DeviceSlice(
        "\n".join(lines) + "\n", tuple(line_map), tuple(problems), names, _lacking(pieces, needed)
    )


def _pieces(
    data: bytes, path: str, resolve: Resolve, seen: set[str], problems: list[Problem]
) -> Iterator[_Piece]:
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
            words = frozenset(_WORD.findall(text.masked, start, mark.end)) - _KEYWORDS
            yield _Piece(path, text, start, mark.end, declaration=mark, words=words)
        elif mark.word == "include":
            yield from _included(text, mark, path, resolve, seen, problems)
        elif mark.word in _KEPT_DIRECTIVES and b"once" not in data[mark.start : mark.end]:
            words = frozenset(_WORD.findall(text.masked, mark.start, mark.end))
            yield _Piece(path, text, start, mark.end, directive=mark, words=words)


def _included(
    text: Text, mark: Directive, path: str, resolve: Resolve, seen: set[str], problems: list[Problem]
) -> Iterator[_Piece]:
    named = header_name(text.data[mark.start : mark.end])
    if named is None:
        return
    name, quoted = named
    if is_toolkit(name):
        yield _Piece(path, text, mark.start, mark.end, directive=mark)
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
    yield _Piece(path, text, mark.start, mark.end, directive=mark)
    if quoted and not is_hosts(name) and not is_torch(name):
        where = text.span(mark.start, mark.end) if len(seen) == 1 else None
        problems.append(
            Problem(f"{path} includes `{name}`, which was not found; what it declares is missing", where)
        )


def _of_earlier(
    headers: Sequence[str], lacking: frozenset[bytes], resolve: Resolve, seen: set[str]
) -> Iterator[_Piece]:
    """The pieces of those headers that give something of what is lacking."""
    for header in headers:
        data = resolve(header) if header not in seen else None
        if data is None:
            continue
        seen.add(header)
        pieces = list(_pieces(data, header, resolve, seen, []))
        if not _given(pieces).isdisjoint(lacking):
            yield from pieces


def _given(pieces: Sequence[_Piece]) -> set[bytes]:
    """The names that pieces declare for device code or define as macros."""
    macros = _macros(pieces)
    of_the_device = _on_the_device(macros)
    declared = (_declared_names(p) for p in pieces if p.declaration and _eligible(p, of_the_device))
    return set(macros).union(*declared)


def _macros(pieces: Iterable[_Piece]) -> dict[bytes, set[bytes]]:
    """Macro → the words that it is defined with."""
    found: dict[bytes, set[bytes]] = {}
    for piece in pieces:
        if piece.directive and piece.directive.word == "define":
            name = _defined_name(piece)
            found.setdefault(name, set()).update(piece.words - {name})
    return found


def _on_the_device(macros: Mapping[bytes, set[bytes]]) -> set[bytes]:
    """The words that mark what stands on the device: CUDA's own, and macros that come to `__device__`."""
    found = {b"__device__"}
    while more := {name for name, words in macros.items() if name not in found and words & found}:
        found |= more
    return found | _ON_THE_DEVICE


def _lacking(pieces: Sequence[_Piece], needed: frozenset[bytes]) -> tuple[str, ...]:
    headers = dict.fromkeys(_header_of(piece) for piece in pieces if _is_include(piece))
    others = [h for h in headers if not (is_toolkit(h) or is_torch(h) or is_hosts(h))]
    libraries = {re.split(r"[/.]", h)[0]: h for h in reversed(others)}
    return tuple(h for library, h in libraries.items() if library.encode() in needed)


def _is_kernel(piece: _Piece, kernel: str) -> bool:
    declaration = piece.declaration
    if declaration is None or declaration.name != kernel or not declaration.defined:
        return False
    head = set(_WORD.findall(piece.text.code, declaration.start, declaration.name_at[0]))
    return not head.isdisjoint({b"__global__", *_words_for(piece.text, "__global__")})


def _words_for(text: Text, qualifier: str) -> set[bytes]:
    return {m.name.encode() for m in text.macros if m.parameters is None and qualifier in m.body}


def _closure(
    pieces: Sequence[_Piece], wanted: Sequence[_Piece], names: Sequence[bytes]
) -> tuple[set[int], frozenset[bytes]]:
    """The pieces that the wanted ones need by name, and all names that are needed."""
    macros = _macros(pieces)
    offered: dict[bytes, list[_Piece]] = {}
    of_the_device = _on_the_device(macros)
    for piece in pieces:
        if piece.declaration and _eligible(piece, of_the_device):
            for name in _declared_names(piece):
                offered.setdefault(name, []).append(piece)
    chosen = {id(piece) for piece in wanted}
    waiting = [*names, *(word for piece in wanted for word in piece.words)]
    needed: set[bytes] = set()
    operators = [p for offers in offered.values() for p in offers if _is_operator(p)]
    postponed: list[_Piece] = []
    while waiting:
        word = waiting.pop()
        offers = offered.get(word, ()) if word not in needed else ()
        waiting.extend(macros.get(word, ()) if word not in needed else ())
        needed.add(word)
        for piece in offers:
            if id(piece) in chosen:
                continue
            if _of_libraries(piece) <= needed:
                chosen.add(id(piece))
                waiting.extend(piece.words)
            else:
                postponed.append(piece)
        if waiting:
            continue
        # What a library's type has of a template is needed when that type is: most are the host's.
        for piece in postponed:
            if id(piece) not in chosen and _of_libraries(piece) <= needed:
                chosen.add(id(piece))
                waiting.extend(piece.words)
        # Nothing names an operator: one is needed when a type that it takes is.
        for piece in operators:
            if id(piece) not in chosen and not needed.isdisjoint(_taken(piece)):
                chosen.add(id(piece))
                waiting.extend(piece.words)
    for piece in pieces:
        used = _USING_NAMESPACE.match(piece.text.code, piece.start) if piece.declaration else None
        if used and (used.group(1) in needed or used.group(1) in (b"cooperative_groups", b"nvcuda")):
            chosen.add(id(piece))
            needed.add(used.group(1))
    return chosen, frozenset(needed)


def _of_libraries(piece: _Piece) -> set[bytes]:
    """The types of libraries that a template is specialised for: `Tensor` of `struct shown<at::Tensor>`."""
    declaration = piece.declaration
    if declaration is None or declaration.what is not What.TYPE:
        return set()
    code = piece.text.code
    start = skip_templates(code, piece.start)
    named = _SPECIALISED.match(code, start, declaration.head_end) if start > piece.start else None
    end = closing_angle(code, named.end() - 1, declaration.head_end) if named else None
    return set(_OF_LIBRARY.findall(code, named.end(), end)) if named and end is not None else set()


def _is_operator(piece: _Piece) -> bool:
    return piece.declaration is not None and piece.declaration.name.startswith("operator")


def _taken(piece: _Piece) -> set[bytes]:
    """The words of a function's parameters."""
    declaration = piece.declaration
    if declaration is None:
        return set()
    return set(_WORD.findall(piece.text.masked, *declaration.parameters)) - _KEYWORDS


def _defined_name(piece: _Piece) -> bytes:
    words = _WORD.findall(piece.text.masked, piece.start, piece.end)
    return words[1] if len(words) > 1 else b""


def _eligible(piece: _Piece, of_the_device: Iterable[bytes]) -> bool:
    """Whether a declaration can stand in device code."""
    declaration = piece.declaration
    if declaration is None:
        return False
    code = piece.text.code[piece.start : declaration.head_end]
    head = set(_WORD.findall(code))
    if declaration.what is What.TYPE:
        return True
    if declaration.what is What.FUNCTION:
        before_name = set(_WORD.findall(piece.text.code, piece.start, declaration.name_at[0]))
        return not before_name.isdisjoint(of_the_device) and b"__global__" not in before_name
    if b"__global__" in head:
        return False
    first = code[skip_templates(code, 0) :].split(b"=", 1)[0].split(b"(", 1)[0]
    starts = set(_WORD.findall(first))
    if not starts.isdisjoint(of_the_device) or not starts.isdisjoint(_NAMES_A_TYPE):
        return True
    return starts >= {b"namespace"} or bool(_CONSTANT.match(code))


def _declared_names(piece: _Piece) -> set[bytes]:
    declaration = piece.declaration
    if declaration is None:
        return set()
    names = {declaration.name.encode()}
    code = piece.text.code[piece.start : piece.end]
    if declaration.what is What.TYPE and re.match(rb"\s*typedef\b", code):
        names |= set(
            _WORD.findall(code[code.rfind(b"}") :])
        )  # what a structure, often of no name, is called after it
    if declaration.what is What.TYPE and re.search(rb"\benum\b", code[: declaration.head_end - piece.start]):
        names |= set(_WORD.findall(piece.text.code, declaration.head_end, declaration.end))
    elif declaration.what is What.FUNCTION:
        of_class = _class_of_member(piece.text.code[piece.start : declaration.name_at[0]])
        names = {of_class} if of_class else names
    elif declaration.what is What.OTHER and re.match(rb"\s*typedef\b", code):
        names = set(_WORD.findall(code)[-1:])
    elif declaration.what is What.OTHER:
        names |= {
            m.group(1) for m in re.finditer(rb"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:=(?!=)|[,;(])", code)
        }
    return names - _KEYWORDS


def _class_of_member(head: bytes) -> bytes:
    """The class of a member that is defined outside of it, by what stands before its name; empty for a function."""
    head = head.rstrip(b"~ \t\r\n")
    if not head.endswith(b"::"):
        return b""
    head = head[:-2].rstrip()
    depth = 0
    for place in range(len(head) - 1, -1, -1):
        depth += (head[place] == ord(">")) - (head[place] == ord("<"))
        if depth == 0:
            head = head[:place] if head.endswith(b">") else head
            break
    word = re.search(rb"(\w+)\s*\Z", head)
    return word[1] if word is not None else b""


def _written(
    pieces: Sequence[_Piece], chosen: set[int], needed: frozenset[bytes], before: Sequence[str]
) -> tuple[list[str], list[tuple[str, int] | None]]:
    lines: list[str] = []
    line_map: list[tuple[str, int] | None] = []
    names = [word.decode() for word in needed]
    following: tuple[str, int] | None = None
    on_device = _on_the_device(_macros(pieces))
    of_the_host = _of_the_host(pieces, on_device)
    lines.extend(_stand_ins(pieces, chosen, names, before))
    line_map.extend(None for _ in lines)
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
        line_map.extend(None for _ in opened)
        if following != (piece.path, first) or opened:
            quoted = piece.path.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'#line {first} "{quoted}"')
            line_map.append(None)
        data = _without_members(piece, of_the_host, on_device)[start : piece.end]
        written = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        lines.extend(written)
        line_map.extend((piece.path, first + index) for index in range(len(written)))
        following = (piece.path, first + len(written))
        if opened:
            lines.append("}" * len(opened))
            line_map.append(None)
            following = None
    return lines, line_map


def _of_the_host(pieces: Sequence[_Piece], on_device: set[bytes]) -> set[bytes]:
    """The functions that nothing declares for device code."""
    functions = [p for p in pieces if p.declaration and p.declaration.what is What.FUNCTION]
    hosts = {p.declaration.name.encode() for p in functions if p.declaration and not _eligible(p, on_device)}
    others = (_declared_names(p) for p in pieces if p.declaration and _eligible(p, on_device))
    return hosts.difference(*others)


def _without_members(piece: _Piece, of_the_host: set[bytes], on_device: set[bytes]) -> bytes:
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
    pieces: Sequence[_Piece], chosen: set[int], names: Sequence[str], before: Sequence[str]
) -> Iterator[str]:
    headers = [*before, *(_header_of(p) for p in pieces if _is_include(p))]
    members = {
        match.group(1).decode()
        for piece in pieces
        if id(piece) in chosen or piece.directive is not None
        for match in _STANDARD_NAME.finditer(piece.text.masked, piece.start, piece.end)
    }
    return stand_ins(headers, names, members)


def _is_include(piece: _Piece) -> bool:
    return piece.directive is not None and piece.directive.word == "include"


def _header_of(piece: _Piece) -> str:
    named = header_name(piece.text.data[piece.start : piece.end])
    return named[0] if named else ""
