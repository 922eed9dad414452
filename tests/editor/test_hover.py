"""Hover cards, asked of the real server."""

from __future__ import annotations

import pytest
from lsprotocol import types

from editor.conftest import SCALE
from editor.session import session


async def test_a_kernels_name_says_what_it_is_and_what_applies(scale):
    async with session(scale.parent) as editor:
        uri = editor.open(scale)
        card = await editor.card(uri, "scale(float")
        assert card.startswith("**scale** · CUDA C++ kernel · launched on line 10 by `launch_scale`")
        assert "? Vectorise" in card


async def test_the_name_at_a_launch_shows_the_kernel(scale):
    async with session(scale.parent) as editor:
        uri = editor.open(scale)
        assert (await editor.card(uri, "scale<<<")).startswith("**scale**")


async def test_an_anchor_shows_the_conditions_with_truth_and_evidence(scale):
    async with session(scale.parent) as editor:
        uri = editor.open(scale)
        card = await editor.card(uri, "row[i]")
        assert "**Valid when**" in card
        assert "✓ `dtype(x) in (" in card
        assert "? `C % 4 == 0`" in card


@pytest.mark.parametrize(
    "encoding",
    [types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf32],
)
async def test_ranges_are_in_the_negotiated_units(scale, encoding):
    line = SCALE.splitlines()[4]
    before = line[: line.index("row[i]")]
    width = {
        "utf-8": len(before.encode()),
        "utf-16": len(before.encode("utf-16-le")) // 2,
        "utf-32": len(before),
    }
    async with session(scale.parent, encodings=[encoding]) as editor:
        uri = editor.open(scale)
        params = types.HoverParams(
            types.TextDocumentIdentifier(uri), types.Position(4, width[encoding.value])
        )
        hover = await editor.client.text_document_hover_async(params)
        assert hover is not None
        assert hover.range is not None
        assert hover.range.start == types.Position(4, width[encoding.value])
        assert hover.range.end.character - hover.range.start.character == len("row[i]")
