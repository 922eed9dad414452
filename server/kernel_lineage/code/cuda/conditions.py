"""What the conditions of `#if` come to, by the macros that a text defines."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_SYMBOL = re.compile(r"0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*|\w+|&&|\|\||<<|>>|[<>=!]=|[-+*/%()<>!&|^~]")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
           ("*", "/", "%"))  # fmt: skip
"""Operators, from those that bind least."""
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63), "+": operator.add, "-": operator.sub,
    "*": operator.mul, "/": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else 0,
}  # fmt: skip
_DEPTH = 8
"""Macros within macros of a condition."""
_MOST_READ = 1 << 19
"""Characters of conditions and of the macros in them that are read; what comes after them is not known."""
_HALF = 1 << 63
"""Numbers have 64 bits, as a compiler has them."""
_LONGEST = 100
"""Digits of a number that is read."""
_DEEPEST = 40
"""Brackets within brackets."""

Value = int | None


@dataclass(slots=True)
class Conditions:
    """The conditions of one text."""

    macro: Callable[[str], str | int | None]
    """What a macro without parameters stands for: its text, or a number; None for one that is not defined."""
    unknown: Value
    """What a name that is no macro, and what cannot be read, comes to: 0 as to a compiler, or None."""
    left: int = field(default=_MOST_READ)
    brackets: int = 0
    """Those that are open where it reads."""

    def holds(self, condition: str) -> bool:
        """Whether a condition is true; one that is not known is not."""
        decided = _DEFINED.sub(lambda m: str(int(self.is_defined(m[1] or m[2]))), condition)
        return bool(self.value(decided))

    def is_defined(self, name: str) -> bool:
        """Whether there is such a macro."""
        return self.macro(name) is not None

    def value(self, text: str, deeper: int = _DEPTH) -> Value:
        """What a condition, or a macro's text, comes to."""
        self.left -= len(text) + 1
        if self.left < 0 or deeper == 0 or _SYMBOL.sub("", text).strip():
            return self.unknown
        return _Reading(self, _SYMBOL.findall(text), deeper - 1).value()

    def named(self, name: str, deeper: int) -> Value:
        """What a name comes to."""
        body = self.macro(name)
        return self.value(body, deeper) if isinstance(body, str) else self.unknown if body is None else body


@dataclass(slots=True)
class _Reading:
    """One expression, read from its front."""

    conditions: Conditions
    symbols: list[str]
    deeper: int
    at: int = 0

    def value(self, level: int = 0) -> Value:
        """The value of what stands here, at a level of binding."""
        if level == len(_LEVELS):
            return self._operand()
        left = self.value(level + 1)
        while self.at < len(self.symbols) and self.symbols[self.at] in _LEVELS[level]:
            written = self.symbols[self.at]
            self.at += 1
            left = _applied(written, left, self.value(level + 1))
        return left

    def _operand(self) -> Value:
        if self.at >= len(self.symbols) or self.conditions.brackets > _DEEPEST:
            return self.conditions.unknown
        symbol = self.symbols[self.at]
        self.at += 1
        if symbol in ("!", "-", "+", "~", "("):
            self.conditions.brackets += 1
            inner = self.value() if symbol == "(" else self._operand()
            self.conditions.brackets -= 1
            if symbol == "(":
                self.at += 1
            elif inner is not None:
                inner = {"!": int(not inner), "-": -inner, "~": ~inner}.get(symbol, inner)
            return inner
        if symbol[0].isdigit():
            digits = symbol.rstrip("uUlL")
            return int(digits, 16 if digits[:2] in ("0x", "0X") else 10) if len(digits) < _LONGEST else 0
        return self.conditions.named(symbol, self.deeper)


def _applied(written: str, a: Value, b: Value) -> Value:
    if written in ("||", "&&"):
        decides = written == "||"
        if any(v is not None and bool(v) == decides for v in (a, b)):
            return int(decides)
        return None if None in (a, b) else int(not decides)
    if a is None or b is None:
        return None
    return (int(_ARITHMETIC[written](a, b)) + _HALF) % (2 * _HALF) - _HALF
