"""Several workers on this machine: what ends one worker costs one verdict."""

import pytest

from benchmarks.judged import judge_all
from gate.programs import affine, workload
from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.places import Place, emulated_places
from kernel_gate.fleet.pool import LocalPool
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome
from kernel_gate.worker import Worker


def request(candidate=None, **options) -> GateRequest:
    return GateRequest.of(
        affine(), candidate or affine(), workload(), device="emulated", options=GateOptions(**options)
    )


RIGHT, WRONG, FATAL = request(), request(affine("2.0f", "3.0f")), request(seed=-1)


def codes(pool: LocalPool, requests: list[GateRequest]) -> dict[int, Reason | None]:
    return {number: verdict.code for number, verdict in judge_all(pool, requests)}


def test_each_request_gets_its_own_verdict():
    with LocalPool(emulated_places(2)) as pool:
        message = codes(pool, [RIGHT, WRONG, RIGHT])
    assert message == {0: Reason.NOT_PROFILED, 1: Reason.WRONG_VALUE, 2: Reason.NOT_PROFILED}


def test_a_worker_that_dies_costs_one_verdict():
    with LocalPool(emulated_places(1)) as pool:
        assert codes(pool, [FATAL, WRONG]) == {0: Reason.WORKER_DIED, 1: Reason.WRONG_VALUE}


def test_who_stops_asking_waits_for_nothing_that_has_not_begun():
    with LocalPool(emulated_places(1)) as pool:
        verdicts = judge_all(pool, [WRONG, *[RIGHT] * 1000])
        assert next(verdicts)[0] == 0
        verdicts.close()


def test_a_place_without_its_device_hands_its_request_to_the_others(monkeypatch):
    judged = Worker.judge

    def judge(self, *arguments, **rest):
        if "CUDA_VISIBLE_DEVICES" in self._environment:
            raise DeviceError("GPU 1 fell off the bus")
        return judged(self, *arguments, **rest)

    monkeypatch.setattr(Worker, "judge", judge)
    broken = Place("broken", (("CUDA_VISIBLE_DEVICES", "1"),))
    with LocalPool([broken, *emulated_places(1)]) as pool:
        assert pool.judge(WRONG).outcome is Outcome.REJECTED
        assert pool.size == 1
    with LocalPool([broken]) as pool, pytest.raises(DeviceError, match="fell off"):
        pool.judge(WRONG)
