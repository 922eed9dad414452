"""GPUs kept for what needs one: requests for the emulated device go to workers of their own beside them.

Learning from a step runs hundreds of small cases on the emulated device. A GPU's worker would spend most of its time on
those, with the GPU idle and most of the processor too.
"""

from collections.abc import Mapping
from typing import Unpack

from kernel_gate.fleet.places import Place, beside_gpus
from kernel_gate.fleet.pool import LocalPool, Pool
from kernel_gate.processes.closing import Closing
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Judging


class GpusAndProcessor(Closing, Pool):
    """A pool of GPU workers and one of emulated workers, each asked for what it is for. A context manager.

    A worker's process starts with its first request: whoever never asks for the emulated device has none.
    """

    def __init__(self, gpus: LocalPool, places: list[Place] | None = None) -> None:
        self._gpus = gpus
        self._emulated = LocalPool(beside_gpus(gpus.size) if places is None else places)

    def close(self) -> None:
        for pool in (self._gpus, self._emulated):
            pool.close()

    @property
    def size(self) -> int:
        """GPUs that are left."""
        return self._gpus.size

    @property
    def emulated_size(self) -> int:
        """Requests for the emulated device that are judged at once."""
        return self._emulated.size

    @property
    def seconds(self) -> Mapping[str, float]:
        """As `Pool.seconds`."""
        return {**self._emulated.seconds, **self._gpus.seconds}

    def judge(self, request: GateRequest, **how: Unpack[Judging]) -> Verdict:
        """As `LocalPool.judge`."""
        pool = self._emulated if request.device == "emulated" else self._gpus
        return pool.judge(request, **how)
