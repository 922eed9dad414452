"""CUDA C++ as text: comments and directives blanked at their place, brackets matched, arguments split.

The tree of tree-sitter loses its footing where macros stand at the level of declarations; bracket structure does not.
So extents are found here, on text of the same length as the file, and trees are used inside of them.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from kernel_lineage.kernels.source import Span

_COMMENT_OR_LITERAL = re.compile(
    rb"//(?:[^\\\n]|\\.)*"
    rb"|/\*.*?(?:\*/|\Z)"
    rb'|R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)'
    rb'|"(?:[^"\\\n]|\\.)*"'
    rb"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([A-Za-z]*)((?:[^\\\n]|\\\r?\n|\\.)*)", re.MULTILINE)
_DEFINE = re.compile(rb"[ \t]*([A-Za-z_]\w*)(\([^()]*\))?(.*)", re.DOTALL)
_BLANK = bytes(b if b in b"\n\r" else 0x20 for b in range(256))
_OPEN = {ord("("): ord(")"), ord("["): ord("]"), ord("{"): ord("}")}
_BRACKET = re.compile(rb"[()\[\]{}]")
_ARGUMENT_TOKEN = re.compile(rb"[()\[\]{},<>]|->|<=|>=|<<<?=?|&&|\|\|")
_WORD = re.compile(rb"\w")
_CONDITIONALS = frozenset({b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"})


@dataclass(frozen=True, slots=True)
class Macro:
    """One `#define` as it stands in the file."""

    name: str
    parameters: tuple[str, ...] | None
    """None for a macro without parentheses. A variadic tail is written `...`."""
    body: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Text:
    """A file in three layers of one length, so that an offset means the same place in each."""

    data: bytes
    masked: bytes
    """Comments and literals are blanks."""
    code: bytes
    """Directives are blanks too, but for the `#` of a conditional."""
    macros: tuple[Macro, ...]
    conditionals: dict[int, bytes] = field(hash=False)
    """Offset of the `#` in `code` → `if`, `else`, … ."""
    line_starts: tuple[int, ...]

    def span(self, start: int, end: int) -> Span:
        """The span of a range of bytes."""
        lines = self.line_starts
        return Span(start, end, bisect_right(lines, start), bisect_right(lines, max(start, end - 1)))

    def lines(self, start: int, end: int) -> list[tuple[int, int]]:
        """The ranges of the lines that begin in [start, end), line ends included."""
        first, last = bisect_left(self.line_starts, start), bisect_left(self.line_starts, end)
        bounds = [*self.line_starts[first:last], *(self.line_starts[last : last + 1] or (len(self.data),))]
        return list(pairwise(bounds))

    def read(self, start: int, end: int) -> str:
        """The file's own text of a range."""
        return self.data[start:end].decode("utf-8", "replace")


def blank_literals(data: bytes) -> bytes:
    """Text of the same length with comments and literals blank."""
    return _COMMENT_OR_LITERAL.sub(blank, data)


def blank(match: re.Match[bytes]) -> bytes:
    """The match as blanks, line ends kept."""
    return match.group().translate(_BLANK)


@dataclass(frozen=True, slots=True)
class Directive:
    """One preprocessor directive, continued lines included."""

    word: str
    start: int
    end: int


def directives(text: Text) -> tuple[Directive, ...]:
    """The directives of a file, in order."""
    return tuple(Directive(m.group(1).decode(), m.start(), m.end()) for m in _DIRECTIVE.finditer(text.masked))


@lru_cache(maxsize=8)
def text_of(data: bytes) -> Text:
    """The layers of a file."""
    if data.startswith(codecs.BOM_UTF8):
        data = b" " * len(codecs.BOM_UTF8) + data[len(codecs.BOM_UTF8) :]
    masked = blank_literals(data)
    macros: list[Macro] = []
    conditionals: dict[int, bytes] = {}

    def directive(match: re.Match[bytes]) -> bytes:
        blanks = blank(match)
        word = match.group(1)
        if word == b"define":
            macro = _macro(match, data)
            if macro:
                macros.append(macro)
        elif word in _CONDITIONALS:
            place = match.start() + match.group().index(b"#")
            conditionals[place] = (
                b"if" if word.startswith(b"if") else b"else" if word.startswith(b"el") else word
            )
            at = place - match.start()
            return blanks[:at] + b"#" + blanks[at + 1 :]
        return blanks

    code = _DIRECTIVE.sub(directive, masked) if b"#" in masked else masked
    starts = [0, *(m.end() for m in re.finditer(rb"\n", data))]
    return Text(data, masked, code, tuple(macros), conditionals, tuple(starts))


def _macro(match: re.Match[bytes], data: bytes) -> Macro | None:
    define = _DEFINE.match(match.group(2))
    if not define:
        return None
    parameters = None
    if define.group(2) is not None:
        words = define.group(2)[1:-1].replace(b"\\", b" ").split(b",")
        parameters = tuple(w.strip().decode("utf-8", "replace") for w in words if w.strip())
    start = match.start(2) + define.start(3)
    # Literals are blank in the mask, so the body is read from the file; comments are cut off again.
    body = _COMMENT_OR_LITERAL.sub(
        lambda m: b" " if m.group().startswith((b"//", b"/*")) else m.group(), data[start : match.end()]
    )
    written = re.sub(rb"\\\r?\n", b"\n", body).strip().decode("utf-8", "replace")
    return Macro(define.group(1).decode(), parameters, written, match.start(), match.end())


def closing(code: bytes, opening: int, limit: int | None = None) -> int | None:
    """The offset of the bracket that closes the one at `opening`, or None when nothing does."""
    stack: list[int] = []
    for match in _BRACKET.finditer(code, opening, len(code) if limit is None else limit):
        bracket = code[match.start()]
        if bracket in _OPEN:
            stack.append(_OPEN[bracket])
        elif not stack or stack.pop() != bracket:
            return None
        if not stack:
            return match.start()
    return None


def closing_angle(code: bytes, opening: int, limit: int | None = None) -> int | None:
    """The offset of the `>` that closes the `<` at `opening` as template brackets, or None when it is a comparison."""
    depth = 0
    position, stop = opening, len(code) if limit is None else limit
    while position < stop:
        character = code[position : position + 1]
        if character in (b"(", b"[", b"{"):
            end = closing(code, position, stop)
            if end is None:
                return None
            position = end
        elif character == b"<":
            depth += 1
        elif character == b">" and code[position - 1 : position] != b"-":
            depth -= 1
            if depth == 0:
                return position
        elif character in (b";", b")", b"]", b"}") or code[position : position + 2] in (b"&&", b"||"):
            return None
        position += 1
    return None


def split(code: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The ranges between the top-level commas of [start, end); those in brackets or template brackets do not count."""
    parts: list[tuple[int, int]] = []
    position, first = start, start
    while match := _ARGUMENT_TOKEN.search(code, position, end):
        token, position = match.group(), match.end()
        if token == b",":
            parts.append((first, match.start()))
            first = position
        elif token in (b"(", b"[", b"{"):
            close = closing(code, match.start(), end)
            position = end if close is None else close + 1
        elif token == b"<" and match.start() > start and _WORD.match(code, match.start() - 1):
            close = closing_angle(code, match.start(), end)
            position = position if close is None else close + 1
    parts.append((first, end))
    return parts


def trim(code: bytes, start: int, end: int) -> tuple[int, int]:
    """The range without blanks at its ends."""
    part = code[start:end].lstrip()
    start = end - len(part)
    return start, start + len(part.rstrip())


@lru_cache(maxsize=8192)
def arguments(text: str) -> tuple[str, ...]:
    """The top-level arguments of a written list, without its brackets; () of an empty one."""
    raw = text.encode()
    if not raw.strip():
        return ()
    masked = blank_literals(raw)
    return tuple(one_line(raw[a:b]) for a, b in split(masked, 0, len(raw)))


def at_commas(text: str) -> tuple[str, ...]:
    """The parts of a list of types and numbers alone, in which every angle is a bracket; empty ones are left out."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return tuple(part.strip() for part in (*parts, text[start:]) if part.strip())


def one_line(raw: bytes) -> str:
    """Text without comments, on one line."""
    bare = raw
    if b"/" in raw:
        bare = _COMMENT_OR_LITERAL.sub(
            lambda m: b" " if m.group().startswith((b"//", b"/*")) else m.group(), raw
        )
    return " ".join(bare.decode("utf-8", "replace").split())
