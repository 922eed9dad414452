"""The page: self-contained, everything escaped, every plot that the verdict's numbers allow and no other."""

import itertools
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree as ET

import pytest

from gate.reporting.verdicts import ACCEPTED, ALL, BUILD, CHECK, REJECTED, SANITIZE, UNTIMED, judged
from kernel_gate.reasons import Reason
from kernel_gate.reporting import plots, svg
from kernel_gate.reporting.device_states import throttle_words
from kernel_gate.reporting.html import render
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.reporting.reason_links import link_to
from kernel_gate.verdict import Stage, StageStatus


class Page(HTMLParser):
    """Checks that tags close, and collects what would leave the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.leaving: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.leaving += [f"{tag} {value}" for name, value in attrs if name in {"src", "href", "action"}]
        self.leaving += [tag] if tag in {"script", "link", "iframe", "img"} else []
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass


def captions(one: NamedVerdict) -> list[str]:
    return re.findall("<figcaption>(.*?)</figcaption>", render([one]))


def test_the_page_is_whole_and_asks_for_nothing():
    page = render(ALL)
    document = Page(page)
    assert document.open == []
    assert all(re.fullmatch(r"a #verdict-\d", link) for link in document.leaving) and len(
        document.leaving
    ) == len(ALL)
    assert "url(" not in page and "@import" not in page


@pytest.mark.parametrize("verdicts", [[ACCEPTED], ALL], ids=["one", "several"])
def test_the_page_can_be_read_by_keyboard_and_aloud(verdicts):
    page = render(verdicts)
    levels = [0, *map(int, re.findall(r"<h(\d)", page))]
    assert levels[1] == 1 and max(b - a for a, b in itertools.pairwise(levels)) == 1
    assert "<th></th>" not in page
    assert all("tabindex" in block for block in re.findall("<pre.*?>", page))


def test_every_picture_is_an_image_of_its_own():
    pictures = re.findall("<svg.*?</svg>", render([ACCEPTED]))
    assert len(pictures) == 4
    for picture in pictures:
        root = ET.fromstring(picture)
        assert root.get("aria-label")
        width, height = float(root.get("width", "0")), float(root.get("height", "0"))
        for mark in root.iter("circle"):
            assert 0 <= float(mark.get("cx", "-1")) <= width and 0 <= float(mark.get("cy", "-1")) <= height


def test_what_is_drawn_is_what_was_measured():
    assert captions(ACCEPTED) == [
        "Speed-up by shape", "Bandwidth", "Times at N 4096, C 1024", "Times at N 4096, C 2048",
    ]  # fmt: skip
    assert captions(UNTIMED) == captions(REJECTED) == []


def test_counted_operations_make_a_roofline():
    profile = ACCEPTED.verdict.stages[-1]
    shapes = [{**s, "flop": 1e9, "peak_flop_per_second": 6.7e13} for s in profile.details["shapes"]]
    counted = profile.model_copy(update={"details": {"shapes": shapes}})
    with_work = judged(BUILD, CHECK, SANITIZE, counted, speedup=ACCEPTED.verdict.speedup)
    assert "Roofline" in captions(with_work) and "Bandwidth" not in captions(with_work)
    assert "% of the roof" in render([with_work])


def test_warm_times_and_the_state_of_the_device_are_shown():
    page = render([ACCEPTED])
    assert "Times with a warm L2 cache" in page and "1.310× (1.300 … 1.320)" in page
    assert (
        "<td>44 °C</td><td>650 W</td><td>1830 MHz</td><td>power cap, software thermal slowdown</td>" in page
    )
    assert "those of 60 of 90 blocks" in page
    assert "warm L2 cache" not in render([UNTIMED]) and "SM clock" not in render([UNTIMED])


def test_bits_that_nobody_has_named_are_shown_as_a_number():
    assert throttle_words(0) == "none"
    assert throttle_words(0x1000 | 0x1) == "idle, 0x1000"


@pytest.mark.parametrize("reason", Reason)
def test_every_code_is_linked_to_its_section(reason):
    address, _, line = link_to(reason).partition("#L")
    page = Path(unquote(urlparse(address).path)).read_text("utf-8").splitlines()
    assert page[int(line) - 1] == f"### {reason}"
    assert link_to("no-such-code") is None


def test_the_verdict_its_code_and_its_remedy_are_said():
    page = render([REJECTED])
    assert "<code>wrong-value</code>" in page and "its index, shape and seed repeat the failure." in page
    assert "expected &lt;0.012&gt;" in page
    assert "NVIDIA H200 · 2026-11-21 09:00:00 UTC" in page
    assert "kernels/soft max.cu:31 against main:kernels/soft max.cu" in page
    assert "1.8e-06: float32" in page and "companions.oracle.py" in page


def test_words_of_a_program_are_never_markup():
    spoken = Stage(
        name="check", status=StageStatus.FAIL, reason="<script>alert(1)</script>", details={"<b>": "<i>"}
    )
    page = render([judged(BUILD, spoken, kernel="<u>k</u>")])
    assert not {"<script>", "<b><", "<i>", "<u>"} & set(re.findall("<[a-z]+>", page))


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (svg.Axis(0.96, 1.33, 0, 1), [1.0, 1.1, 1.2, 1.3]),
        (svg.Axis(74.0, 103.0, 0, 1), [75, 80, 85, 90, 95, 100]),
        (svg.Axis(1e9, 2e12, 0, 1, log=True), [1e9, 1e10, 1e11, 1e12]),
        (svg.Axis(5.0, 5.0, 0, 1), [5.0]),
    ],
)
def test_ticks_are_round(axis, ticks):
    assert axis.ticks() == pytest.approx(ticks)


def test_many_samples_stay_a_small_picture():
    many = [100.0 + (i * 7919 % 1000) / 1000 for i in range(20_000)]
    assert len(plots.distribution(many, many)) < 80_000
    assert "NaN" not in plots.distribution([5.0] * 10, [5.0] * 10)
