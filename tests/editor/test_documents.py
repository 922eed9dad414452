"""What the server makes of open documents: edits, broken code, what is no kernel, what is closed."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_edit_is_seen_by_the_next_answer(editor, scale):
    uri = editor.open(scale)
    editor.replace(uri, "void scale(", "void scale_by_α(")
    editor.replace(uri, "scale_by_α(", "scaled(")
    editor.replace(uri, "    scale<<<", "    scaled<<<")
    assert (await editor.card(uri, "scaled(")).startswith(
        "**scaled** · CUDA C++ kernel · launched on line 10"
    )


async def test_an_edit_behind_a_form_feed_and_wide_characters_is_made_in_the_right_place(editor, scale):
    uri = editor.open(scale, "// a\fb 😀\u2028c\n" + scale.read_text("utf-8"))
    editor.replace(uri, "void scale(", "void twice(")
    assert (await editor.card(uri, "twice(")).startswith("**twice**")


async def test_the_editors_text_counts_and_not_the_disks(editor, scale):
    uri = editor.open(scale, scale.read_text("utf-8").replace("scale", "unsaved"))
    assert (await editor.card(uri, "unsaved(")).startswith("**unsaved**")


async def test_a_closed_document_gets_an_empty_answer(editor, scale):
    uri = editor.open(scale)
    editor.close(uri)
    assert await editor.hover(uri, "scale(") is None
    assert await editor.actions(uri, "scale(") == []
    editor.replace(uri, "alpha", "beta")
    assert await editor.hover(uri, "scale(") is None


async def test_broken_code_gets_an_answer(editor, scale):
    for code in (
        "__global__ void scale(float* out, const float* x, int n) { out[threadIdx.x] = x[",
        "__global__ void scale(float* out",
        "scale<<<",
        "scale \x00 binary",
        "}}}} scale ((((",
    ):
        uri = editor.open(scale, code)
        await editor.hover(uri, "scale")
        await editor.actions(uri, code[-1])
        editor.replace(uri, code, scale.read_text("utf-8"))
        assert (await editor.card(uri, "scale(")).startswith("**scale**"), code


async def test_python_without_triton_is_left_alone(editor, tmp_path):
    path = tmp_path / "plain.py"
    path.write_text("def scale(x):\n    return x\n")
    uri = editor.open(path)
    assert await editor.hover(uri, "scale") is None
    assert await editor.actions(uri, "return") == []


async def test_a_triton_kernel_is_read(editor, tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef scale(out, x, n, BLOCK: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)\n"
    )
    uri = editor.open(path)
    assert (await editor.card(uri, "scale(")).startswith("**scale** · Triton kernel")


INLINE = '''\
import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void twice(const float* in, float* out, int size) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < size) out[at] = 2.0f * in[at];
}

torch::Tensor twice_of(torch::Tensor in) {
    auto size = in.numel();
    auto out = torch::zeros_like(in);
    twice<<<(size + 255) / 256, 256>>>(in.data_ptr<float>(), out.data_ptr<float>(), size);
    return out;
}
"""
module = load_inline("twice", "torch::Tensor twice_of(torch::Tensor in);", source, functions=["twice_of"])
'''


async def test_cuda_in_the_strings_of_a_python_file_is_read_at_its_places(editor, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(INLINE)
    uri = editor.open(path)
    assert (await editor.card(uri, "twice(")).startswith("**twice** · CUDA C++ kernel · launched on line 13")
    editor.replace(uri, "import torch\n", "# Ünïcode, two lines\n\nimport torch\n")
    assert (await editor.card(uri, "twice(")).startswith("**twice** · CUDA C++ kernel · launched on line 15")
    editor.replace(uri, "__global__ ", "")
    assert await editor.hover(uri, "twice(") is None
