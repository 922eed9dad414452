"""What crashed a reader once crashes it no more, and a few new inputs; `make attack` draws many."""

import os

import pytest

from attacks import fuzz_targets, fuzzing

EXAMPLES = 60
NAMES = sorted(p.name for p in fuzzing.CORPUS.iterdir())


@pytest.fixture(scope="module")
def targets():
    return fuzz_targets.targets()


@pytest.mark.parametrize("name", list(fuzz_targets.NAMES))
def test_nothing_but_a_refusal_comes_of_what_others_write(targets, name: str):
    for text in fuzzing.kept(name):
        fuzzing.within(targets[name], text)
    crash = fuzzing.examine(targets[name], EXAMPLES // targets[name].cost, 7, lambda: None)
    assert crash is None, crash


def test_every_kept_input_is_some_targets():
    assert set(NAMES) <= {name.replace(" ", "-") for name in fuzz_targets.NAMES}
    assert os.environ["KLINEAGE_KEEP_IN"]
