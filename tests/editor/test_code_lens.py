"""The line above a kernel: what was found of it, what can be done, how it came about."""

from __future__ import annotations

import asyncio
import re
import time

import pytest
from lsprotocol import types

from editor.session import session
from editor.test_check import ON, SUM, Checked
from editor.test_checked import UNMASKED
from kernel_lineage.editor.features.code_lens import in_short, when

ENDLESS = """\
__global__ void wait(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int turn = 0; turn < 2000000000; turn++) sum = sum * 0.5f + i;
    if (i < n) out[i] = sum;
}
void launch(float* out, int n) {
    wait<<<(n + 255) / 256, 256>>>(out, n);
}
"""
AT = r"at \d\d:\d\d( UTC| GMT)?"
LINKS = {**ON, "commandLinks": True}


async def lenses(editor, uri):
    """By line, the titles and commands of the lenses, resolved."""
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    titles = {}
    for lens in await editor.client.text_document_code_lens_async(params) or []:
        if lens.command is None:
            lens = await editor.client.code_lens_resolve_async(lens)
        titles.setdefault(lens.range.start.line, []).append((lens.command.title, lens.command.command))
    return titles


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("baseline-does-not-compile", "does not compile"),
        ("candidate-does-not-compile", "does not compile"),
        ("baseline-fails-check", "fails check"),
        ("out-of-bounds", "out of bounds"),
    ],
)
def test_what_is_wrong_with_a_kernel_alone_names_no_baseline(code, words):
    assert in_short(code) == words


@pytest.mark.parametrize(
    ("zone", "today", "earlier"),
    [
        ("UTC", "at 14:32 UTC", "on 25 Nov at 14:32 UTC"),
        ("CET-1CEST", "at 15:32", "on 25 Nov at 15:32"),
    ],
)
def test_when_a_kernel_was_checked_stays_true_while_the_line_is_shown(monkeypatch, zone, today, earlier):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    checked = 1_795_789_920.0  # 2026-11-27 14:32 UTC
    monkeypatch.setattr(time, "time", lambda: checked + 3600)
    assert [when(checked), when(checked - 2 * 86_400)] == [today, earlier]
    monkeypatch.undo()
    time.tzset()


async def test_a_kernel_that_is_right_for_some_sizes_alone_names_them(tmp_path):
    path = tmp_path / "add.py"
    path.write_text(UNMASKED)
    async with session(tmp_path, LINKS) as editor:
        uri = editor.open(path)
        await Checked(editor, uri).ended()
        (parts,) = (await lenses(editor, uri)).values()
        assert re.fullmatch(rf"✓ right where n % 32 == 0, {AT}", parts[0][0])


async def test_a_kernel_says_that_it_is_right_and_what_can_be_done(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    async with session(tmp_path, LINKS) as editor:
        refreshed = asyncio.Event()
        editor.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda *_: refreshed.set())
        uri = editor.open(path)
        checked = Checked(editor, uri)
        first = (await lenses(editor, uri))[0]
        assert first[0][0] in {"draft and check", "… checking"}
        await checked.ended()
        while (skills := (titles := await lenses(editor, uri))[0][1])[0] == "skills …":
            refreshed.clear()
            await refreshed.wait()
        title, command = titles[0][0]
        assert re.fullmatch(f"✓ right {AT}, drafted workload", title)
        assert command == "klineage.checkKernel"
        assert skills[0].split()[1].rstrip(",") in {"skill", "skills"}
        assert skills[1] == "klineage.applySkill"
        editor.replace(uri, "__syncthreads(); // of the step", "")
        while (await checked.ended()).state != "wrong":
            pass
        while (skills := (titles := await lenses(editor, uri))[0][1])[0] == "skills …":
            refreshed.clear()
            await refreshed.wait()
        title, command = titles[0][0]
        assert re.fullmatch(f"✗ race, line 7, {AT}", title)
        assert command == "klineage.showFinding"
        assert skills[0].startswith("no skills"), "nothing can be timed against a kernel that is wrong"
        assert "**Skills** 0 can be done now" in await editor.card(uri, "block_sum(")


@pytest.mark.long
async def test_a_kernel_that_takes_longer_than_a_check_may_says_so_and_can_be_checked_on_demand(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(ENDLESS)
    async with session(tmp_path, {"checkSeconds": 2, "commandLinks": True}) as editor:
        uri = editor.open(path)
        status = await Checked(editor, uri).ended()
        assert status.state == "unclear"
        assert "; a check that is asked for may take 60" in status.message
        title = (await lenses(editor, uri))[0][0][0]
        assert re.fullmatch(r"\? not ready in \d+ s: check now", title), title


async def test_to_an_editor_without_the_commands_the_line_is_a_text(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    async with session(tmp_path, {"trusted": False}) as editor:
        titles = await lenses(editor, editor.open(path))
        assert titles[0] == [("not checked: not trusted", "")]


@pytest.mark.long
async def test_a_kernel_that_the_time_did_not_reach_is_checked_when_it_is_in_view(tmp_path):
    path = tmp_path / "sum.cu"
    path.write_text(SUM)
    async with session(tmp_path, {**LINKS, "checkSeconds": 1}) as editor:
        uri = editor.open(path)
        checked = Checked(editor, uri)
        await checked.ended()  # the processes have started
        editor.replace(uri, "s >>= 1", "s >>= 0")  # without end
        editor.replace(uri, "2 * x[i]", "x[i] * 2")
        await checked.save()
        last = SUM[: SUM.index("__global__ void twice")].count("\n")
        assert (await lenses(editor, uri))[last][0] == (
            "? not reached yet: check now",
            "klineage.checkKernel",
        )
        await checked.ended()
        assert (await lenses(editor, uri))[last][0][0].startswith("✓ right")


@pytest.mark.long
async def test_a_kernel_below_another_of_its_name_is_checked_on_its_own(tmp_path):
    path = tmp_path / "sum.cu"
    kernel = SUM[: SUM.index("\n}\n") + 3]
    path.write_text(f"{SUM}\nnamespace other {{\n{kernel}}}\n")
    async with session(tmp_path, ON) as editor:
        uri = editor.open(path)
        await Checked(editor, uri).ended()
        titles = await lenses(editor, uri)
        second = max(titles)
        assert titles[0][0][0].startswith("✓ right")
        assert titles[second][0][0] == "? no workload: say what is missing", "nothing launches it"
