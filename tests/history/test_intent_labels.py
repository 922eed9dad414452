"""The labels by hand that intents are measured against: enough, of several repositories, each said once."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from kernel_lineage.history.model import Intent

_LABELS = Path(__file__).parents[1] / "benchmarks" / "intents" / "labels.toml"
_ROWS = tomllib.loads(_LABELS.read_text())["label"]


def test_there_are_enough_of_several_repositories() -> None:
    assert len(_ROWS) >= 150
    assert min(Counter(row["repository"] for row in _ROWS).values()) >= 20
    assert len({row["repository"] for row in _ROWS}) >= 3


def test_each_has_an_intent_and_a_reason_and_is_labelled_once() -> None:
    keys = [(r["repository"], r["commit"], r["path"], r["kernel"], r["before"]) for r in _ROWS]
    assert len(set(keys)) == len(keys)
    assert {row["intent"] for row in _ROWS} <= set(Intent)
    assert all(row["why"] for row in _ROWS)
