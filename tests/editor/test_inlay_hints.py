"""Measured figures beside the code, through the real server and a real check."""

from __future__ import annotations

import pytest
from lsprotocol import types

from editor.session import session
from editor.test_check import ON, Checked

pytestmark = pytest.mark.asyncio(loop_scope="session")
COLUMNS = """\
__global__ void columns(float* out, const float* in) {
    __shared__ float tile[32][32];
    tile[threadIdx.x][threadIdx.y] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void launch(float* out, const float* in) {
    columns<<<1, dim3(32, 32)>>>(out, in);
}
"""
EVERYWHERE = types.Range(types.Position(0, 0), types.Position(20, 0))


async def hints(editor, uri):
    params = types.InlayHintParams(types.TextDocumentIdentifier(uri), EVERYWHERE)
    return {
        hint.position.line: hint for hint in await editor.client.text_document_inlay_hint_async(params) or ()
    }


async def test_what_accesses_cost_stands_at_their_lines_while_the_kernel_is_the_one_that_was_counted(
    tmp_path,
):
    path = tmp_path / "columns.cu"
    path.write_text(COLUMNS)
    async with session(tmp_path, {**ON, "hints": True}) as editor:
        uri = editor.open(path)
        checked = Checked(editor, uri)
        assert (await checked.ended()).state == "right"
        shown = await hints(editor, uri)
        assert {line: hint.label for line, hint in shown.items()} == {
            2: "4 sectors, 32 wavefronts a request",
            4: "4 sectors, 32 wavefronts a request",
        }
        assert shown[2].position.character == len(COLUMNS.splitlines()[2])
        assert "Counted on the emulated device" in shown[2].tooltip.value
        editor.replace(uri, "in[threadIdx.y", "in[0 + threadIdx.y")
        assert not await hints(editor, uri)
        editor.replace(uri, "in[0 + threadIdx.y", "in[threadIdx.y")
        assert (await hints(editor, uri)).keys() == {2, 4}


@pytest.mark.long
async def test_there_are_none_unless_they_are_asked_for(tmp_path):
    path = tmp_path / "columns.cu"
    path.write_text(COLUMNS)
    async with session(tmp_path, ON) as editor:
        uri = editor.open(path)
        assert (await Checked(editor, uri).ended()).state == "right"
        assert not await hints(editor, uri)
