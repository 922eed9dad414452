"""The documentation speaks of commands, targets and files that exist."""

import re
from pathlib import Path

import pytest

from kernel_gate.workload import parse_workload
from kernel_lineage.cli.main import main

ROOT = Path(__file__).parents[2]
SHORT = ("emulated-device", "replay", "verdicts", "workloads")
"""Pages that are read in three minutes; the rest is on a page behind each."""
WORDS = 600
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/agents.md",
    "docs/gating-changes.md",
    "docs/README.md",
    *(f"docs/{page}{part}.md" for page in SHORT for part in ("", "-reference")),
    "evidence/README.md",
    "tests/benchmarks/README.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_it_exists(page):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`?klineage ([a-z]+)\b", text))
    assert named <= set(main.list_commands(None)), page


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_in_it_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / page).read_text(), re.MULTILINE))
    assert named <= targets, page


@pytest.mark.parametrize("page", PAGES)
def test_every_file_it_points_to_is_there(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", prose(page))
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_section_it_points_to_is_there(page):
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", prose(page))
    here = ROOT / page
    missing = [(to, at) for to, at in links if at not in sections(here.parent / to if to else here)]
    assert missing == []


def prose(page):
    """A page without its code, in which brackets are no links."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / page).read_text(), flags=re.DOTALL)


def sections(page):
    """The anchors of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", SHORT)
def test_it_is_read_in_three_minutes(page):
    assert len((ROOT / f"docs/{page}.md").read_text().split()) <= WORDS


@pytest.mark.parametrize("page", ["workloads", "workloads-reference"])
def test_the_example_workload_is_one(page):
    example = re.search(r"```toml\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(), re.DOTALL)
    assert example is not None
    assert parse_workload(example[1]).promises == ("C % 4 == 0",)
