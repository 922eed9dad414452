"""Several workers behind one call: what ends one of them costs the verdict that it was at, no other."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol, Unpack

from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.places import Place
from kernel_gate.processes.closing import Closing
from kernel_gate.request import GateRequest
from kernel_gate.threads import FOR_ORACLES, share_of_cores
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Judging, Worker


class Pool(Protocol):
    """Where requests are judged, from as many threads at once as it has room for."""

    @property
    def size(self) -> int:
        """How many requests it judges at once."""

    @property
    def emulated_size(self) -> int:
        """How many of them for the emulated device."""
        return self.size

    @property
    def seconds(self) -> Mapping[str, float]:
        """What verdicts have taken of each kind of device, `gpu` and `emulated`, added up over workers; nothing where a
        pool does not tell.
        """
        return {}

    def judge(self, request: GateRequest, **how: Unpack[Judging]) -> Verdict:
        """As `Worker.judge`, by the next worker that is free."""


class LocalPool(Closing, Pool):
    """Workers on the devices of this machine, one a place. A context manager."""

    def __init__(self, places: Sequence[Place]) -> None:
        share = {FOR_ORACLES: str(share_of_cores(len(places)))}
        self._idle = [Worker({**share, **dict(place.environment)}) for place in reversed(places)]
        self._open = len(places)
        self._has_gpus = any(place.is_gpu for place in places)
        self._seconds = {"gpu": 0.0, "emulated": 0.0}
        self._missing: DeviceError | None = None
        self._change = threading.Condition()

    def close(self) -> None:
        for worker in self._idle:
            worker.close()

    @property
    def size(self) -> int:
        """Places that still have their device."""
        return max(1, self._open)

    @property
    def seconds(self) -> Mapping[str, float]:
        """As `Pool.seconds`."""
        return {kind: spent for kind, spent in self._seconds.items() if spent}

    def judge(self, request: GateRequest, **how: Unpack[Judging]) -> Verdict:
        """The verdict of a worker. One whose device is missing hands the request to the others for good.

        Raises `DeviceError` when none is left.
        """
        while True:
            worker = self._take()
            began = time.monotonic()
            try:
                verdict = worker.judge(request, **how)
            except DeviceError as error:
                self._drop(error)
                continue
            except BaseException:
                self._give(worker, request, time.monotonic() - began)
                raise
            self._give(worker, request, time.monotonic() - began)
            return verdict

    def _take(self) -> Worker:
        with self._change:
            self._change.wait_for(lambda: self._idle or not self._open)
            if not self._open:
                raise self._missing or DeviceError("there is no place for a worker")
            return self._idle.pop()

    def _give(self, worker: Worker, request: GateRequest, seconds: float) -> None:
        with self._change:
            on_gpu = self._has_gpus and request.device != "emulated"
            self._seconds["gpu" if on_gpu else "emulated"] += seconds
            self._idle.append(worker)
            self._change.notify()

    def _drop(self, error: DeviceError) -> None:
        with self._change:
            self._open -= 1
            self._missing = error
            self._change.notify_all()
