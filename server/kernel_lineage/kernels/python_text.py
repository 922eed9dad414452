"""Python source as one module of statements with their places, broken files too.

A file that does not parse is cut at the lines that begin a top-level statement, and each piece is parsed by itself: an
unclosed bracket then costs one function, not the file.
"""

from __future__ import annotations

import ast
import gc
import re
import warnings
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from kernel_lineage.kernels.source import Problem, Span

_BEGINS = re.compile(
    rb"^(?:@|def\b|class\b|async\b|import\b|from\b|if\b|for\b|with\b|try\b|while\b|[A-Za-z_][\w.]*\s*[=(\[:])",
    re.MULTILINE,
)
_JOINS = re.compile(rb"^(?:else|elif|except|finally)\b")


@dataclass(frozen=True, slots=True)
class BrokenPiece:
    """A top-level statement that does not parse."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Module:
    """The statements of a file; line numbers and columns are the file's."""

    data: bytes
    tree: ast.Module
    line_starts: tuple[int, ...]
    broken: tuple[BrokenPiece, ...] = ()
    problems: tuple[Problem, ...] = field(default=())

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a 1-based line and a column in bytes, as `ast` counts them."""
        if line > len(self.line_starts):
            return len(self.data)
        return min(self.line_starts[line - 1] + column, len(self.data))

    def range(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> tuple[int, int]:
        """The bytes of a node."""
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.offset(node.lineno, node.col_offset), end

    def span(self, start: int, end: int) -> Span:
        """The span of a range of bytes."""
        lines = self.line_starts
        return Span(start, end, bisect_right(lines, start), bisect_right(lines, max(start, end - 1)))

    def read(self, start: int, end: int) -> str:
        """The file's own text of a range."""
        return self.data[start:end].decode("utf-8", "replace")

    def written(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> str:
        """A node as written, on one line."""
        return " ".join(self.read(*self.range(node)).split())


def module_lines(data: bytes, tree: ast.Module) -> Module:
    """A parsed file again, for the places of its nodes."""
    return Module(data, tree, _line_starts(data))


def _line_starts(data: bytes) -> tuple[int, ...]:
    return (0, *(m.end() for m in re.finditer(rb"\r\n|\n|\r", data)))


def module_of(data: bytes) -> Module:
    """The module of a file. Never raises on content."""
    # `ast` counts columns in the bytes of UTF-8 text; a replaced byte must not move the ones after it.
    problems: list[Problem] = []
    readable = data
    try:
        data.decode()
    except UnicodeDecodeError as error:
        problems.append(Problem(f"not UTF-8 at byte {error.start}; the bytes there are read as `?`"))
        readable = re.sub(rb"[\x80-\xff]", b"?", data)
    if readable.startswith(b"\xef\xbb\xbf"):
        readable = b"   " + readable[3:]
    readable = readable.replace(b"\f", b" ")
    starts = _line_starts(data)
    tree = _parsed(
        readable.lstrip(b" ") if readable.startswith(b"   ") and not data.startswith(b" ") else readable
    )
    if isinstance(tree, ast.Module):
        return Module(data, tree, starts, (), tuple(problems))
    whole = ast.Module(body=[], type_ignores=[])
    broken: list[BrokenPiece] = []
    cuts = _cuts(readable)
    for start, end in pairwise(cuts):
        if not readable[start:end].strip():
            continue
        line = bisect_right(starts, start)
        piece = _parsed(readable[start:end])
        if isinstance(piece, ast.Module):
            ast.increment_lineno(piece, line - 1)
            whole.body.extend(piece.body)
        else:
            broken.append(BrokenPiece(start, end))
            last = bisect_right(starts, max(start, end - 1))
            problems.append(Problem(f"does not parse: {piece}", Span(start, end, line, last)))
    return Module(data, whole, starts, tuple(broken), tuple(problems))


def tree_of(data: bytes) -> ast.Module:
    """The tree of a Python text. Raises as `ast.parse` does.

    All that parsing makes stays: to look for garbage among it again and again takes longer than to make it.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings are not ours to report
            return ast.parse(data)
    finally:
        if collects:
            gc.enable()


def _parsed(data: bytes) -> ast.Module | str:
    try:
        return tree_of(data)
    except SyntaxError as error:
        return error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        # null bytes; nesting beyond the parser's stack
        return str(error) or "nested too deeply"


def _cuts(data: bytes) -> list[int]:
    cuts = [0]
    decorated = False
    for match in _BEGINS.finditer(data):
        line = data[match.start() : data.find(b"\n", match.start()) % (len(data) + 1)]
        if not decorated and not _JOINS.match(line):
            cuts.append(match.start())
        decorated = line.startswith(b"@") or (decorated and not line.startswith((b"def", b"class", b"async")))
    return [*sorted(set(cuts)), len(data)]


def names_in(node: ast.AST) -> set[str]:
    """The names that stand in some code."""
    return set(names_in_order(node))


def names_in_order(node: ast.AST) -> list[str]:
    """The same, as often as they stand there; those that are nested less come first."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
