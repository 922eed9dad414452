"""What a baseline did on the emulated device, which does the same each time: many candidates are judged beside one.

A run is kept by the shape, where the buffers lie, the elements of the inputs, what the outputs held before, and what
the device looks for. A program that keeps variables between launches is run each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from kernel_gate.built import Built
from kernel_gate.devices.base import Device
from kernel_gate.devices.emulated import EmulatedDevice, EmulatedKernel
from kernel_gate.dtypes import Array
from kernel_gate.execution import Execution, Run
from kernel_gate.processes.closing import Closing
from kernel_gate.stages.decisions import Decisions
from kernel_gate.workload import Workload

_MOST_BYTES = 1 << 26
"""What the outputs of all runs that are kept may take."""


@dataclass(slots=True)
class KeptRuns(Closing):
    """The runs of one program with one workload, and what it decides by. Not for several threads at once."""

    _whose: object = None
    _runs: dict[Hashable, Run] = field(default_factory=dict)
    _nbytes: int = 0
    _decisions: Decisions | None = None

    def begin(self, whose: object) -> None:
        """Runs of another program, or with another workload, are forgotten."""
        if whose != self._whose:
            self.close()
            self._whose = whose

    def close(self) -> None:
        """Forget all runs, and what the program decides by."""
        self._forget()
        if self._decisions is not None:
            self._decisions.close()
        self._decisions, self._whose = None, None

    def decisions(self, built: Built, workload: Workload) -> Decisions:
        """What the program decides by; what is asked of it stays."""
        if self._decisions is None:
            self._decisions = Decisions(built, workload)
        return self._decisions

    def run(
        self,
        device: Device,
        case: Hashable,
        execution: Execution,
        inputs: Mapping[str, Array],
        pattern: int,
        *,
        done: Run | None = None,
    ) -> Run:
        """What the program does on a case, by an earlier run where there is one; `done` is what it just did.

        Its outputs cannot be written to.
        """
        if not _repeats(device, execution):
            return done or execution.run(inputs, pattern)
        assert isinstance(device, EmulatedDevice)
        key = case, device.arch, device.checks, pattern, _digest(inputs)
        if key not in self._runs:
            made = done or execution.run(inputs, pattern)
            if any(fault.kind == "timeout" for fault in made.faults):
                return made
            self._keep(key, made)
        return self._runs[key]

    def _keep(self, key: Hashable, made: Run) -> None:
        for held in made.outputs.values():
            held.flags.writeable = False
            self._nbytes += held.nbytes
        if self._nbytes > _MOST_BYTES:
            self._forget()
        self._runs[key] = made

    def _forget(self) -> None:
        self._runs.clear()
        self._nbytes = 0


def _repeats(device: Device, execution: Execution) -> bool:
    """Whether a run is whole, and leaves nothing behind: to the next one, or to who watches it."""
    if not isinstance(device, EmulatedDevice) or device.only_blocks is not None:
        return False
    checks = device.checks
    watching = checks.invariants, checks.terms, checks.payloads, checks.decisions
    if any(watch is not None for watch in watching):
        return False
    kernels = [kernel for kernel, _ in execution.calls()]
    return all(isinstance(k, EmulatedKernel) and not k.variables for k in kernels)


def _digest(inputs: Mapping[str, Array]) -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    for name in sorted(inputs):
        whole.update(f"{name} {inputs[name].dtype} {inputs[name].shape} ".encode())
        whole.update(inputs[name].tobytes())
    return whole.digest()
