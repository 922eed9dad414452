"""The sample repository, mined once for all tests of this folder."""

import pytest

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
