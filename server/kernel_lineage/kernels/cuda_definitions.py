"""What the names in a launch expression stand for: locals of the launcher, constants and macros of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kernel_lineage.kernels.cuda_constants import constants_in, end_of_value, of_one_meaning
from kernel_lineage.kernels.cuda_outline import Declaration
from kernel_lineage.kernels.cuda_text import Text, closing, one_line

_IDENTIFIER = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ASSIGNED = re.compile(rb"(?<![\w.>])([A-Za-z_]\w*)\s*=(?!=)\s*")
_CONSTRUCTED = re.compile(rb"\b(dim3|uint3)\s+([A-Za-z_]\w*)\s*([({])")
_NEXT = re.compile(rb"\s*,\s*([A-Za-z_]\w*)\s*([({])")
"""Another variable of the same declaration."""
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
        by_name: dict[str, str] = {}
        waiting = [name for expression in expressions for name in _IDENTIFIER.findall(expression)]
        while waiting:
            name = waiting.pop(0)
            if name in by_name or name in _WORDS_OF_CPP:
                continue
            values = self.all_of(name, function, before) if function else []
            value = values[-1] if values else self._file().get(name)
            if value:
                by_name[name] = value
                waiting.extend(_IDENTIFIER.findall(value))
        return by_name

    def all_of(self, name: str, function: Declaration, before: int) -> list[str]:
        """Every value that a local variable is given in a function before an offset, in order."""
        if function.start not in self._of_function:
            self._of_function[function.start] = list(self._locals(function))
        return [
            value
            for at, variable, value in self._of_function[function.start]
            if variable == name and at < before
        ]

    def _locals(self, function: Declaration) -> Iterable[tuple[int, str, str]]:
        code, start, end = self.text.code, function.head_end, function.end
        definitions = []
        for match in _ASSIGNED.finditer(code, start, end):
            stop = end_of_value(code, match.end(), end)
            definitions.append(
                (match.start(), match.group(1).decode(), one_line(self.text.data[match.end() : stop]))
            )
        for match in _CONSTRUCTED.finditer(code, start, end):
            name, opened = match[2], match.start(3)
            while (close := closing(code, opened, end)) is not None:
                inside = one_line(self.text.data[opened + 1 : close])
                definitions.append((opened, name.decode(), f"dim3({inside})"))
                if (another := _NEXT.match(code, close + 1, end)) is None:
                    break
                name, opened = another[1], another.start(2)
        return sorted(definitions)

    def _file(self) -> dict[str, str]:
        if self._of_file is None:
            outside = (c for c in constants_in(self.text.data) if c.is_outside)
            self._of_file = {name: c.value for name, c in of_one_meaning(outside).items()}
        return self._of_file
