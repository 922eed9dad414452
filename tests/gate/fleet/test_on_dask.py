"""The same verdicts from a Dask cluster, on one of this machine."""

import pytest

from benchmarks.judged import judge_all
from gate.programs import affine, workload
from kernel_gate.fleet.on_dask import ClusterError, cluster_pool
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest

ORACLE = "import numpy as np\n\n\ndef affine(x, n):\n    return {'y': 2.0 * x.astype(np.float64) + 1.0}\n"


@pytest.fixture(scope="module")
def pool():
    with cluster_pool("local", workers=1) as workers:
        yield workers


@pytest.mark.long
def test_verdicts_are_those_of_this_machine_and_a_dead_worker_costs_one(pool, tmp_path):
    (tmp_path / "oracle.py").write_text(ORACLE)
    with_oracle = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    requests = [
        GateRequest.of(affine(), affine("2.0f", "3.0f"), with_oracle, device="emulated"),
        GateRequest.of(affine(), affine(), workload(), device="emulated", options=GateOptions(seed=-1)),
        GateRequest.of(affine(), affine(), workload(), device="emulated"),
    ]
    codes_by_number = {number: verdict.code for number, verdict in judge_all(pool, requests)}
    assert codes_by_number == {0: Reason.WRONG_VALUE, 1: Reason.WORKER_DIED, 2: Reason.NOT_PROFILED}


def test_a_file_that_cannot_travel_is_said_before_anything_runs(pool, tmp_path):
    outside = workload('[oracle]\npython = "../oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    with pytest.raises(ClusterError, match="put it beside the workload"):
        pool.judge(GateRequest.of(affine(), affine(), outside, device="emulated"))


@pytest.mark.parametrize(
    ("name", "message"), [("pbs", "is no cluster"), ("tcp://127.0.0.1:1", "no Dask scheduler answers")]
)
def test_a_cluster_that_is_not_there(name, message, monkeypatch):
    monkeypatch.setattr("kernel_gate.fleet.on_dask._CONNECT_SECONDS", 0.5)
    with pytest.raises(ClusterError, match=message), cluster_pool(name):
        pass
