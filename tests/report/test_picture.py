"""A lineage as a picture: one row a step, bars where something was timed, and what went wrong beside what came."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from click.testing import CliRunner

from history.repositories import Step, make_repository
from kernel_lineage.cli.main import main
from kernel_lineage.report.page import render_svg
from kernel_lineage.report.picture import BARS, BARS_WIDTH, LINE, WORDS_WIDTH, picture
from kernel_lineage.report.view import CheckView, LineageView, MeasuredView, TransitionView, VersionView
from report.test_page import STEP


def step(one: int, other: int, **changes: object) -> TransitionView:
    """A step from one numbered version to another."""
    values = {
        "before": f"v{one} sum",
        "after": f"v{other} sum",
        "check": None,
        "risks": (),
        "conditions": (),
        "counts": (),
    }
    return dataclasses.replace(STEP, **{**values, **changes})  # type: ignore[arg-type]


def tidy(before: int, after: int) -> TransitionView:
    return step(before, after, intent="refactor", added=(), removed=())


def lineage(*steps: TransitionView) -> LineageView:
    versions = tuple(
        VersionView(f"v{n} sum", "sum.cu:1", "c", "2026-01-01", None) for n in range(1, len(steps) + 2)
    )
    return LineageView("lineage-0", "sum", "cuda", versions, steps)


FASTER = MeasuredView(2.0, 1.9, 2.1, "H200")
SLOWER = MeasuredView(0.5, 0.45, 0.55, "H200")


def test_bars_lead_from_one_speed_to_the_next_and_a_loss_goes_back():
    up, down = picture(lineage(step(1, 2, measured=FASTER), step(2, 3, measured=SLOWER))).rows
    assert up.bar is not None
    assert down.bar is not None
    assert (up.bar.faster, down.bar.faster) == (True, False)
    assert (up.bar.x, up.bar.width) == (down.bar.x, down.bar.width)
    assert up.bar.low < up.bar.x + up.bar.width < up.bar.high
    assert BARS <= up.bar.x <= down.bar.x + down.bar.width <= BARS + BARS_WIDTH


def test_a_step_that_nobody_timed_says_so_beside_those_that_were():
    drawn = picture(
        lineage(step(1, 2, measured=FASTER), step(2, 3), step(3, 4, counts=("sectors 32 → 4 (worst: …)",)))
    )
    assert [row.instead for row in drawn.rows] == ["", "not measured", "sectors 32 → 4"]
    assert drawn.device == "H200"
    assert "2×" in {label for _, label in drawn.ticks}


def test_where_nothing_was_timed_there_is_no_axis():
    drawn = picture(lineage(step(1, 2)))
    assert (drawn.ticks, drawn.device, drawn.rows[0].start, drawn.rows[0].instead) == ((), "", None, "")
    drawing = render_svg(lineage(step(1, 2)))
    assert "nothing was timed" in drawing
    assert f'viewBox="0 0 {WORDS_WIDTH} ' in drawing, "words alone take no room for effects"


def test_steps_in_which_nothing_happened_are_one_row():
    drawn = picture(lineage(tidy(1, 2), tidy(2, 3), step(3, 4), tidy(4, 5)))
    assert [(row.label, row.node) for row in drawn.rows] == [("v3", "folded"), ("v4", "soft"), ("v5", "soft")]
    assert drawn.rows[0].subject[0].startswith("2 steps")


def test_a_branch_and_a_new_name_are_said():
    drawn = picture(lineage(step(1, 2), step(1, 3, after="v3 sum_kernel2")))
    assert "from v1" in drawn.rows[1].said
    assert "now sum_kernel2" in drawn.rows[1].said


def test_failures_are_drawn_too():
    failed = step(1, 2, check=CheckView("wrong", "y[3] = NaN"), risks=("bug: a", "slower: b", "revert: c"))
    (row,) = picture(lineage(failed)).rows
    assert row.node == "bad"
    assert [text for _, text in row.notes] == ["✗ y[3] = NaN", "▲ bug: a", "▲ slower: b", "▲ and 1 more"]


def test_a_long_subject_takes_several_lines_and_is_not_cut():
    subject = (
        "Stage both tiles in shared memory, pad their rows against bank conflicts and unroll the inner loop"
    )
    long, short = picture(lineage(step(1, 2, subject=subject), step(2, 3))).rows
    assert len(long.subject) == 3
    assert max(map(len, long.subject)) <= 48
    assert " ".join(long.subject) == subject
    assert long.height == short.height + 2 * LINE
    drawing = ET.fromstring(render_svg(lineage(step(1, 2, subject=subject))))
    texts = drawing.findall(".//{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}text")
    (shown,) = (text for text in texts if text.get("class") == "subject")
    assert "".join(shown.itertext()) == subject
    below = texts[texts.index(shown) + 1]
    assert float(below.get("y", 0)) == float(shown[-1].get("y", 0)) + LINE
    (endless,) = picture(lineage(step(1, 2, subject="word " * 60))).rows
    assert endless.subject[-1].endswith(" …")


def test_twenty_versions_fit_and_rows_do_not_overlap():
    drawn = picture(lineage(*(step(n, n + 1, risks=("bug: x",) * (n % 4)) for n in range(1, 21))))
    for one, other in zip(drawn.rows, drawn.rows[1:], strict=False):
        assert one.y + one.height == other.y
    assert drawn.rows[-1].y + drawn.rows[-1].height <= drawn.height


def test_the_drawing_stands_alone_is_described_and_takes_nothing_as_markup():
    hostile = step(1, 2, subject='<script>alert("&")</script>', author="<b>")
    text = render_svg(lineage(hostile))
    drawing = ET.fromstring(text)
    spaces = {"svg": "http://www.w3.org/2000/svg"}
    assert drawing.find("svg:title", spaces) is not None
    assert drawing.find("svg:desc", spaces) is not None
    assert drawing.find(".//svg:script", spaces) is None
    assert not re.search(r"""(?:src|href)=["'](?!#)|url\(|@import""", text)
    assert "prefers-color-scheme: dark" in text


def test_the_command_draws_one_lineage(tmp_path: Path):
    kernel = "__global__ void sum(float* o) { o[threadIdx.x] = 1.0f; }\n"
    make_repository(
        tmp_path, [Step("begin", {"sum.cu": kernel}), Step("two", {"sum.cu": kernel.replace("1.0f", "2.0f")})]
    )

    def run(*arguments: str) -> int:
        return CliRunner().invoke(main, ["report", str(tmp_path), *arguments]).exit_code

    drawing, page = tmp_path / "sum.svg", tmp_path / "sum.html"
    assert run("--kernel", "sum", "--svg", "-o", str(drawing)) == 0
    assert ET.parse(drawing).getroot().tag.endswith("svg")
    assert run("--kernel", "sum", "-o", str(page)) == 0
    assert "<svg" in page.read_text()
    assert run("--svg") == 2
    assert run("--kernel", "nothing") == 1
