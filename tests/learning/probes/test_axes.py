"""Every axis, probed on its own examples on the emulated device: it finds what they say, and nothing else."""

import pytest

from kernel_gate.worker import Worker
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.registry import axes

EXAMPLES = [
    pytest.param(axis.id, example, id=f"{axis.id}-{number}")
    for axis in axes().values()
    for number, example in enumerate(axis.examples)
]


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize(("axis", "example"), EXAMPLES)
@pytest.mark.long
def test_an_axis_finds_what_its_example_says(axis, example, worker):
    report = probe(example.step(), worker.judge, only=[axis])
    assert report.passes, report.reason
    assert [c.condition.expr for c in report.conditions] == list(example.finds), report.dropped
    assert all(c.confirmation.share >= 0.95 for c in report.conditions)
