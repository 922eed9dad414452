"""Hover cards, asked of the real server."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from click.testing import CliRunner
from lsprotocol import types

from editor.conftest import SCALE
from editor.session import QUIET, session
from editor.test_code_lens import lenses
from kernel_lineage.cli.main import main
from kernel_lineage.editor.skill_text import offers_line, skill_lines
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.offers import offers_of
from kernel_lineage.rewrite.offers_document import KernelOffersDocument, OfferDocument
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.library import library
from longer import first_now

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_kernels_name_says_what_it_is_and_what_applies(editor, scale):
    uri = editor.open(scale)
    card = await editor.card(uri, "scale(float")
    assert card.startswith("**scale** · CUDA C++ kernel · launched on line 10 by `launch_scale`")
    assert "have a place here; which of them can be done is not known yet" in card


async def test_the_name_at_a_launch_shows_the_kernel(editor, scale):
    uri = editor.open(scale)
    assert (await editor.card(uri, "scale<<<")).startswith("**scale**")


async def test_an_anchor_shows_the_open_condition_and_what_can_be_done(scale):
    async with session(scale.parent, {"check": "off", "commandLinks": True}) as editor:
        uri = editor.open(scale)
        await editor.actions(uri, "row[i]", only=["refactor"])
        while "**Can be done now**" not in (card := await editor.card(uri, "row[i]")):
            await asyncio.sleep(0.1)
        assert "Vectorised row access" in card
        assert re.search(r"^[✓✗?] ", card, re.MULTILINE)
        assert len([line for line in card.splitlines() if line.strip()]) <= 8
        for link in ("[Apply through the gate](command:klineage.apply?", "[Why](command:klineage.showCards?"):
            assert link in card
        at = editor.position(uri, "row[i]")
        page = await editor.command(
            "klineage.cards", {"uri": uri, "line": at.line, "character": at.character}
        )
        assert "**Valid when**" in page["markdown"]
        for condition in ("✓ `dtype(x) in (", "? `C % 4 == 0`"):
            assert condition in page["markdown"]


async def test_hover_menu_lens_and_command_line_count_the_same_skills(scale):
    async with session(scale.parent, {"hypotheses": True, "check": "off", "device": "emulated"}) as editor:
        uri = editor.open(scale)
        await editor.actions(uri, "row[i]", only=["refactor"])
        while (lens := (await lenses(editor, uri))[1][1][0]) == "skills …":
            await asyncio.sleep(0.1)
        offered = [a for a in await editor.actions(uri, "row[i]") if a.data["by"] == "assist"]
        (count,) = re.findall(r"(\d+) can be done now", await editor.card(uri, "scale(float"))
    words = ["applicable", f"{scale}:scale", "--offers", "--json", "--device", "emulated"]
    run = CliRunner().invoke(main, words)
    (listed,) = json.loads(run.stdout)["kernels"]
    assert len(listed["offers"]) == len(offered) == int(count) == int(lens.split()[0])


@pytest.mark.parametrize(
    "encoding",
    first_now(
        [types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf32]
    ),
)
async def test_ranges_are_in_the_negotiated_units(scale, encoding):
    line = SCALE.splitlines()[4]
    before = line[: line.index("row[i]")]
    width = {
        "utf-8": len(before.encode()),
        "utf-16": len(before.encode("utf-16-le")) // 2,
        "utf-32": len(before),
    }
    async with session(scale.parent, QUIET, encodings=[encoding]) as editor:
        uri = editor.open(scale)
        params = types.HoverParams(
            types.TextDocumentIdentifier(uri), types.Position(4, width[encoding.value])
        )
        hover = await editor.client.text_document_hover_async(params)
        assert hover is not None
        assert hover.range is not None
        assert hover.range.start == types.Position(4, width[encoding.value])
        assert hover.range.end.character - hover.range.start.character == len("row[i]")


FEW_THREADS = """\
__global__ void add(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += x[i];
}
void launch(float* out, const float* x, int n) { add<<<(n + 63) / 64, 64>>>(out, x, n); }
"""


def _few_threads() -> Kernel:
    (kernel,) = read(FEW_THREADS.encode(), Language.CUDA).kernels
    return kernel


async def test_what_can_be_done_says_where_a_condition_speaks_against_it():
    kernel = _few_threads()
    skills = library(None).skills
    places = applicable(kernel, skills, Facts())
    offers = offers_of(kernel, places, skills, Facts())
    failing = {p.skill.id: p for p in places if p.gainless}
    there = [o for o in offers.offers if o.skill in failing]
    assert there
    line = offers_line(list(places), offers, True)
    for offer in there:
        place = failing[offer.skill]
        assert offer.gainless == place.gainless
        assert f"{place.skill.title} (no gain expected)" in line
        card = skill_lines(place, offers)
        assert card[-1].startswith("**Can be done now**")
        assert card[-1].endswith(f"; no gain is expected, as this does not hold: {place.gainless}")
        if card[-2].startswith("✗"):
            assert card[-2].startswith("✗ pays when `")
    others = [
        p for p in places if p.skill.id in {o.skill for o in offers.offers} - failing.keys() and p.possible
    ]
    assert others
    for place in others:
        assert not any(text.startswith("✗") for text in skill_lines(place, offers))


async def test_a_place_that_is_not_the_one_is_not_said_to_be():
    place = next(
        p for p in applicable(_few_threads(), library(None).skills, Facts()) if p.verdict is Truth.FAILS
    )
    offer = OfferDocument(skill=place.skill.id, line=9, where="a loop ends", guarded=False, measured="")
    offers = KernelOffersDocument(kernel="add", line=1, offers=[offer])
    assert not place.possible
    assert (
        skill_lines(place, offers)[-1] == "**Not at this place**: it can be done at line 9, where a loop ends"
    )
