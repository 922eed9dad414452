"""Positions of an editor and UTF-8 offsets, in each negotiated unit."""

from __future__ import annotations

import pytest
from lsprotocol import types

from kernel_lineage.editor.text import Text
from kernel_lineage.kernels.source import Span

UTF8, UTF16, UTF32 = (
    types.PositionEncodingKind.Utf8,
    types.PositionEncodingKind.Utf16,
    types.PositionEncodingKind.Utf32,
)
LINE = "é😀 x"  # 2 + 4 + 1 + 1 bytes


@pytest.mark.parametrize(
    ("encoding", "column"),
    [(UTF8, 7), (UTF16, 4), (UTF32, 3)],
)
def test_the_column_of_a_character_behind_others_that_are_wide(encoding, column):
    text = Text.of(f"ab\n{LINE}\n", encoding)
    offset = text.data.index(b"x")
    assert text.position(offset) == types.Position(1, column)
    assert text.offset(types.Position(1, column)) == offset


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_every_character_is_found_again(encoding):
    text = Text.of(f"a\r\n{LINE}\rend\fof\u2028page\n", encoding)
    decoded = text.data.decode()
    starts = [len(decoded[:n].encode()) for n in range(len(decoded) + 1)]
    inside_line_end = decoded.index("\r\n") + 1
    for n, offset in enumerate(starts):
        if n != inside_line_end:
            assert text.offset(text.position(offset)) == offset


def test_lines_end_only_where_the_protocol_says():
    text = Text.of("a\fb\vc\u2028d\ne\r\nf\rg", UTF16)
    assert [text.position(text.data.index(c)).line for c in (b"d", b"e", b"f", b"g")] == [0, 1, 2, 3]


def test_half_of_a_surrogate_pair_is_the_place_before_the_character():
    text = Text.of("😀x", UTF16)
    assert text.offset(types.Position(0, 1)) == 0
    assert text.offset(types.Position(0, 2)) == 4


@pytest.mark.parametrize(
    ("position", "offset"),
    [((0, 99), 2), ((1, 99), 5), ((9, 0), 6), ((2, 0), 6)],
)
def test_a_position_beyond_the_end_is_the_end(position, offset):
    assert Text.of("ab\ncd\n", UTF16).offset(types.Position(*position)) == offset


def test_a_lone_surrogate_keeps_its_width():
    text = Text.of("\ud800x", UTF16)
    assert text.offset(types.Position(0, 1)) == text.data.index(b"x")


def test_the_range_of_a_span():
    text = Text.of("é\nkernel", UTF16)
    span = Span(3, 9, 2, 2)
    assert text.range(span) == types.Range(types.Position(1, 0), types.Position(1, 6))


def test_an_empty_text_has_one_line():
    text = Text.of("", UTF16)
    assert text.offset(types.Position(0, 0)) == 0
    assert text.end == types.Position(0, 0)


def test_replacing_bytes_moves_the_lines():
    text = Text.of("a\nb\nc", UTF16).replaced(2, 3, b"x\ny\nz")
    assert text.data == b"a\nx\ny\nz\nc"
    assert text.position(8) == types.Position(4, 0)
