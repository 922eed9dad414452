"""What the names in a launch expression stand for: locals of the launcher, constants and macros of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kernel_lineage.kernels.cuda_outline import Declaration
from kernel_lineage.kernels.cuda_text import Text, closing, closing_angle, one_line

_IDENTIFIER = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ASSIGNED = re.compile(rb"(?<![\w.>])([A-Za-z_]\w*)\s*=(?!=)\s*")
_CONSTRUCTED = re.compile(rb"\b(dim3|uint3)\s+([A-Za-z_]\w*)\s*([({])")
_CONSTANT = re.compile(rb"\b(?:const|constexpr)\s[^;=(){}]{0,120}?\b([A-Za-z_]\w*)\s*=\s*([^;{}]+);")
_STATEMENT_END = re.compile(rb"[;,()\[\]{}]|(?<=\w)<(?![<=])")
_WORDS_OF_CPP = frozenset(
    [
        "dim3",
        "sizeof",
        "const",
        "int",
        "float",
        "double",
        "size_t",
        "unsigned",
        "static_cast",
        "void",
        "true",
        "false",
        "nullptr",
    ]
)


@dataclass(slots=True)
class Definitions:
    """The definitions of one file, found when first asked for."""

    text: Text
    _of_function: dict[int, list[tuple[int, str, str]]] = field(default_factory=dict)
    _of_file: dict[str, str] | None = None

    def used_by(
        self, expressions: Iterable[str], function: Declaration | None, before: int
    ) -> dict[str, str]:
        """The definitions that expressions at `before` use, directly or through each other, as written."""
        found: dict[str, str] = {}
        waiting = [name for expression in expressions for name in _IDENTIFIER.findall(expression)]
        while waiting:
            name = waiting.pop(0)
            if name in found or name in _WORDS_OF_CPP:
                continue
            values = self.all_of(name, function, before) if function else []
            value = values[-1] if values else self._file().get(name)
            if value:
                found[name] = value
                waiting.extend(_IDENTIFIER.findall(value))
        return found

    def all_of(self, name: str, function: Declaration, before: int) -> list[str]:
        """Every value that a local variable is given in a function before an offset, in order."""
        if function.start not in self._of_function:
            self._of_function[function.start] = list(self._locals(function))
        return [
            value for at, known, value in self._of_function[function.start] if known == name and at < before
        ]

    def _locals(self, function: Declaration) -> Iterable[tuple[int, str, str]]:
        code, start, end = self.text.code, function.head_end, function.end
        found = []
        for match in _ASSIGNED.finditer(code, start, end):
            stop = _end_of_value(code, match.end(), end)
            found.append(
                (match.start(), match.group(1).decode(), one_line(self.text.data[match.end() : stop]))
            )
        for match in _CONSTRUCTED.finditer(code, start, end):
            close = closing(code, match.start(3), end)
            if close is not None:
                inside = one_line(self.text.data[match.end() : close])
                found.append((match.start(), match.group(2).decode(), f"dim3({inside})"))
        return sorted(found)

    def _file(self) -> dict[str, str]:
        if self._of_file is None:
            found: dict[str, str] = {}
            twice: set[str] = set()
            pairs = [
                (m.group(1).decode(), one_line(self.text.data[slice(*m.span(2))])) for m in self._constants()
            ]
            pairs += [(m.name, m.body) for m in self.text.macros if m.parameters is None and m.body]
            for name, value in pairs:
                if found.setdefault(name, value) != value:
                    twice.add(name)  # alternatives of `#if`: the text does not say which one holds
            self._of_file = {name: value for name, value in found.items() if name not in twice}
        return self._of_file

    def _constants(self) -> Iterable[re.Match[bytes]]:
        return (m for m in _CONSTANT.finditer(self.text.code) if self._outside(m.start()))

    def _outside(self, position: int) -> bool:
        line = self.text.code.rfind(b"\n", 0, position) + 1
        return not self.text.code[line : line + 1].isspace()


def _end_of_value(code: bytes, position: int, end: int) -> int:
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
