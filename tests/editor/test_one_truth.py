"""Hover, menu, the line above a kernel and the agents' tool say what `klineage applicable` says."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from mcp import Client

from editor.session import QUIET, session
from editor.test_code_lens import lenses
from kernel_lineage.agents.root import Root
from kernel_lineage.agents.server import agent_server
from kernel_lineage.rewrite.offers_document import OffersDocument
from kernel_lineage.rewrite.standing import Standing

pytestmark = pytest.mark.asyncio(loop_scope="session")
NAIVE = Path(__file__).parents[1] / "benchmarks" / "naive"
KERNELS = (
    "seen/adamw",
    "seen/add",
    "seen/add_transposed_layers",
    "held/argmin_rows",
    "held/bias_channels",
    "held/byte_histogram",
    "held/causal_conv1d",
    "held/column_max",
    "held/gemm_int8",
)
NAMESAKE = """
__global__ void add(float* out, const float* x, int C) {
    __shared__ float part[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) sum += x[blockIdx.x * C + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
"""A kernel with skills of its own, and the name of one above it."""


@pytest.mark.long
async def test_all_say_the_same_of_what_can_be_done(tmp_path):
    path = tmp_path / "many.cu"
    path.write_text("\n".join((NAIVE / f"{name}.cu").read_text() for name in KERNELS) + NAMESAKE)
    command = [sys.executable, "-m", "kernel_lineage", "applicable", str(path), "--offers", "--json"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout
    kernels = OffersDocument.model_validate_json(listed).kernels
    assert len(kernels) > len(KERNELS)
    assert sum(bool(kernel.offers) for kernel in kernels) >= 8
    await _agents_hear(path, OffersDocument.model_validate_json(listed))
    async with session(tmp_path, {**QUIET, "commandLinks": True}) as editor:
        uri = editor.open(path)
        while any("skills …" in title for line in (await lenses(editor, uri)).values() for title, _ in line):
            await asyncio.sleep(0.2)
        above = await lenses(editor, uri)
        for kernel, (line, titles) in zip(kernels, sorted(above.items()), strict=True):
            now = sum(not offer.hypothesis for offer in kernel.offers)
            guesses = sum(offer.hypothesis for offer in kernel.offers)
            waiting = sum(one.standing is Standing.NEEDS_FACT for one in kernel.refused)
            assert _counts(titles[1][0], "skill", "hypothes", "need") == (now, guesses, waiting), (
                kernel.kernel
            )

            at = types.Position(line, path.read_text().splitlines()[line].index(f"{kernel.kernel}("))
            card = await editor.client.text_document_hover_async(
                types.HoverParams(types.TextDocumentIdentifier(uri), at)
            )
            shown = next(part for part in card.contents.value.splitlines() if part.startswith("**Skills**"))
            assert _counts(shown, "can be", "as a", "need") == (now, guesses, waiting), kernel.kernel

            context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
            menu = await editor.client.text_document_code_action_async(
                types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(at, at), context)
            )
            entries = [entry for entry in menu if entry.data and "skill" in entry.data]
            can = {entry.data["skill"] for entry in entries if entry.disabled is None}
            assert can == {offer.skill for offer in kernel.offers}, kernel.kernel
            reasons = {
                one.skill: one.reason for one in kernel.refused if one.standing is not Standing.NO_ASSIST
            }
            cannot = {entry.data["skill"]: entry.disabled.reason for entry in entries if entry.disabled}
            for skill in cannot.keys() & reasons.keys():
                assert reasons[skill] in cannot[skill]
        assert "means the kernel of that name at line" in cannot["warp-shuffle-reduction"]


async def _agents_hear(path: Path, listed: OffersDocument) -> None:
    """They hear the same: of the whole file, and of each kernel by its name with what is refused."""
    async with Client(agent_server(Root(path.parent.resolve(), trusted=True))) as client:

        async def offered(**arguments: object) -> OffersDocument:
            everything = {"file": path.name, "max_tokens": 50_000, "wait_seconds": 50}
            answer = await client.call_tool("applicable_skills", everything | arguments)
            assert not answer.is_error, answer.content[0].text
            return OffersDocument.model_validate(answer.structured_content["result"])

        whole = {kernel.line: kernel for kernel in (await offered()).kernels}
        assert whole == {k.line: k.model_copy(update={"refused": []}) for k in listed.kernels}
        meant = {kernel.kernel: kernel for kernel in reversed(listed.kernels)}
        for name, kernel in meant.items():  # the first of two that share a name
            assert (await offered(kernel=name)).kernels == [kernel], name


def _counts(text: str, *words: str) -> tuple[int, ...]:
    """The numbers before some words; 0 where there is none."""
    matches = (re.search(rf"(\d+) {word}", text) for word in words)
    return tuple(int(match[1]) if match else 0 for match in matches)
