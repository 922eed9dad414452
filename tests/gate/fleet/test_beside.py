"""GPUs beside the processor: who judges what, and how many workers there are."""

from __future__ import annotations

import pytest

from kernel_gate.fleet import places as fleet_places
from kernel_gate.fleet.beside import GpusAndProcessor
from kernel_gate.fleet.places import Place, beside_gpus
from kernel_gate.fleet.pool import LocalPool
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.workload import Workload

WORKLOAD = Workload.model_validate(
    {
        "kernel": "k",
        "language": "cuda",
        "source": "k.cu",
        "args": [{"name": "out", "kind": "output", "dtype": "float32", "shape": [1]}],
        "launch": {"grid": ["1"]},
    }
)


class Named(LocalPool):
    """A pool that says who was asked."""

    def __init__(self, name: str, places: int) -> None:
        super().__init__([Place(f"{name} {i}") for i in range(places)])
        self.name = name

    def judge(self, request, **_arguments):
        return self.name


@pytest.mark.parametrize(("device", "who"), [("cuda", "gpus"), ("auto", "gpus"), ("emulated", "processor")])
def test_a_request_goes_to_what_it_needs(device, who, monkeypatch):
    monkeypatch.setattr("kernel_gate.fleet.beside.LocalPool", lambda places: Named("processor", len(places)))
    program = Program("cuda", "", "k")
    with GpusAndProcessor(Named("gpus", 2), [Place("p")] * 3) as pool:
        assert pool.judge(GateRequest.of(program, program, WORKLOAD, device=device)) == who
        assert (pool.size, pool.emulated_size) == (2, 3)


@pytest.mark.parametrize(("cores", "gpus", "count"), [(64, 4, 24), (16, 1, 6), (2, 1, 1)])
def test_the_compilers_of_a_gpu_keep_their_cores(cores, gpus, count, monkeypatch):
    monkeypatch.setattr(fleet_places, "share_of_cores", lambda _workers: cores)
    made = beside_gpus(gpus)
    assert len(made) == count
    assert all(dict(place.environment) == {"CUDA_VISIBLE_DEVICES": ""} for place in made)
