"""Answers fit what was asked for and say what they leave out; a diff is made exactly or not at all."""

from __future__ import annotations

import json
import time

import pytest

from kernel_lineage.agents.answers import Answer, fitted, reply
from kernel_lineage.agents.unified_diff import DiffError, patched

TEXT = "a\nb\nc\nd\ne\nb\nc\n"


def test_an_answer_that_fits_is_whole():
    data = {"result": {"kernels": [{"why": "x" * 500}]}}
    assert fitted(data, 2000) == data


@pytest.mark.parametrize("tokens", [300, 1000, 2000])
def test_the_longest_lists_and_texts_are_cut_and_counted(tokens):
    steps = [{"subject": f"step {i}", "guards": ["i < n"] * 3} for i in range(400)]
    data = {"state": "done", "result": {"lineages": [{"kernel": "k", "steps": steps}], "toml": "y" * 50_000}}
    cut = fitted(data, tokens)
    assert len(json.dumps(cut, ensure_ascii=False, separators=(",", ":"))) <= 3 * tokens
    kept = cut["result"]["lineages"][0]["steps"]
    assert kept == steps[: len(kept)] and kept
    assert cut["left_out"]["result.lineages[0].steps"] == 400 - len(kept)
    assert cut["left_out"]["result.toml"] == 50_000 - len(cut["result"]["toml"])


def test_hidden_characters_of_a_repository_are_made_visible():
    answer = Answer(state="done", result={"why": "safe\u202e\x1b[2J"})
    assert reply(answer, 2000).structured_content["result"]["why"] == "safe\\u202e\\u001b[2J"


def test_a_diff_is_made_at_its_line():
    assert patched(
        TEXT, "--- a/k.cu\n+++ b/k.cu\n@@ -2,2 +2,2 @@\n-b\n+B\n c\n@@ -6,1 +6,2 @@\n-b\n+x\n+y\n"
    ) == ("a\nB\nc\nd\ne\nx\ny\nc\n")


def test_a_diff_whose_line_is_off_is_made_where_it_fits_once():
    assert patched(TEXT, "@@ -1,1 +1,1 @@\n-e\n+E\n") == TEXT.replace("e", "E")


def test_added_lines_follow_the_line_that_a_diff_names():
    assert patched("a\nb\n", "@@ -1,0 +2 @@\n+x\n") == "a\nx\nb\n"
    assert patched("a\nb\n", "@@ -0,0 +1 @@\n+x\n") == "x\na\nb\n"


HUNK = "@@ -1,1 +1,1 @@\n-u{}\n+x\n"


@pytest.mark.parametrize(
    ("text", "diff", "why"),
    [
        ("a\n" * 300_000, "@@ -1,1 +1,1 @@\n" + "-a\n" * 100_000 + "-b\n", "does not fit"),
        (
            "\n".join(f"u{i}" for i in range(100_000)),
            "".join(HUNK.format(i * 5) for i in range(1, 20_000)),
            "too many",
        ),
        ("a\n" * 300_000, "@@ -1,0 +1,1 @@\n+x\n" * 40_000, "too many"),
        ("a\n", f"@@ -{'9' * 5000},1 +1,1 @@\n-a\n+x\n", "has no hunk"),
    ],
)
def test_a_hostile_diff_is_refused_in_seconds(text, diff, why):
    began = time.process_time()
    with pytest.raises(DiffError, match=why):
        patched(text, diff)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("diff", "why"),
    [
        ("@@ -3,1 +3,1 @@\n-b\n+B\n", "several places"),
        ("@@ -1,1 +1,1 @@\n-z\n+B\n", "does not fit"),
        ("b\n", "has no hunk"),
        ("@@ -1,1 +1,1 @@\n*a\n", "begins with blank"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(diff, why):
    with pytest.raises(DiffError, match=why):
        patched(TEXT, diff)
