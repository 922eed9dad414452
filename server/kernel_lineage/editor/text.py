"""The text of an open document: UTF-8 bytes, because that is what spans index, and the editor's positions in it.

Lines end where the protocol says (`\\n`, `\\r\\n`, `\\r`) and nowhere else: a form feed, common in old C sources,
is not the end of a line, although `str.splitlines` takes it for one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

from kernel_lineage.kernels.source import Span

_END_OF_LINE = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Text:
    """An immutable text and its lines. `encoding` is the unit of the editor's columns, as negotiated."""

    data: bytes
    encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16

    @classmethod
    def of(cls, text: str, encoding: types.PositionEncodingKind) -> Text:
        """From an editor's string. Half a surrogate pair, which is no character, becomes `?`, as wide as it was."""
        return cls(text.encode("utf-8", "replace"), encoding)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Byte offset of the start of each line; there is always a first."""
        return (0, *(match.end() for match in _END_OF_LINE.finditer(self.data)))

    def offset(self, position: types.Position) -> int:
        """Byte offset of an editor's position; one past the end of a line or of the text is moved back to it."""
        if position.line >= len(self.line_starts):
            return len(self.data)
        start = self.line_starts[position.line]
        return start + self._bytes_before(self._line(position.line), position.character)

    def position(self, offset: int) -> types.Position:
        """The editor's position of a byte offset."""
        offset = min(offset, len(self.data))
        line = bisect_right(self.line_starts, offset) - 1
        return types.Position(line, self._units(self.data[self.line_starts[line] : offset]))

    def range(self, span: Span) -> types.Range:
        """The editor's range of a span."""
        return types.Range(self.position(span.start), self.position(span.end))

    def code_of(self, line: int) -> types.Range:
        """The code of a line (1-based), without the blanks around it; of the nearest one where there is none."""
        number = min(max(line, 1), len(self.line_starts)) - 1
        start, code = self.line_starts[number], self._line(number)
        first = start + len(code) - len(code.lstrip())
        return types.Range(self.position(first), self.position(max(first, start + len(code.rstrip()))))

    @property
    def end(self) -> types.Position:
        """The editor's position behind the last character."""
        return self.position(len(self.data))

    def replaced(self, start: int, end: int, new: bytes) -> Text:
        """The text with the bytes [start, end) replaced."""
        return Text(self.data[:start] + new + self.data[end:], self.encoding)

    def changed(self, change: types.TextDocumentContentChangeEvent) -> tuple[Text, int, int, bytes]:
        """The text after an editor's edit, and the edit in bytes: where it begins and ends, and what is new."""
        start, end = 0, len(self.data)
        if isinstance(change, types.TextDocumentContentChangePartial):
            start = self.offset(change.range.start)
            end = max(start, self.offset(change.range.end))
        new = Text.of(change.text, self.encoding).data
        return self.replaced(start, end, new), start, end, new

    def _line(self, number: int) -> bytes:
        last = number + 1 == len(self.line_starts)
        end = len(self.data) if last else self.line_starts[number + 1]
        return self.data[self.line_starts[number] : end].rstrip(b"\r\n")

    def _bytes_before(self, line: bytes, units: int) -> int:
        """How many bytes of the line the first `units` code units take; half a character counts as not reached."""
        if line.isascii():
            return min(units, len(line))
        if self.encoding == types.PositionEncodingKind.Utf8:
            before = line[:units]
        elif self.encoding == types.PositionEncodingKind.Utf32:
            return len(line.decode("utf-8", "replace")[:units].encode())
        else:
            wide = line.decode("utf-8", "replace").encode("utf-16-le")[: 2 * units]
            return len(wide.decode("utf-16-le", "ignore").encode())
        return len(before.decode("utf-8", "ignore").encode())

    def _units(self, data: bytes) -> int:
        if data.isascii() or self.encoding == types.PositionEncodingKind.Utf8:
            return len(data)
        text = data.decode("utf-8", "replace")
        if self.encoding == types.PositionEncodingKind.Utf32:
            return len(text)
        return len(text.encode("utf-16-le")) // 2
