"""The report: everything in one file, and nothing from a repository is taken as markup."""

import dataclasses
import itertools
import re

import pytest

from kernel_lineage.report.page import render, write
from kernel_lineage.report.view import (
    CheckView,
    ConditionView,
    DiffLine,
    LineageView,
    ReportView,
    TransitionView,
    VersionView,
)

STEP = TransitionView(
    subject="rmsnorm: 16-byte loads",
    commit="2e0e9a5d",
    author="A",
    date="2025-03-11",
    kind="edit",
    intent="optimisation",
    because="adds vectorised_access",
    added=("vectorised_access",),
    removed=(),
    compound=False,
    risks=("bug: the last columns were not written",),
    conditions=(ConditionView("C % 4 == 0", "C is a multiple of 4", "later fix", "2d123de"),),
    before="v2 rmsnorm",
    after="v3 rmsnorm",
    check=CheckView("wrong", "y[0, 257] = NaN (not written)"),
    effect="",
    counts=("sectors per global request 32.0 → 16.0",),
    diff=(DiffLine("removed", "float v = x[i];"), DiffLine("added", "float4 v = x4[i];")),
)
PAGE = ReportView(
    repository="sample",
    head="6da686774",
    device="emulated",
    made="2025-04-01",
    counts=(("1", "lineages"),),
    lineages=(
        LineageView(
            "lineage-0",
            "rmsnorm",
            "cuda",
            (VersionView("v1", "rmsnorm.cu:3", "2e0e9a5d", "2025-03-11", CheckView("right", "")),),
            (STEP,),
        ),
    ),
)


def test_a_step_shows_what_changed_what_it_needs_and_what_went_wrong():
    page = render(PAGE)
    for text in (
        "vectorised_access",
        "C is a multiple of 4",
        "NaN (not written)",
        "float4 v = x4[i];",
        "later fix",
        "sectors per global request 32.0",
    ):
        assert text in page


@pytest.mark.parametrize("lineages", [1, 2])
def test_the_page_can_be_read_by_keyboard_and_aloud(lineages):
    page = render(dataclasses.replace(PAGE, lineages=PAGE.lineages * lineages))
    levels = [0, *map(int, re.findall(r"<h(\d)", page))]
    assert levels[1] == 1 and max(b - a for a, b in itertools.pairwise(levels)) == 1
    assert all("tabindex" in block for block in re.findall("<pre.*?>", page))
    assert 'role="img"' not in page, "its rows are links"


def test_nothing_is_loaded_from_elsewhere():
    page = render(PAGE)
    assert not re.search(r"""(?:src|href)=["'](?!#)|url\(|<script|@import""", page)


def test_markup_in_a_commit_is_text():
    hostile = dataclasses.replace(STEP, subject="<script>alert(1)</script>", author='"><img src=x>')
    lineage = dataclasses.replace(PAGE.lineages[0], transitions=(hostile,))
    page = render(dataclasses.replace(PAGE, lineages=(lineage,)))
    assert "<script>" not in page
    assert "<img" not in page


def test_an_earlier_report_is_replaced_whole(tmp_path):
    path = tmp_path / "out" / "report.html"
    write(PAGE, path)
    write(dataclasses.replace(PAGE, repository="other"), path)
    assert "other" in path.read_text()
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
