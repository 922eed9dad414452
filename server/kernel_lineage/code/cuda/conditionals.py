"""`#if` decided as a compiler for a recent GPU decides it: names that the files do not define are not defined."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_lineage.kernels.cuda_text import Macro

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\\\n]|\\\r?\n|\\.)*)", re.MULTILINE)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_WORD = re.compile(r"0[xX][0-9a-fA-F]+|\d+|\w+|&&|\|\||[<>=!]=|[-+*/%()<>!]")
_COMPILER = {"__CUDA_ARCH__": 900, "__CUDACC__": 1, "__NVCC__": 1, "__CUDA_ARCH_LIST__": 900, "__cplusplus": 201703,
             "CUDART_VERSION": 12040, "CUDA_VERSION": 12040, "__CUDACC_VER_MAJOR__": 12, "__CUDACC_VER_MINOR__": 4,
             "__NVCOMPILER_CUDA_ARCH__": 0}  # fmt: skip
"""What nvcc defines, for compute capability 9.0."""
_DEPTH = 8


def chosen_branches(text: str, macros: Mapping[str, Macro]) -> str:
    """The text with every directive, and every branch that is not taken, blank; of the same length."""
    kept: list[str] = []
    taken: list[tuple[bool, bool]] = []
    position = 0
    for match in _DIRECTIVE.finditer(text):
        piece = text[position : match.start()]
        kept.append(piece if all(on for on, _ in taken) else _blanked(piece))
        position = match.end()
        word, rest = match[1], match[2]
        kept.append(_blanked(match.group()))
        match word:
            case "if" | "ifdef" | "ifndef":
                on = _holds(word, rest, macros)
                taken.append((on, on))
            case "elif" | "else" if taken:
                before = taken[-1][1]
                on = not before and (word == "else" or _holds("if", rest, macros))
                taken[-1] = (on, before or on)
            case "endif" if taken:
                taken.pop()
    piece = text[position:]
    kept.append(piece if all(on for on, _ in taken) else _blanked(piece))
    return "".join(kept)


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _is_defined(name: str, macros: Mapping[str, Macro]) -> bool:
    return name in macros or _COMPILER.get(name, 0) != 0


def _holds(word: str, rest: str, macros: Mapping[str, Macro]) -> bool:
    if word in ("ifdef", "ifndef"):
        name = re.match(r"\s*(\w+)", rest)
        return (name is not None and _is_defined(name[1], macros)) == (word == "ifdef")
    rest = re.sub(r"/\*.*?\*/|//.*", " ", rest.replace("\\\n", " "))
    rest = _DEFINED.sub(lambda m: str(int(_is_defined(m[1] or m[2], macros))), rest)
    return _Condition(_WORD.findall(rest), macros).value() != 0


class _Condition:
    """A preprocessor's expression; what it cannot read counts as 0."""

    _LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))

    def __init__(self, symbols: list[str], macros: Mapping[str, Macro], depth: int = 0) -> None:
        self.symbols, self.macros, self.depth = symbols, macros, depth
        self.at = 0

    def value(self, level: int = 0) -> int:
        """The value of what stands here, at a level of binding."""
        if level == len(self._LEVELS):
            return self._operand()
        left = self.value(level + 1)
        while self.at < len(self.symbols) and self.symbols[self.at] in self._LEVELS[level]:
            operator = self.symbols[self.at]
            self.at += 1
            left = _applied(operator, left, self.value(level + 1))
        return left

    def _operand(self) -> int:
        if self.at >= len(self.symbols):
            return 0
        symbol = self.symbols[self.at]
        self.at += 1
        if symbol == "!":
            return int(not self._operand())
        if symbol in ("-", "+"):
            return -self._operand() if symbol == "-" else self._operand()
        if symbol == "(":
            value = self.value()
            self.at += 1
            return value
        if symbol[0].isdigit():
            digits = symbol.rstrip("uUlL")
            return int(digits, 16 if digits[:2] in ("0x", "0X") else 10) if digits.isalnum() else 0
        macro = self.macros.get(symbol)
        if macro is not None and macro.parameters is None and self.depth < _DEPTH:
            return _Condition(_WORD.findall(macro.body), self.macros, self.depth + 1).value()
        return _COMPILER.get(symbol, 0)


def _applied(operator: str, a: int, b: int) -> int:
    match operator:
        case "||" | "&&":
            return int(bool(a) or bool(b)) if operator == "||" else int(bool(a) and bool(b))
        case "+" | "-" | "*":
            return a + b if operator == "+" else a - b if operator == "-" else a * b
        case "/" | "%":
            return 0 if b == 0 else a // b if operator == "/" else a % b
        case "==" | "!=":
            return int((a == b) == (operator == "=="))
        case "<" | ">":
            return int(a < b if operator == "<" else a > b)
    return int(a <= b if operator == "<=" else a >= b)
