"""The constants of a CUDA C++ file: macros without parameters, and variables that are const."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernel_lineage.kernels.cuda_text import Text, closing, closing_angle, one_line, text_of

_CONST = re.compile(rb"\b(?:const|constexpr)\s([^;=(){}]{0,120}?)\b([A-Za-z_]\w*)\s*=(?!=)\s*")
_NEXT = re.compile(rb",\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_WHOLE = re.compile(
    r"(?:std::|static|inline|const|constexpr|unsigned|signed|int|uint|long|short|char|size_t|u?int\d+_t|\s)*"
)
_STATEMENT_END = re.compile(rb"[;,()\[\]{}]|(?<=\w)<(?![<=])")


@dataclass(frozen=True, slots=True)
class Constant:
    """One definition of a constant."""

    name: str
    value: str
    """As it is written, in one line."""
    line: int
    is_outside: bool
    """Whether it stands outside of functions, as its place in the line tells."""
    is_whole: bool = True
    """Whether it may be a whole number, as its type tells; a macro may be one."""


@lru_cache(maxsize=32)
def constants_in(data: bytes) -> tuple[Constant, ...]:
    """The constants of a file, alternatives of `#if` and those of functions among them."""
    text = text_of(data)
    macros = (
        Constant(m.name, m.body, text.span(m.start, m.start).first_line, True)
        for m in text.macros
        if m.parameters is None and m.body
    )
    return (*_variables(text), *macros)


def whole_numbers_in(data: bytes) -> Mapping[str, Constant]:
    """The constants of a file that may be whole numbers, by their names."""
    return of_one_meaning(c for c in constants_in(data) if c.is_whole)


def of_one_meaning(constants: Iterable[Constant]) -> Mapping[str, Constant]:
    """The constants by name; one that is given two meanings is left out: the text does not say which one holds."""
    by_name: dict[str, Constant | None] = {}
    for constant in constants:
        other = by_name.setdefault(constant.name, constant)
        if other is None or other.value != constant.value:
            by_name[constant.name] = None
    return {name: constant for name, constant in by_name.items() if constant is not None}


def _variables(text: Text) -> Iterator[Constant]:
    code = text.code
    for match in _CONST.finditer(code):
        declared = []
        at: re.Match[bytes] | None = match
        stop = match.end()
        while at is not None:
            stop = end_of_value(code, at.end(), len(code))
            declared.append((at[at.re.groups].decode(), one_line(text.data[at.end() : stop])))
            at = _NEXT.match(code, stop)
        if code[stop : stop + 1] == b";":  # else they are parameters
            start = code.rfind(b"\n", 0, match.start()) + 1
            is_outside = not code[start : start + 1].isspace()
            line = text.span(match.start(), match.start()).first_line
            is_whole = _WHOLE.fullmatch(match[1].decode("utf-8", "replace")) is not None
            yield from (Constant(name, value, line, is_outside, is_whole) for name, value in declared)


def end_of_value(code: bytes, position: int, end: int) -> int:
    """Where the value ends that begins at a position: at a comma, a semicolon, or a bracket that closes."""
    while match := _STATEMENT_END.search(code, position, end):
        if match.group() in (b"(", b"[", b"{"):
            close = closing(code, match.start(), end)
        elif match.group() == b"<":
            close = closing_angle(code, match.start(), end) or match.start()
        else:
            return match.start()
        if close is None:
            return match.start()
        position = close + 1
    return end
