"""An open document: text that changes by keystrokes, with a tree that follows and kernels made when asked for."""

from __future__ import annotations

from tree_sitter import Point, Tree

from kernel_lineage.kernels import cuda, reading
from kernel_lineage.kernels.cuda_trees import parsed
from kernel_lineage.kernels.source import Language, SourceFile


class OpenDocument:
    """The current text of one document.

    Values that it gave stay true of the text that they were read from: an edit makes new ones.
    """

    def __init__(self, data: bytes, language: Language) -> None:
        self._data = data
        self._language = language
        self._tree: Tree | None = None
        self._mended = False
        if language is Language.CUDA and not reading.refusal(data):
            self._tree, self._mended = parsed(data)
        self._source: SourceFile | None = None

    @property
    def data(self) -> bytes:
        """The text as it is now, as UTF-8."""
        return self._data

    @property
    def source(self) -> SourceFile:
        """What is seen of the text as it is now. Read once per edit, when first asked for."""
        if self._source is None:
            if self._tree is None or reading.refusal(self._data):
                self._source = reading.read(self._data, self._language)
            else:
                self._source = cuda.parse(self._data, self._tree)
        return self._source

    def edit(self, start: int, end: int, new: bytes) -> None:
        """Replace the bytes [start, end) by others. The tree is renewed where it changed; the kernels are not yet.

        Raises ValueError when the range is not one of the text.
        """
        if not 0 <= start <= end <= len(self._data):
            raise ValueError(f"[{start}, {end}) is not a range of a text of {len(self._data)} bytes")
        old = self._data
        self._data = old[:start] + new + old[end:]
        self._source = None
        if self._tree is None:
            return
        if self._mended:
            self._tree, self._mended = parsed(self._data)
            return
        tree = self._tree.copy()  # nodes that were given out belong to the old tree, and an edit moves them
        tree.edit(
            start_byte=start,
            old_end_byte=end,
            new_end_byte=start + len(new),
            start_point=_point(old, start),
            old_end_point=_point(old, end),
            new_end_point=_point(self._data, start + len(new)),
        )
        self._tree, self._mended = parsed(self._data, tree)


def _point(data: bytes, offset: int) -> Point:
    line_start = data.rfind(b"\n", 0, offset) + 1
    return Point(data.count(b"\n", 0, offset), offset - line_start)
