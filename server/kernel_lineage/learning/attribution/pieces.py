"""A program's source as pieces: its statements, block heads, braces and directives, in order.

The pieces of a text joined are the text. Two pieces with the same key are the same code, comments and layout aside.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_lineage.history.similarity import code_tokens
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD

_LEXEME = re.compile(
    r"//[^\n]*"
    r"|/\*.*?(?:\*/|\Z)"
    r'|R"(?P<mark>[^(\s"]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n]){1,4}'"
    r"|^[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*\n?"
    r"|[(){};\[\]]",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a source that is taken over or left as a whole."""

    text: str
    """With the layout and the comments before it."""
    key: str
    """What it is; "" for a stretch without code."""
    braces: int = 0
    """Blocks that it opens less those that it closes; 0 in Python, where the layout says it."""


def pieces(source: str, language: Language) -> tuple[Piece, ...]:
    """The pieces of a source. Python that cannot be tokenised is cut into its lines."""
    if language is Language.CUDA:
        return tuple(_cuda(source))
    try:
        return tuple(_python(source))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return tuple(_python_piece(line) for line in source.splitlines(keepends=True))


def _cuda(source: str) -> Iterator[Piece]:
    start, depth = 0, 0
    heads: list[str] = []
    for lexeme in _LEXEME.finditer(source):
        text = lexeme.group()
        first = text.lstrip()[:1]
        if first == "#":
            if source[start : lexeme.start()].strip():
                yield _statement(source[start : lexeme.start()])
                start = lexeme.start()
            yield _statement(source[start : lexeme.end()])
            start = lexeme.end()
        elif text in "([":
            depth += 1
        elif text in ")]":
            depth = max(0, depth - 1)
        elif text in "{};" and not depth:
            cut = source[start : lexeme.end()]
            start = lexeme.end()
            if text == "{":
                heads.append(_kind(cut))
                yield Piece(cut, " ".join(code_tokens(cut, False)), 1)
            elif text == "}":
                # What a brace closes is part of what it is: otherwise any brace could stand for any other.
                head = heads.pop() if heads else ""
                yield Piece(cut, f"{' '.join(code_tokens(cut, False))} {head}", -1)
            else:
                yield _statement(cut)
    if source[start:]:
        yield _statement(source[start:])


def _statement(text: str) -> Piece:
    return Piece(text, " ".join(code_tokens(text, False)))


def _kind(head: str) -> str:
    """`for` of a loop's head, `float block_sum` of a function's."""
    tokens = code_tokens(head, False)
    words = [t for t in tokens[: tokens.index("(") if "(" in tokens else None] if WORD.fullmatch(t)]
    return " ".join(words[-2:])


def _python(source: str) -> Iterator[Piece]:
    """Logical lines: a call that spans several lines is one."""
    lines = source.splitlines(keepends=True)
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NEWLINE:
            yield _python_piece("".join(lines[start : token.end[0]]))
            start = token.end[0]
    if lines[start:]:
        yield _python_piece("".join(lines[start:]))


def _python_piece(text: str) -> Piece:
    code = " ".join(code_tokens(text, True))
    line = next((x for x in text.splitlines() if x.strip() and not x.lstrip().startswith("#")), "")
    indent = len(line) - len(line.lstrip())
    return Piece(text, f"{indent}:{code}" if code else "")
