"""What a kernel needs of the pieces of its file and headers, by the names that they declare and use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_lineage.kernels.cuda_outline import Declaration, What, skip_templates
from kernel_lineage.kernels.cuda_text import Directive, Text, closing_angle
from kernel_lineage.kernels.words import WORD_OF_BYTES

KEYWORDS = frozenset(
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
_SPECIALISED = re.compile(rb"\s*(?:struct|class)\s+(?:\w+\s*::\s*)*\w+\s*<")
_OF_LIBRARY = re.compile(rb"\b(?:at|c10|torch|std)\s*::\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A declaration or a directive of a file."""

    path: str
    text: Text
    start: int
    end: int
    declaration: Declaration | None = None
    directive: Directive | None = None
    words: frozenset[bytes] = field(default_factory=frozenset)


def given_by(pieces: Sequence[Piece]) -> set[bytes]:
    """The names that pieces declare for device code or define as macros."""
    macros = macros_of(pieces)
    of_the_device = device_marks(macros)
    declared = (_declared_names(p) for p in pieces if p.declaration and _eligible(p, of_the_device))
    return set(macros).union(*declared)


def macros_of(pieces: Iterable[Piece]) -> dict[bytes, set[bytes]]:
    """Macro → the words that it is defined with."""
    macros: dict[bytes, set[bytes]] = {}
    for piece in pieces:
        if piece.directive and piece.directive.word == "define":
            name = _defined_name(piece)
            macros.setdefault(name, set()).update(piece.words - {name})
    return macros


def device_marks(macros: Mapping[bytes, set[bytes]]) -> set[bytes]:
    """The words that mark what stands on the device: CUDA's own, and macros that come to `__device__`."""
    marks = {b"__device__"}
    while more := {name for name, words in macros.items() if name not in marks and words & marks}:
        marks |= more
    return marks | _ON_THE_DEVICE


def closure(
    pieces: Sequence[Piece], wanted: Sequence[Piece], names: Sequence[bytes]
) -> tuple[set[int], frozenset[bytes]]:
    """The pieces that the wanted ones need by name, and all names that are needed."""
    macros = macros_of(pieces)
    offered: dict[bytes, list[Piece]] = {}
    of_the_device = device_marks(macros)
    for piece in pieces:
        if piece.declaration and _eligible(piece, of_the_device):
            for name in _declared_names(piece):
                offered.setdefault(name, []).append(piece)
    chosen = {id(piece) for piece in wanted}
    waiting = [*names, *(word for piece in wanted for word in piece.words)]
    needed: set[bytes] = set()
    operators = [p for offers in offered.values() for p in offers if _is_operator(p)]
    postponed: list[Piece] = []
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
    opened = {b"cooperative_groups", b"nvcuda"}
    for piece in pieces:
        used = _USING_NAMESPACE.match(piece.text.code, piece.start) if piece.declaration else None
        if used and used.group(1) in needed | opened:
            chosen.add(id(piece))
            needed.add(used.group(1))
        if id(piece) in chosen and piece.declaration is not None and piece.declaration.namespace:
            outer = piece.declaration.namespace.encode().split(b"::")
            opened |= {b"::".join(outer[at:end]) for end in range(1, len(outer) + 1) for at in range(end)}
    return chosen, frozenset(needed)


def _of_libraries(piece: Piece) -> set[bytes]:
    """The types of libraries that a template is specialised for: `Tensor` of `struct shown<at::Tensor>`."""
    declaration = piece.declaration
    if declaration is None or declaration.what is not What.TYPE:
        return set()
    code = piece.text.code
    start = skip_templates(code, piece.start)
    named = _SPECIALISED.match(code, start, declaration.head_end) if start > piece.start else None
    end = closing_angle(code, named.end() - 1, declaration.head_end) if named else None
    return set(_OF_LIBRARY.findall(code, named.end(), end)) if named and end is not None else set()


def _is_operator(piece: Piece) -> bool:
    return piece.declaration is not None and piece.declaration.name.startswith("operator")


def _taken(piece: Piece) -> set[bytes]:
    """The words of a function's parameters."""
    declaration = piece.declaration
    if declaration is None:
        return set()
    return set(WORD_OF_BYTES.findall(piece.text.masked, *declaration.parameters)) - KEYWORDS


def _defined_name(piece: Piece) -> bytes:
    words = WORD_OF_BYTES.findall(piece.text.masked, piece.start, piece.end)
    return words[1] if len(words) > 1 else b""


def _eligible(piece: Piece, of_the_device: Iterable[bytes]) -> bool:
    """Whether a declaration can stand in device code."""
    declaration = piece.declaration
    if declaration is None:
        return False
    code = piece.text.code[piece.start : declaration.head_end]
    head = set(WORD_OF_BYTES.findall(code))
    if declaration.what is What.TYPE:
        return True
    if declaration.what is What.FUNCTION:
        before_name = set(WORD_OF_BYTES.findall(piece.text.code, piece.start, declaration.name_at[0]))
        return not before_name.isdisjoint(of_the_device) and b"__global__" not in before_name
    if b"__global__" in head:
        return False
    first = code[skip_templates(code, 0) :].split(b"=", 1)[0].split(b"(", 1)[0]
    starts = set(WORD_OF_BYTES.findall(first))
    if not starts.isdisjoint(of_the_device) or not starts.isdisjoint(_NAMES_A_TYPE):
        return True
    return starts >= {b"namespace"} or bool(_CONSTANT.match(code))


def _declared_names(piece: Piece) -> set[bytes]:
    declaration = piece.declaration
    if declaration is None:
        return set()
    names = {declaration.name.encode()}
    code = piece.text.code[piece.start : piece.end]
    if declaration.what is What.TYPE and re.match(rb"\s*typedef\b", code):
        names |= set(
            WORD_OF_BYTES.findall(code[code.rfind(b"}") :])
        )  # what a structure, often of no name, is called after it
    if declaration.what is What.TYPE and re.search(rb"\benum\b", code[: declaration.head_end - piece.start]):
        names |= set(WORD_OF_BYTES.findall(piece.text.code, declaration.head_end, declaration.end))
    elif declaration.what is What.FUNCTION:
        of_class = _class_of_member(piece.text.code[piece.start : declaration.name_at[0]])
        names = {of_class} if of_class else names
    elif declaration.what is What.OTHER and re.match(rb"\s*typedef\b", code):
        names = set(WORD_OF_BYTES.findall(code)[-1:])
    elif declaration.what is What.OTHER:
        names |= {
            m.group(1) for m in re.finditer(rb"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:=(?!=)|[,;(])", code)
        }
    return names - KEYWORDS


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


def host_functions(pieces: Sequence[Piece], on_device: set[bytes]) -> set[bytes]:
    """The functions that nothing declares for device code."""
    functions = [p for p in pieces if p.declaration and p.declaration.what is What.FUNCTION]
    hosts = {p.declaration.name.encode() for p in functions if p.declaration and not _eligible(p, on_device)}
    namesakes = (p for p in pieces if p.declaration and not p.words.isdisjoint(hosts))
    return hosts.difference(*(_declared_names(p) for p in namesakes if _eligible(p, on_device)))
