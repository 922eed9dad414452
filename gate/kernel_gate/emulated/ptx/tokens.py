"""PTX text → tokens, each with its line (PTX ISA 9.0, chapter 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_gate.emulated.ptx.model import PtxError

ASM_BEGIN, ASM_END = "//begin", "//end"
"""Compilers mark inline PTX by comments; between them source lines are not to be trusted."""
_TOKEN = re.compile(
    r"""
    (?P<asm>//\ (?:begin|end)\ inline\ asm)
  | (?P<skip>[ \t\r\f]+|//[^\n]*|/\*.*?\*/)
  | (?P<newline>\n)
  | (?P<word>\.[A-Za-z_]\w*|[%$A-Za-z_](?:[\w$.%]|::)*)
  | (?P<number>0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|0[xX][0-9A-Fa-f]+U?|\d+(?:\.\d+)?U?)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<sign>[{}()\[\];,:+\-|!@=<>])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class Tokens:
    """A stream of tokens with one token of lookahead."""

    texts: list[str]
    lines: list[int]
    at: int = 0

    @property
    def line(self) -> int:
        """Line of the next token."""
        return self.lines[min(self.at, len(self.lines) - 1)] if self.lines else 1

    def peek(self, ahead: int = 0) -> str:
        """The next token, or an empty string at the end."""
        at = self.at + ahead
        return self.texts[at] if at < len(self.texts) else ""

    def next(self) -> str:
        """Take the next token. Raises `PtxError` at the end."""
        if self.at >= len(self.texts):
            raise PtxError("the PTX ends in the middle of a statement; compile it again")
        self.at += 1
        return self.texts[self.at - 1]

    def take(self, text: str) -> bool:
        """Take the next token when it is `text`."""
        if self.peek() == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Take `text`. Raises `PtxError` when something else stands there."""
        if not self.take(text):
            raise PtxError(f"line {self.line} of the PTX: `{text}` expected, found `{self.peek()}`")

    def integer(self) -> int:
        """Take an integer literal, with its sign."""
        sign = -1 if self.take("-") else 1
        text = self.next()
        try:
            return sign * int(text.rstrip("U"), 0)
        except ValueError:
            raise PtxError(f"line {self.line} of the PTX: an integer expected, found `{text}`") from None

    def skip_block(self) -> None:
        """Take everything up to the `}` that closes the block whose `{` was just taken."""
        depth = 1
        while depth:
            token = self.next()
            depth += {"{": 1, "}": -1}.get(token, 0)


def tokenise(text: str) -> Tokens:
    """Cut PTX into tokens. Raises `PtxError` for a character that starts none."""
    texts: list[str] = []
    lines: list[int] = []
    line, at = 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PtxError(f"line {line} of the PTX: unexpected `{text[at]}`")
        kind = match.lastgroup
        if kind == "newline":
            line += 1
        elif kind == "asm":
            texts.append(ASM_BEGIN if "begin" in match[0] else ASM_END)
            lines.append(line)
        elif kind == "skip":
            line += match[0].count("\n")
        else:
            texts.append(match[0])
            lines.append(line)
        at = match.end()
    return Tokens(texts, lines)
