"""The documentation speaks of commands, targets and files that exist."""

import re
from pathlib import Path

import pytest

from kernel_gate.workload import parse_workload
from kernel_lineage.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/agents.md",
    "docs/gating-changes.md",
    "docs/verdicts.md",
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
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / page).read_text())
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert missing == []


def test_the_example_workload_is_one():
    example = re.search(r"```toml\n(.*?)```", (ROOT / "docs/workloads.md").read_text(), re.DOTALL)
    assert example is not None
    assert parse_workload(example[1]).promises == ("C % 4 == 0",)
