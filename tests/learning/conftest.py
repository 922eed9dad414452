"""What tests of this folder share: the sample repository, mined once, and a process that judges."""

from pathlib import Path

import pytest

from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Worker
from kernel_lineage.demo.sample import build_sample_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.learning.gate_changes import Judge


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


@pytest.fixture(scope="module")
def judged(worker) -> Judge:
    """What `gate_changes` asks for each verdict: one process gives all of a file's, at the shapes that are named."""

    def judge(request: GateRequest, _candidate: Path, _name: str) -> Verdict:
        named = request.options.model_copy(update={"hidden": False, "callers_seconds": 0.0})
        return worker.judge(request.model_copy(update={"options": named}))

    return judge
