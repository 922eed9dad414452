"""Surroundings that a cheat would profit from are noticed, and change nothing for an honest run."""

import pytest

from gate.corpus import passes
from gate.environments import ENVIRONMENTS

pytestmark = pytest.mark.usefixtures("nothing_built")


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: f"{e.row}_{e.name}")
def test_the_surroundings_are_noticed(environment, tmp_path, monkeypatch):
    assert environment.caught(environment.cheat(tmp_path, monkeypatch)) == ""


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: f"{e.row}_{e.name}")
def test_honest_surroundings_change_nothing(environment, tmp_path, monkeypatch):
    verdict = environment.honest(tmp_path, monkeypatch)
    assert passes(verdict), verdict.reason
