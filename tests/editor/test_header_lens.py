"""The line above a header's function: which kernels of other files reach it, and how they stand."""

from __future__ import annotations

import asyncio
import re

import pytest
from lsprotocol import types

from editor.session import session
from editor.test_check import ON, Checked
from editor.test_code_lens import AT, lenses
from kernel_lineage.editor import reaching
from kernel_lineage.editor.reaching import reaches

HEADER = """\
#pragma once

__device__ inline float block_sum(float value, float* shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
        __syncthreads();
    }
    return shared[0];
}

__device__ inline float unused(float value) {
    return 2 * value;
}

__device__ inline float twice(float value) {
    return 2 * value;
}
"""
KERNELS = """\
#include "parts/reduce.cuh"

__global__ void rows_sum(float* out, const float* in, int columns) {
    __shared__ float shared[128];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += in[blockIdx.x * columns + i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void rows_twice(float* out, const float* in, int columns) {
    __shared__ float shared[128];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += twice(in[blockIdx.x * columns + i]);
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

void launch(float* out, const float* in, int rows, int columns) {
    rows_sum<<<rows, 128>>>(out, in, columns);
    rows_twice<<<rows, 128>>>(out, in, columns);
}
"""
SUM, UNUSED, TWICE = (HEADER[: HEADER.index(name)].count("\n") for name in ("block_sum", "unused", "twice("))


@pytest.fixture
def repository(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "reduce.cuh").write_text(HEADER)
    (tmp_path / "norm.cu").write_text(KERNELS)
    (tmp_path / "other.cu").write_text("__global__ void block_sum(float* out) { out[0] = 1; }\n")
    return tmp_path


def test_a_kernel_reaches_what_is_compiled_with_it(repository):
    there = reaches(repository / "parts" / "reduce.cuh")
    assert {(r.function, r.kernel, r.path.name, r.line) for r in there.reaches} == {
        ("block_sum", "rows_sum", "norm.cu", 3),
        ("block_sum", "rows_twice", "norm.cu", 11),
        ("twice", "rows_twice", "norm.cu", 11),
    }


def test_where_there_are_too_many_files_nobody_is_looked_for(repository, monkeypatch):
    monkeypatch.setattr(reaching, "MOST_FILES", 2)
    there = reaches(repository / "parts" / "reduce.cuh")
    assert (there.reaches, there.why_not) == ((), f"{repository.name} holds more than 2 sources")


async def lenses_with(editor, uri, words, refreshed):
    """The lines above the header's functions, once one has these words."""
    while words not in str(titles := await lenses(editor, uri)):
        refreshed.clear()
        await asyncio.wait_for(refreshed.wait(), 60)
    return titles


@pytest.mark.long
async def test_a_headers_functions_say_which_kernels_reach_them_and_how_these_stand(repository):
    async with session(repository, {**ON, "commandLinks": True}) as editor:
        refreshed = asyncio.Event()
        editor.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda *_: refreshed.set())
        uri = editor.open(repository / "parts" / "reduce.cuh")
        titles = await lenses_with(editor, uri, "reached by", refreshed)
        both = "reached by rows_sum, rows_twice (norm.cu): not checked as it stands: open it"
        assert titles[SUM] == [(both, "klineage.showFinding")]
        assert titles[UNUSED] == [("reached by no kernel of this repository", "")]
        kernels = editor.open(repository / "norm.cu")
        checked = Checked(editor, kernels)
        assert (await checked.ended()).state == "right"
        ((title, _),) = (await lenses_with(editor, uri, "✓ right", refreshed))[SUM]
        assert re.fullmatch(
            rf"reached by rows_sum, rows_twice \(norm\.cu\): ✓ right {AT}, drafted workload", title
        )
        editor.replace(kernels, "+= twice(in[", "+= twice(in[1 + ")
        while (await checked.ended()).state != "wrong":
            pass
        titles = await lenses_with(editor, uri, "✗", refreshed)
        assert [title.partition(":")[0] for title, _ in titles[SUM]] == [
            "reached by rows_sum (norm.cu)",
            "rows_twice (norm.cu)",
        ]
        ((title, _),) = titles[TWICE]
        assert title.startswith("reached by rows_twice (norm.cu): ✗ out of bounds, line 14, at ")
        editor.close(kernels)  # the disk holds the text that was right
        ((title, _),) = (await lenses_with(editor, uri, "✓ right", refreshed))[TWICE]
        assert title.startswith("reached by rows_twice (norm.cu): ✓ right at ")


async def test_in_a_workspace_that_is_not_trusted_nobody_is_looked_for(repository):
    async with session(repository, {"trusted": False}) as editor:
        titles = await lenses(editor, editor.open(repository / "parts" / "reduce.cuh"))
        assert titles[SUM] == [("not checked: not trusted", "")]


@pytest.mark.long
async def test_a_fault_in_a_headers_code_is_shown_there_and_goes_with_its_line(repository):
    header = repository / "parts" / "reduce.cuh"
    header.write_text(HEADER.replace("    __syncthreads();\n    for", "    for"))
    async with session(repository, ON) as editor:
        there, kernels = header.as_uri(), editor.open(repository / "norm.cu")
        assert (await Checked(editor, kernels).ended()).state == "wrong"
        faulty = (
            header.read_text()
            .splitlines()
            .index(next(x for x in header.read_text().splitlines() if "+=" in x))
        )
        shown = editor.client.diagnostics[there]
        assert {(d.code, d.range.start.line, d.range.start.character) for d in shown} == {("race", faulty, 8)}
        (called,) = shown[0].related_information
        assert (called.location.uri, called.location.range.start.line, called.message) == (
            kernels, KERNELS.splitlines().index("    sum = block_sum(sum, shared);"), "rows_sum calls it here",
        )  # fmt: skip
        (own, *_) = editor.client.diagnostics[kernels]
        (inner, *_) = own.related_information
        assert (inner.location.uri, inner.message) == (there, "it happens here")
        editor.open(header)
        editor.replace(there, "#pragma once\n", "#pragma once\n// A line more.\n")
        await editor.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        while editor.client.diagnostics[there][0].range.start.line != faulty + 1:
            await editor.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        editor.replace(there, "step) shared", "step && step) shared")
        while editor.client.diagnostics[there]:
            await editor.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        assert editor.client.diagnostics[kernels], "where it is called it stays until it is checked again"
