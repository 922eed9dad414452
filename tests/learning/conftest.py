"""What tests of this folder share: the sample repository, mined once, and a process that judges."""

import pytest

from kernel_gate.worker import Worker
from kernel_lineage.demo.sample import build_sample_repository
from kernel_lineage.history.mine import mine


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "repository"
    build_sample_repository(folder)
    return folder


@pytest.fixture(scope="session")
def mined(sample):
    return mine(sample, use_cache=False, jobs=1)


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker
