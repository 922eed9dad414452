"""Every axis, probed on its own examples on the emulated device: it finds what they say, and nothing else."""

import pytest

from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.registry import axes
from learning.probes.axis_examples import EXAMPLES

CASES = [
    pytest.param(axis, example, id=f"{axis}-{number}")
    for axis, examples in EXAMPLES.items()
    for number, example in enumerate(examples)
]


def test_every_axis_has_examples():
    assert EXAMPLES.keys() == axes().keys()


@pytest.mark.parametrize(("axis", "example"), CASES)
@pytest.mark.long
def test_an_axis_finds_what_its_example_says(axis, example, worker):
    report = probe(example.step(), worker.judge, only=[axis])
    assert report.passes, report.reason
    assert [c.condition.expr for c in report.conditions] == list(example.finds), report.dropped
    assert all(c.confirmation.share >= 0.95 for c in report.conditions)
