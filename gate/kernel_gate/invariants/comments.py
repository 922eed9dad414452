"""Where a source says `klineage:` in a comment, and which kernel and which code each such comment belongs to."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kernel_gate.cuda_text import TOKEN, blank, code_alone

_STATEMENT = re.compile(r"(?://|\#)\s*klineage:\s*(.*?)\s*$")
_IN_A_BLOCK = re.compile(r"/\*[\s*]*klineage:")
_LINE_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"[^"]*")?[ \t]*\r?$')
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NAME_BEFORE = re.compile(r"([A-Za-z_]\w*)\s*$")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment that states an invariant."""

    text: str
    """Without the mark and `klineage:`."""
    start: int
    """Where the comment begins in the source, in characters."""
    end: int
    line: int
    """1-based, in the source as it stands."""
    code_lines: tuple[int, int]
    """First and last line of the code that it speaks of."""
    owner: str | None
    """The kernel in whose body it stands."""


def states_any(source: str) -> bool:
    """Whether a source may state invariants: a look that costs nothing."""
    return "klineage:" in source


def comments(source: str, language: Literal["cuda", "triton"]) -> list[Comment]:
    """Every statement of a source, in order. Text that is no Python has none."""
    return list(_of_cuda(source) if language == "cuda" else _of_python(source))


def in_blocks(source: str) -> list[int]:
    """Lines on which a block comment of CUDA C++ begins with `klineage:`, which states nothing."""
    return [
        source.count("\n", 0, token.start()) + 1
        for token in TOKEN.finditer(source)
        if _IN_A_BLOCK.match(token[0])
    ]


def presumed_lines(source: str, language: Literal["cuda", "triton"], first: int = 1) -> list[int]:
    """For each line of a source, counted from 0, the line of the user's file; `first`: that of its first line."""
    presumed, following = [], first
    for line in source.split("\n"):
        presumed.append(following)
        directive = _LINE_DIRECTIVE.match(line) if language == "cuda" else None
        following = int(directive[1]) if directive else following + 1
    return presumed


def _of_cuda(source: str) -> Iterator[Comment]:
    code = _DIRECTIVE.sub(blank, code_alone(source))
    lines = code.split("\n")
    bodies = list(_kernel_bodies(code))
    for token in TOKEN.finditer(source):
        statement = _STATEMENT.match(token[0]) if token[0].startswith("//") else None
        if statement is None:
            continue
        line = source.count("\n", 0, token.start()) + 1
        codes = (n for n in range(line, len(lines) + 1) if lines[n - 1].strip())
        lines_of_it = _statement_lines(code, lines, next(codes, line))
        owner = next((name for name, start, end in bodies if start <= token.start() < end), None)
        yield Comment(statement[1], token.start(), token.end(), line, lines_of_it, owner)


def _statement_lines(code: str, lines: list[str], line: int) -> tuple[int, int]:
    """First and last line of what a line of code is part of: compilers give inline PTX the line of its last operand."""
    start = sum(len(text) + 1 for text in lines[: line - 1])
    own = lines[line - 1]
    first = start + len(own) - len(own.lstrip())
    last = start + len(own.rstrip()) - 1
    before = max(code.rfind(character, 0, first) for character in ";{}") + 1
    begin = before + len(code[before:]) - len(code[before:].lstrip())
    ends = [at for character in ";{}" if (at := code.find(character, last)) >= 0]
    end = min(ends, default=last)
    return min(code.count("\n", 0, begin) + 1, line), code.count("\n", 0, end) + 1


def _kernel_bodies(code: str) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of the body of every `__global__` function of a text without comments and literals."""
    for mark in re.finditer(r"\b__global__\b", code):
        opening = _next_outside(code, mark.end(), "{;")
        if opening is None or code[opening] == ";":
            continue
        last = code.rfind(")", mark.end(), opening)
        first = _matching_open(code, last)
        name = None if first is None else _NAME_BEFORE.search(code, mark.end(), first)
        end = _next_outside(code, opening + 1, "}")
        if name is not None:
            yield name[1], opening, len(code) if end is None else end


def _next_outside(code: str, start: int, wanted: str) -> int | None:
    """The next of these characters that stands in no bracket opened after `start`."""
    depth = 0
    for position in range(start, len(code)):
        character = code[position]
        if depth == 0 and character in wanted:
            return position
        depth += (character in "({[") - (character in ")}]")
    return None


def _matching_open(code: str, closing: int) -> int | None:
    depth = 0
    for position in range(closing, -1, -1):
        depth += (code[position] == ")") - (code[position] == "(")
        if depth == 0:
            return position
    return None


def _of_python(source: str) -> Iterator[Comment]:
    try:
        tree = ast.parse(source)
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    statements = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    for token in tokens:
        statement = _STATEMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if statement is None:
            continue
        row, column = token.start
        inside = next((f for f in functions if f.lineno <= row <= _end(f)), None)
        covering = [s for s in statements if s.lineno <= row <= _end(s)]
        if not covering:
            covering = sorted((s for s in statements if s.lineno > row), key=lambda s: s.lineno)
        lines = (covering[0].lineno, _end(covering[0])) if covering else (row, row)
        start = starts[row - 1] + column
        owner = inside.name if inside is not None else None
        yield Comment(statement[1], start, start + len(token.string), row, lines, owner)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
