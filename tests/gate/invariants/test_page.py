"""docs/invariants.md: what it shows as statements are statements."""

import re
from pathlib import Path

import pytest

from kernel_gate.invariants.grammar import read_assertion, read_tag

PAGE = (Path(__file__).parents[3] / "docs/invariants.md").read_text("utf-8")
SHOWN = sorted(
    {*re.findall(r"klineage: ((?:tag|assert) [^`\n]+)", PAGE), *re.findall(r"`(tag \w[^`(]*\[[^`]*)`", PAGE)}
)


def test_the_page_shows_some():
    assert len(SHOWN) > 6


@pytest.mark.parametrize("text", SHOWN)
def test_what_the_page_shows_can_be_read(text):
    if "…" not in text:
        (read_tag if text.startswith("tag") else read_assertion)(text.strip())
