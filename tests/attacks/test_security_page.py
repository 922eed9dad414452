"""What SECURITY.md and its neighbours promise names tests, and the tests are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("SECURITY.md", "docs/threat-model.md", "tests/attacks/README.md")
NAMED = re.compile(r"\b(test_\w+)(\.py)?\b")


def _tests() -> tuple[set[str], set[str]]:
    paths = list((ROOT / "tests").rglob("test_*.py"))
    defined = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
    return {name for path in paths for name in defined.findall(path.read_text())}, {p.stem for p in paths}


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str):
    names, files = _tests()
    text = (ROOT / page).read_text("utf-8")
    assert {name for name, file in NAMED.findall(text) if name not in (files if file else names)} == set()
    assert page != "SECURITY.md" or len(NAMED.findall(text)) > 40


def test_every_sentence_of_a_promise_names_its_test():
    """A promise begins with its name in bold; each of its sentences ends with tests, or says why there is none."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    section = text.partition("## What runs, and where")[2].partition("\nWhat was tried")[0]
    promises = [" ".join(promise.split()) for promise in re.split(r"\n- ", section)[1:]]
    assert len(promises) > 20
    sentences = [
        sentence
        for promise in promises
        for sentence in re.split(r"(?<=[.)])\s+(?=[A-Z`])", re.sub(r"^\*\*[^*]+\.\*\* ", "", promise))
    ]
    untested = re.compile(r"\(no test: [^)]+\)")
    assert [
        s for s in sentences if not NAMED.search(s) and "TestAttempts" not in s and not untested.search(s)
    ] == []
    assert len(untested.findall(section)) < 3
