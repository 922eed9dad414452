"""The inputs of the first timed shape, drawn while compilers and sanitizers are waited for.

Timed shapes are large: to draw 16 million normal values takes as long as to measure them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from kernel_gate.cases import Case
from kernel_gate.dtypes import Array
from kernel_gate.inputs import make_inputs
from kernel_gate.workload import Workload

_SEED = 9000
"""Added to the run's seed, so that what is timed is not what was checked."""


def timed_case(dims: Mapping[str, int], seed: int) -> Case:
    """The case of a profiled shape."""
    return Case(dims, seed + _SEED)


class DrawnInputs:
    """Inputs of profiled shapes; those of the first are begun at once, in a thread of their own."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload, self._seed = workload, seed
        self._first: Mapping[str, Array] | None = None
        self._thread: threading.Thread | None = None
        if workload.profile_dims:
            self._thread = threading.Thread(target=self._draw_first, daemon=True)
            self._thread.start()

    def _draw_first(self) -> None:
        try:
            self._first = self._drawn(self._workload.profile_dims[0])
        except Exception:  # noqa: BLE001 - whatever it is, it is raised again where the inputs are asked for
            self._first = None

    def of(self, dims: Mapping[str, int]) -> Mapping[str, Array]:
        """The inputs of a shape. Raises `WorkloadError` and `MemoryError`."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            first, self._first = self._first, None
            if first is not None and dims == self._workload.profile_dims[0]:
                return first
        return self._drawn(dims)

    def _drawn(self, dims: Mapping[str, int]) -> Mapping[str, Array]:
        return make_inputs(self._workload, timed_case(dims, self._seed))
